"""Compiled loops of compaction: boxes that hold a point, subtraction, merging."""
