"""The parts of the benchmark `plan`, one module per part."""
