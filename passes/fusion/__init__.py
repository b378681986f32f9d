"""Dense computation as `loop` nodes: which nodes share a loop, nests, what is computed where it is read."""
