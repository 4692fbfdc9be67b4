"""The compiled loops of the index. Private; each has a NumPy twin in the tests.

They take arrays only. Boxes are rows of codes: the lower codes of all attributes, then the upper
ones. Codes have 15 bits of 16, so that four of them, seen as one word with the free bits set, are
compared by one subtraction. Indices are unsigned where speed counts: numba tests signed ones for
being negative.
"""
