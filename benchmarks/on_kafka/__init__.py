"""What `benchmarks.live` measures, a file for each question, and what these share."""
