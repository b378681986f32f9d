"""`vmap`: one computation with the batch as an axis."""
