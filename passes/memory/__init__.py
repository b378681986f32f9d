"""A place for each array: stores in place, buffers used again, double buffering."""
