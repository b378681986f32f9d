"""Extents known at run time only: when they are surely equal, and broadcasting where they may turn out to be 1.

Two masks written alike select equally many elements; that is seen here from how the counts are computed, so that common code
needs no check. Where it is not seen, the extents are compared at run time, and an extent that is 1 then is stretched, as NumPy does.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from irad.core import room
from irad.core.ir import Builder, Graph, Value, captured, closure, emit
from irad.core.types import Dim, Type
from irad.errors import ShapeError
from irad.ops.array import Slice, broadcast, dim_value, index
from irad.ops.control import if_, raise_if
from irad.ops.core import effects
from irad.ops.elementwise import eq, limit, ne, select
from irad.ops.intervals import affine_of, definition, definitions, dim_interval
from irad.ops.text import escaped

UNBOUNDED = 2**28  # extents that may be as large: what bounds them does not bound memory
_STEPS = 64  # nodes compared for one question

_told: ContextVar[Callable[[Sequence[Dim], bool], bool]] = ContextVar("told", default=lambda extents, needed: False)


def undecided(extents: Sequence[Dim], needed: bool = False) -> bool:
    """Only the run time knows whether these extents fit together: do sizes of the arguments alone decide it? `needed`: ints that do
    are constants, though they vary."""
    return _told.get()(extents, needed)


@contextmanager
def unclear(told: Callable[[Sequence[Dim], bool], bool]) -> Iterator[None]:
    """`told` is called by `undecided`."""
    token = _told.set(told)
    try:
        yield
    finally:
        _told.reset(token)


def of_new_array(d: Dim) -> Dim:
    """An extent that a new array is given. One that nothing bounds is checked against the room there is, where versions do that."""
    if isinstance(d, int) or not room.extents_checked() or dim_interval(d)[1] < UNBOUNDED:
        return d
    most, n = room.extent(room.level()), dim_value(d)
    raise_if(n > most, exc=room.Outgrown.__name__, message=room.MESSAGE, keeps=())
    return affine_of(limit(n, most))


def at_most(n: Value, most: Dim) -> Value:
    """A length that is known to be at most an extent, so that passes see its bound."""
    hi = dim_interval(most)[1]
    return limit(n, int(hi)) if hi < UNBOUNDED and dim_interval(affine_of(n))[1] > hi else n


def decided_by_data(*dims: Dim) -> bool:
    """Are extents computed of floating-point numbers, so that no whole number of the arguments or captured ones alone decides them?"""
    floats = lambda v: v.type.dtype[0] in "fc"
    return any(map(floats, closure(Type("f64", dims).symbols, lambda v: () if floats(v) else operands_of(v))))


def operands_of(v: Value) -> Iterable[Value]:
    """What the node that makes a value reads, in its regions too; nothing of a value that no node here makes."""
    node = definition(v)
    return () if node is None else (*node.inputs, *captured(node))


def sources(v: Value, loops: Container[Value]) -> set[Value]:
    """What a number was computed from: values without a definition here, those of loops, and what Python says at run time."""
    made_by, ends = definitions(), set[Value]()

    def inputs(x: Value) -> Iterable[Value]:
        node = None if x in loops else made_by(x)
        if node is None or effects(node) == "io":
            ends.add(x)
            return ()
        return (*node.inputs, *captured(node))

    closure([v], inputs)
    return ends


def equal(a: Dim, b: Dim) -> bool:
    """Are two extents surely equal?"""
    return a == b or gap(a, b) == (0, 0)


def gap(a: Dim, b: Dim) -> tuple[float, float]:
    """Bounds of b - a, in which values that are computed alike count as one."""
    d = b - a
    if isinstance(d, int):
        return d, d
    same: dict[Value, Value] = {}
    for v, _ in d.terms:
        same[v] = next((k for k in same.values() if alike(k, v)), v)
    return dim_interval(d.rename(same.__getitem__))


def alike(a: Value, b: Value) -> bool:
    """Are two values computed by the same operations from the same values?"""
    todo, seen, made_by = [(a, b)], set[tuple[Value, Value]](), definitions()
    while todo:
        pair = x, y = todo.pop()
        if x is y or pair in seen:
            continue
        seen.add(pair)
        m, n = made_by(x), made_by(y)
        if len(seen) > _STEPS or m is None or n is None or m.op is not n.op or m.regions or effects(m) != "none":
            return False
        if m.outputs.index(x) != n.outputs.index(y) or len(m.inputs) != len(n.inputs) or not _same(m.attrs, n.attrs):
            return False
        todo += zip(m.inputs, n.inputs)
    return True


def _same(a: dict[str, object], b: dict[str, object]) -> bool:
    return a.keys() == b.keys() and all(_equal_attributes(a[k], b[k]) for k in a)


def _equal_attributes(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return a is b
    return type(a) is type(b) and a == b and repr(a) == repr(b)  # values of one name are two; 0.0 is not -0.0, in tuples neither


def may_be_one(d: Dim) -> bool:
    """Is it known at run time only whether the extent is 1?"""
    lo, hi = dim_interval(d)
    return lo <= 1 <= hi and not isinstance(d, int)


def joint(a: Dim, b: Dim, message: str) -> Dim:
    """The extent of what has the extents `a` and `b`, neither of which is the number 1, broadcast against each other.

    ShapeError if they do not go together; ValueError with the message at run time if that is not known.
    """
    if equal(a, b):
        return a
    first, second = may_be_one(a), may_be_one(b)
    if first and second:
        undecided((a, b))
    require(a, b, message, "ValueError", [d for d, free in ((a, first), (b, second)) if free])
    if not first:
        return a
    if not second:
        return b
    x, y = dim_value(a), dim_value(b)
    return affine_of(select(eq(x, 1), y, x))


def require(have: Dim, want: Dim, message: str, exc: str, stretch: Sequence[Dim] = (), empty: bool = False) -> None:
    """Nothing if the extents are equal; ShapeError if they are not; a run-time check if that is not known. Extents in `stretch`
    may be 1 instead, and with `empty` the first may be 0."""
    if equal(have, want):
        return
    lo, hi = gap(have, want)
    if (lo > 0 or hi < 0) and not stretch and not (empty and dim_interval(have)[0] <= 0):
        raise ShapeError(message)
    bad = ne(dim_value(have), dim_value(want))
    if empty:
        bad = bad & ne(dim_value(have), 0)
    for d in stretch:
        bad = bad & ne(dim_value(d), 1)
    text = escaped(message) + " (extents {} and {} at run time)"
    raise_if(bad, dim_value(have), dim_value(want), exc=exc, message=text)


def stretched(v: Value, axis: int, want: Dim) -> Value:
    """v with the extent `want` along an axis whose extent is `want` at run time, or 1."""
    shape = tuple(want if k == axis else d for k, d in enumerate(v.type.shape))
    whole = [Slice(0, d) for d in shape]
    with Builder() as equal_side:
        same = index(v, spec=tuple(whole))
    with Builder() as other:
        one = index(v, spec=tuple(0 if k == axis else s for k, s in enumerate(whole)))
        spread = broadcast(one, shape=shape, dims=tuple(k for k in range(len(shape)) if k != axis))
    sides = [Graph((), tuple(b.nodes), (y,)) for b, y in ((equal_side, same), (other, spread))]
    return emit(if_, eq(dim_value(v.type.shape[axis]), dim_value(want)), regions=sides)[0]
