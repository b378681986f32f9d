"""scipy.spatial, written in NumPy or plain Python. See docs/add-a-numpy-function.md."""
