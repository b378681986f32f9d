"""Compiled functions as libraries for C: object file, header, shared or static library, without Python."""
