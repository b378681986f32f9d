"""Functions of NumPy and SciPy, written in NumPy. See docs/add-a-numpy-function.md."""
