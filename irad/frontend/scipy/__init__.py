"""SciPy functions that are builders of nodes; they register once the user has imported SciPy."""
