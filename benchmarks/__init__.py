"""Measurements of covey: `python -m benchmarks` lists them, and is the one way to run them."""
