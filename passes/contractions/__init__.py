"""Products and convolutions as nests of loops with what is done to their results."""
