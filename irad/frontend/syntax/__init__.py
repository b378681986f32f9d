"""The syntax trees of live functions, and what can be said from them alone."""
