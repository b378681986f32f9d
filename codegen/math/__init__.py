"""Elementwise ops in LLVM: rules of one line, and polynomials."""
