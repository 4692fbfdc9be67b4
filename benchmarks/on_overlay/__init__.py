"""What `benchmarks.overlay` measures, a file for each question."""
