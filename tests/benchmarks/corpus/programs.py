"""All programs of the corpus by name."""

from tests.benchmarks.corpus import assorted, discrete, everyday, grids, learning, linear, particles, signals

PROGRAMS = {p.name: p for m in (grids, particles, linear, signals, discrete, learning, everyday, assorted) for p in m.PROGRAMS}
