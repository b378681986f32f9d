"""Containers and functions of Python's standard library, written in NumPy or plain Python. See docs/add-a-numpy-function.md."""
