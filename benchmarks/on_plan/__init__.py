"""Parts of the benchmark of plans."""
