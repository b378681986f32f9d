"""Fewer and cheaper nodes: folding, common subexpressions, dead code, loop invariants, rewrite rules."""
