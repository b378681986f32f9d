"""What a contraction costs, in cycles of one core, roughly: enough to choose between reading operands where they lie and copying them.

A nest multiplies vectors along a *run*: indices of the result that one factor and the result both walk as one, while the other
factor does not depend on them. Two vectors start per cycle if eight sums or more are in flight; results that are not stored
along the run are stored one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod

from irad.core.affine import terms
from irad.core.ir import Value
from irad.core.types import Dim

Walk = dict[Value, float]  # elements between neighbours along each index, of an array that is read or written

REGISTER = 64  # bytes
FLIGHT = 8  # multiply-adds that cover the latency of one
SUMS = 28  # that stay in registers
STORE = 2.0  # cycles for a vector of the result: the start of its sums, the store
SCATTER = 1.0  # for an element stored by itself
MOVE = 4.0  # for a vector copied, or added to memory, by a loop of its own
SINGLE = 1.0  # for an element copied by itself
LARGE = 1 << 21  # bytes of an array that a core's own caches do not hold,
FAR, BYTE = 4.0, 0.1  # how much dearer its single elements are to move, and the cycles for each further byte of vectors
SHORT = 4  # elements: a copy has no lanes along fewer
UNKNOWN = 0.5  # the step of an index along which an operand has several


def walk(pos: Sequence[Dim], shape: Sequence[int]) -> Walk:
    """Steps of an array of this shape accessed at affine positions."""
    out: Walk = {}
    step = 1
    for d, n in zip(reversed(pos), reversed(shape)):
        for v, c in terms(d):
            out[v] = out.get(v, 0) + c * step
        step *= n
    return out


def product(extents: Mapping[Value, int], terms: int, factors: tuple[Walk, Walk], stored: Sequence[Walk], itemsize: int) -> float:
    """Cycles of a nest: for each element of the result (`extents`), a sum of so many products. inf: no run to have the lanes."""
    lanes, size = REGISTER // itemsize, prod(extents.values())
    best = inf
    for one, other in (factors, factors[::-1]):
        for v in extents:
            if one.get(v, 0) != 1 or other.get(v, 0):
                continue
            n = _run(v, extents, (one, other, *stored))
            vectors = -(-n // lanes)
            flight = min(SUMS, size // n * vectors) if any(other.get(u, 0) and not one.get(u, 0) for u in extents) else vectors
            multiply = size / n * vectors * (terms / 2 * max(1.0, FLIGHT / flight) + STORE)
            best = min(best, multiply + sum(SCATTER * size for w in stored if w.get(v, 0) != 1))
    return best


def _run(v: Value, extents: Mapping[Value, int], walks: Sequence[Walk]) -> int:
    """How many elements lie along v and the indices that continue it in every array."""
    n = extents[v]
    more = True
    while more:
        more = False
        for u, e in extents.items():
            if u != v and e > 1 and all(w.get(u, 0) == n * w.get(v, 0) for w in walks):
                n, more = n * e, True
                break
    return n


def moved(extents: Mapping[Value, int], source: Walk, target: Walk, itemsize: int) -> float:
    """Cycles of a copy of so many elements, or of adding them to others."""
    size = prod(extents.values())
    runs = [_run(v, extents, (source, target)) for v in extents if source.get(v, 0) == 1 == target.get(v, 0)]
    n = max(runs, default=1)
    beyond = max(0, size * itemsize - LARGE)
    if n < SHORT:
        return SINGLE * size * (FAR if beyond else 1.0)
    return size / n * -(-n // (REGISTER // itemsize)) * MOVE + BYTE * beyond
