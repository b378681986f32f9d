"""From Python source to a graph: an interpreter of Python whose numbers are values of the program."""
