"""Graph to graph: each pass gives a program that computes the same."""
