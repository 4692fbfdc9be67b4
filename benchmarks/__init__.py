"""Benchmarks of covey. `python -m benchmarks` lists them and is the only way to run them."""
