"""What `benchmarks.spark_match` measures, a file for each question, and what these share."""
