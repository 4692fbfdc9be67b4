"""Compiled loops of the study."""
