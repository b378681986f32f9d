"""Planned graph to native code."""
