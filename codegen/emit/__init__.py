"""Kernel form to LLVM text with explicit vectors."""
