"""Reading syntax: each kind of statement and expression, and each kind of call."""
