"""What people use instead of covey, to be measured beside it in one run.

An R-tree from a library, and for each realistic workload the matcher that a good engineer would
write for just that workload.
"""
