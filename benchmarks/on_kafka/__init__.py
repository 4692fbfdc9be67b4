"""The parts of the benchmark `live`, one module per part, and modules that they share."""
