"""The parts of the benchmark `zones`, one module per part."""
