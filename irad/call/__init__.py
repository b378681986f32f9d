"""Calls: the cache of specialisations, the call without Python code, pullbacks, and what a function is compiled to, to look at."""
