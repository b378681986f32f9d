"""Run-time extents of results become results themselves, after the others: the caller must know how long an array is.

`f(x) = x[:n]` returns an array of which only the first elements mean something, and n. What the caller has given as a parameter it
knows, unless the array has another extent, too, that it does not know: then all of them stand beside each other. The first pass after
derivatives.
"""

from __future__ import annotations

from irad.core.ir import Program


def result_extents(program: Program) -> Program:
    """The program whose entry also returns the values that the types of its results mention."""
    name, entry = next(iter(program.items()))
    computed = [v for v in entry.results if any(s not in entry.params for s in v.type.symbols)]
    missing = [s for s in dict.fromkeys(s for v in computed for s in v.type.symbols) if s not in entry.results]
    return {**program, name: entry.replace(results=(*entry.results, *missing))} if missing else program
