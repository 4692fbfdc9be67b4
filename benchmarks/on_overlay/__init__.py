"""The parts of the benchmark `overlay`, one module per part."""
