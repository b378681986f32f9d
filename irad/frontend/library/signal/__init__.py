"""scipy.signal and scipy.fft, written in NumPy or plain Python. See docs/add-a-numpy-function.md."""
