"""NumPy functions, methods and operators as builders of nodes, and the table that finds them."""
