"""Parts of the compiler that tests can turn off: results must not change. No option for users; see docs/testing.md.

with without("cse", "blocks"):
    ...                             what is compiled here for the first time is compiled without them
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# Functions of the program, see irad.frontend.reading.called; passes of irad.pipeline that may be left out, by their names; which nodes share a loop; and decisions of the kernel form.
SWITCHES = (
    "functions", "inline", "simplify", "fold", "cse", "ranges", "reciprocal", "licm", "stored_views", "unselect", "unscatter", "scalarize", "powers",
    "shorter_records", "linear_carry", "fuse_dot", "recompute", "unfilled", "pingpong",
    "joins", "siblings", "nests", "contractions", "blocks", "collapse", "packed", "jam", "reserve", "interchange", "skew", "join", "lanes", "taped", "parallel", "polls", "forward", "select", "short_circuits", "accumulate", "split", "pieces",
)  # fmt: skip

_off: frozenset[str] = frozenset()


def on(name: str) -> bool:
    """Is this part in use?"""
    return name not in _off


def off() -> frozenset[str]:
    """The parts that are not: compiled code of theirs is kept apart."""
    return _off


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Leave parts of the compiler out, in all threads. Raises KeyError for a name that is no part."""
    global _off
    for n in names:
        if n not in SWITCHES:
            raise KeyError(f"there is no part {n!r}; there are {', '.join(SWITCHES)}")
    before, _off = _off, _off | frozenset(names)
    try:
        yield
    finally:
        _off = before
