"""Control flow that depends on data: branches, loops, exceptions and generators, and how what they change is merged."""
