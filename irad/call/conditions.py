"""What a specialisation relies on, as data: conditions, and the parameters of the native code.

Each is used in two ways. A call through Python evaluates it; a program of irad.codegen.call.machine gets the
operations that do the same (`write`). A kind of condition has one row in `KINDS`; where the machine has no operation for it,
the program calls what Python evaluates.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from irad.call.places import NoProgram, Place, Places, contiguous
from irad.core.foreign import counter, has, own_names
from irad.core.lazy_dataclass import dataclass
from irad.core.types import Type
from irad.frontend.values.guards import INT32, Capture, content
from irad.frontend.values.traced import Leaf, Traced

Leaves = Sequence[Any]
NUMBERS = ("float", "int", "generic")


def found_at(place: Place, fn: Any, leaves: Leaves, statics: Sequence[Any]) -> Any:
    """The object at a place in a call of `fn`. Raises LookupError or AttributeError if there is none."""
    return leaves[place] if isinstance(place, int) else place.get(fn, statics)


# ---- kinds of conditions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """`holds(found, expected)`: how it is evaluated. `write(places, register, condition)`: the operations of the machine that check
    it; False if there are none for what is expected. `pair`: what is expected is the object at another place; `group`: tuples of
    objects at other places."""

    holds: Callable[[Any, Any], bool]
    write: Callable[[Places, int, Condition], bool] = lambda places, at, condition: False
    pair: bool = False
    group: bool = False


@dataclass(frozen=True)
class Condition:
    """What stands at a place is as the program takes it to be: see irad.frontend.values.guards.Guard for the kinds.

    One kind is only found here: "int32", an int of 32 bits.
    """

    kind: str
    place: Place
    expected: Any = None

    def holds(self, fn: Any, leaves: Leaves, statics: Sequence[Any]) -> bool:
        """Is it so in a call?"""
        kind, expected = KINDS[self.kind], self.expected
        try:
            found = found_at(self.place, fn, leaves, statics)
            if kind.group:
                expected = tuple(tuple(found_at(p, fn, leaves, statics) for p in places) for places in expected)
            return kind.holds(found, found_at(expected, fn, leaves, statics) if kind.pair else expected)
        except (LookupError, AttributeError, ValueError, TypeError, StopIteration):
            return False

    def write(self, places: Places) -> None:
        """Add the operations that check it to a program."""
        at, kind, p = places.at(self.place), KINDS[self.kind], places.program
        if kind.write(places, at, self):
            return
        if kind.group:
            first, others = self.expected
            parts = [at, *map(places.at, (*first, *others))]
            held = places.python(functools.partial(_group, kind.holds, len(first) + 1), *parts)
        elif kind.pair:
            held = places.python(functools.partial(_pair, kind.holds), at, places.at(self.expected))
        else:
            held = places.python(functools.partial(_one, kind.holds, self.expected), at)
        p.op("is", held, p.object(True))


def _one(holds: Callable[[Any, Any], bool], expected: Any, x: Any) -> bool:
    try:
        return holds(x, expected)
    except Exception:  # an `__eq__` of the user's may raise anything
        return False


def _group(holds: Callable[[Any, Any], bool], first: int, found: tuple[Any, ...]) -> bool:
    return holds(found[0], (found[1:first], found[first:]))


def _pair(holds: Callable[[Any, Any], bool], pair: tuple[Any, Any]) -> bool:
    return holds(*pair)


def _operation(name: str) -> Callable[[Places, int, Condition], bool]:
    """The operation of the machine that compares an object with the expected one."""

    def write(places: Places, at: int, c: Condition) -> bool:
        places.program.op(name, at, places.program.object(c.expected))
        return True

    return write


def _equal(places: Places, at: int, c: Condition) -> bool:
    return not _signed(c.expected) and _operation("equal")(places, at, c)


def _signed(x: Any) -> bool:
    """Is equality not all that counts: is there a zero that has a sign, or a NaN?"""
    if isinstance(x, (tuple, frozenset)):
        return any(map(_signed, x))
    return isinstance(x, (float, complex, np.inexact)) and (x == 0 or x != x)


def _length(places: Places, at: int, c: Condition) -> bool:
    cls, n = c.expected
    if cls not in (list, tuple):
        return False
    places.program.op("length", at, places.program.object(cls), n)
    return True


def alike(a: Any, b: Any) -> bool:
    """Are two static things the same to a program: one object, or of one class and value, the sign of zeros and NaN included?"""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (float, np.floating)):
        return bool(a == b and math.copysign(1, a) == math.copysign(1, b)) or bool(a != a and b != b)
    if isinstance(a, (complex, np.complexfloating)):
        return alike(a.real, b.real) and alike(a.imag, b.imag)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    return len(a) == len(b) and all(map(alike, a, b)) if isinstance(a, (set, frozenset)) else bool(a == b)


def _no_globals(places: Places, at: int, c: Condition) -> bool:
    p = places.program
    p.op("no_globals", at, p.table([*map(p.object, c.expected)]), len(c.expected))
    return True


def _elements_alike(x: Any, expected: tuple[Any, Any]) -> bool:
    cls, elements = expected
    return type(x) is cls and len(x) == len(elements) and all(map(alike, tuple(x), elements))


def _keys(places: Places, at: int, c: Condition) -> bool:
    if c.expected[0] is not dict:
        return False
    places.values(at, c.expected[1])
    return True


def _record_type(places: Places, at: int, c: Condition) -> bool:
    places.record_type(at, *c.expected)
    return True


def _typed(places: Places, at: int, c: Condition) -> bool:
    """A number or array of a type, of which nothing is computed."""
    assert not isinstance(c.place, int)
    wanted, obj, p = c.expected, places.object(c.place), places.program
    if type(obj) is np.ndarray and obj.dtype == wanted.type.numpy:
        if wanted.steps is not None:
            return False
        p.like(at, wanted.type)
    elif type(obj) is float and wanted.weak:
        p.op("class", at, p.object(float))
    else:
        return False
    return True


def apart(things: Sequence[Any], others: Sequence[Any]) -> bool:
    """Are some things all different, and none of the others?"""
    ids = set(map(id, things))
    return len(ids) == len(things) and ids.isdisjoint(map(id, others))


def _same(places: Places, at: int, c: Condition) -> bool:
    places.program.op("same", at, 0, places.at(c.expected))
    return True


def _state(places: Places, at: int, c: Condition) -> bool:
    places.program.state(at, c.expected, *counter(c.expected.owner))
    return True


KINDS: Mapping[str, Kind] = {
    "is": Kind(lambda x, e: x is e, _operation("is")),
    "eq": Kind(alike, _equal),
    "type": Kind(lambda x, e: type(x) is e, _operation("class")),
    "code": Kind(lambda x, e: getattr(x, "__code__", None) is e, _operation("code")),
    "lacks": Kind(lambda x, e: not has(x, e)),
    "lacks own": Kind(lambda x, e: e not in own_names(x)),
    "owns": Kind(lambda x, e: e in own_names(x)),
    "no globals": Kind(lambda x, e: x.__globals__.keys().isdisjoint(e), _no_globals),
    "len": Kind(lambda x, e: (type(x), len(x)) == e, _length),
    "keys": Kind(_elements_alike, _keys),
    "elements": Kind(_elements_alike),
    "attributes": Kind(lambda x, e: own_names(x) == e),
    "dtype": Kind(lambda x, e: type(x) is e[0] and x.dtype == e[1], _record_type),
    "content": Kind(lambda x, e: content(x) == e),
    "typed": Kind(lambda x, e: e.fits(x), _typed),
    "state": Kind(lambda x, e: e.holds(), _state),
    "same": Kind(lambda x, y: x is y, _same, pair=True),
    "other": Kind(lambda x, y: x is not y, pair=True),
    "apart": Kind(lambda x, rest: apart((x, *rest[0]), rest[1]), group=True),
    "int32": Kind(lambda x, e: bool(INT32[0] <= x <= INT32[1])),
}


# ---- parameters of the native code ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A number or array that the native code takes, as its parameter `number`. `target`: its name in a trace.

    `condition`: what of its type the key of a specialisation does not tell.
    """

    place: Place
    number: int
    of: Leaf | Capture
    target: tuple[str, int]
    condition: Condition | None = None

    def write(self, places: Places) -> None:
        """Add the operations that check its type and give it to the kernel to a program."""
        at, p = places.at(self.place), places.program
        kind, t, strides, int32 = self._layout(places)
        if kind in NUMBERS:
            p.number(at, kind, t, self.number, int32)
        elif kind != "ndarray" or strides is None:
            raise NoProgram
        elif not t.static or strides == () or contiguous(t, strides):
            p.array(at, t, self.number, self.target in places.written)
        else:
            p.strided(at, t, self.number, strides, self.target in places.written)

    def _layout(self, places: Places) -> tuple[str, Type, Sequence[int] | None, bool]:
        """Kind, type, strides in bytes, and whether an int has 32 bits."""
        of = self.of
        if isinstance(of, Leaf):
            return of.kind, of.type, of.steps, of.int32
        assert not isinstance(self.place, int)
        obj = places.object(self.place)
        if type(obj) is np.ndarray and obj.dtype == of.type.numpy:
            return "ndarray", of.type, of.steps or (), False
        if type(obj) in (float, int) and of.weak:
            return type(obj).__name__, of.type, None, True  # a captured int was perhaps read as one of 32 bits
        if isinstance(obj, np.generic) and not of.weak:
            return "generic", of.type, None, False
        raise NoProgram


# ---- all of a specialisation ---------------------------------------------------------------------------------------------


class Conditions:
    """What a trace relies on, and how native arguments are made of a call's. `leaves`: argument leaves of a call."""

    def __init__(self, traced: Traced, params: Sequence[Type], leaves: int):
        self.traced, self.params = traced, params
        self.leaves = [_of_leaf(k, info) for k, info in enumerate(traced.in_leaves[:leaves])]
        guards = sorted(traced.guards, key=lambda g: len(g.path.steps))
        self.outside = [Condition(g.kind, g.path, g.expected) for g in guards]
        self.outside += [Condition("same" if same else "other", x, y) for x, y, same in traced.identities]
        first = len(params) - len(traced.captures)
        self.captures = [
            Parameter(c.path, first + k, c, ("capture", k), Condition("typed", c.path, c)) for k, c in enumerate(traced.captures)
        ]
        self.extents = traced.extents
        self.constant = [  # (leaf, axis, extent), where the key of a specialisation does not tell shapes
            (k, axis, d)
            for k, info in enumerate(traced.in_leaves[:leaves])
            if self.extents and info.alias is None and info.kind == "ndarray"
            for axis, d in enumerate(info.type.shape)
            if isinstance(d, int)
        ]
        self.dynamic = [p.target[1] for p in self.leaves if isinstance(p, Parameter)]
        asked = [c if isinstance(c, Condition) else c.condition for c in (*self.leaves, *self.outside, *self.captures)]
        self.asked = [c for c in asked if c is not None]

    def holds(self, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> bool:
        """Do a call's static values, aliases and captured state fit?"""
        if self.extents and not self._sizes(leaves):
            return False
        return all(c.holds(fn, leaves, rest) for c in self.asked) and self._distinct(leaves)

    def _sizes(self, leaves: Leaves) -> bool:
        """Do the shapes of arrays with run-time extents fit?"""
        for e in self.extents:
            (k, axis), *others = e.places
            n = leaves[k].shape[axis]
            if not e.low <= n <= e.high or any(leaves[k].shape[axis] != n for k, axis in others):
                return False
        return all(leaves[k].shape[axis] == d for k, axis, d in self.constant)

    def _distinct(self, leaves: Leaves) -> bool:
        """An array given twice needs a specialisation that knows it, if anything is written.

        Programs ask more: that what is written lies apart from all other memory.
        """
        if not self.traced.apart:
            return True
        arrays = [leaves[k] for k in self.dynamic if isinstance(leaves[k], np.ndarray)]
        return len({id(a) for a in arrays}) == len(arrays)

    def arguments(self, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> list[np.ndarray]:
        """Arrays for the native code's parameters."""
        sizes = [leaves[k].shape[axis] for (k, axis), *_ in (e.places for e in self.extents)]
        values = sizes + [leaves[k] for k in self.dynamic] + [c.get(fn, rest) for c in self.traced.captures]
        return [_contiguous(v, t) for v, t in zip(values, self.params)]

    def write_leaves(self, places: Places) -> None:
        """Add the operations for the leaves of the arguments to a program."""
        for c in self.leaves:
            c.write(places)
        for number, e in enumerate(self.extents):
            (k, axis), *others = e.places
            places.program.extent(places.at(k), axis, e.low, e.high, number)
            for k, axis in others:
                places.program.same_extent(places.at(k), axis, number)

    def write_outside(self, places: Places) -> None:
        """Add the operations for outside state to a program."""
        for c in self.outside:
            if isinstance(c.place, int) or not places.ours(c.place):
                c.write(places)
        for p in self.captures:
            p.write(places)


def _of_leaf(k: int, info: Leaf) -> Condition | Parameter:
    if info.alias is not None:
        return Condition("same", k, info.alias)
    if info.param is None:
        return Condition("eq", k, info.value)
    return Parameter(k, info.param, info, ("arg", k), Condition("int32", k) if info.int32 else None)


def _contiguous(v: Any, t: Type) -> np.ndarray:
    """An array or number as native code takes it: C-contiguous and aligned."""
    a = np.ascontiguousarray(v, t.numpy) if t.shape else np.asarray(v, t.numpy)
    return a if a.flags.aligned else a.copy()
