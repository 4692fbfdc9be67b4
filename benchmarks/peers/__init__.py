"""Matchers that are compared with covey in one run.

They are an R-tree from a library, and for each realistic workload a matcher that a good engineer
would write for that workload only.
"""
