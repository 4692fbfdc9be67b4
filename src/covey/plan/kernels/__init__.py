"""Compiled loops of planning. Boxes are rows of lower and then upper ends, in cells."""
