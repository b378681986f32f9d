"""Compiled functions inside other libraries that differentiate: PyTorch, JAX, PyTensor, CasADi. Each is imported when it is asked for."""
