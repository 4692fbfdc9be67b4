"""The parts of the benchmark `spark-match`, one module per part, and modules that they share."""
