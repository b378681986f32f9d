"""Python's own functions on traced numbers: builtins, math, itertools, complex numbers, text."""
