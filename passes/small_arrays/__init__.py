"""Small arrays in loops as scalars, which live in registers."""
