"""What `python -m benchmarks compact` measures, part by part."""
