"""Planned graph to kernel form, everything but dense loops."""
