"""What `python -m benchmarks zones` measures, a part in a file."""
