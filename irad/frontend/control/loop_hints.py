"""What a loop carried when it was read before, where its fixed point starts from; and what data decide of that.

The body of a loop is read several times, and so are the loops in it: were each to begin anew, the readings of a body would multiply
with each loop around it. What a loop carries can only become wider where what it starts with is wider, so it starts from what it
carried when that was the same, or narrower (chaotic iteration: Cousot, Cousot, "Abstract interpretation: a unified lattice model",
1977).
"""

from __future__ import annotations

import ast
import collections
import functools
from collections.abc import Iterable, Sequence
from typing import Any

from irad.core.foreign import base_items
from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import I64
from irad.errors import IradError
from irad.frontend.control.filling import holes
from irad.frontend.control.merge import Joiner
from irad.frontend.control.regions import run_region
from irad.frontend.control.sequences import Range, Seq
from irad.frontend.control.templates import Ary, Composite, Null, Num, Opt, Template, equal, number, structure
from irad.frontend.control.trips import Carry
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import UNDEFINED, Array, Closure, Env, Maybe, Nullable, is_number
from irad.frontend.values.runs import Run, has_run
from irad.frontend.values.state import Name, Storage

_MOST = 1000  # things that a loop may start with, for its next reading to start from this one
_KEPT = 16  # of the last readings of a loop


@dataclass(frozen=True)
class Known:
    """What a loop carried: variables with their templates (`filled`: see Carry), and arrays that are stored into, by the variables that
    hold them."""

    names: list[tuple[int, str, Template, bool]]
    cells: list[str]


class Hints:
    """What is known of a loop (irad.frontend.control.rolled) that is about to be read."""

    def __init__(self, loop: Any):
        self.loop, self.r, self.stmt = loop, loop.r, loop.loop.stmt
        frame = self.r.frame
        self.owners = (frame.env, frame.flags, frame.loops[-1])
        self.kinds = _Kinds(self.r).of_loop(loop.seq, loop.scopes) if isinstance(self.stmt, (ast.For, ast.While)) else None

    def take(self) -> bool:
        """Start from what the same loop carried when it started with the same, or less; True if it is followed then which array each
        variable holds."""
        kept = () if self.kinds is None else reversed(self.r.hints.get(self.stmt, ()))
        found = next((x for x in kept if wider(x[0], self.kinds)), None)
        if found is None:
            return False
        _, known, rotated, tracked = found
        self.loop.rotated |= rotated
        self.start(known)
        return bool(tracked)

    def start(self, known: Known) -> None:
        """Let the loop carry that, as far as it fits what is there before it."""
        carries, joiner = self.loop.carries, Joiner()
        carries.clear()
        for owner, name, template, filled in known.names:
            place = Name(self.owners[owner], name)
            init = place.get()
            t = template if filled else joiner.join(template, init)
            if (init is UNDEFINED or not filled) and equal(t, template):
                carries[place.key] = Carry(place, init, t, filled)
        for name in known.cells:
            array = self.owners[0].names.get(name)
            if type(array) is Array:
                whole, cell = Array(array.cell), Storage(array.cell)
                carries[cell.key] = Carry(cell, array.cell.content, Ary(whole.type, (array, array)))

    def note(self) -> Known:
        """What it carries, once that is settled."""
        carries = self.loop.carries.values()
        number = {id(env): k for k, env in enumerate(self.owners)}
        mine = [c for c in carries if isinstance(c.place, Name) and id(c.place.owner) in number and _plain(c.template)]
        written = {id(c.place.owner) for c in carries if isinstance(c.place, Storage)}
        return Known(
            [(number[id(c.place.owner)], c.place.name, c.template, c.filled) for c in mine],
            [n for n, x in self.owners[0].names.items() if type(x) is Array and id(x.cell) in written],
        )

    def leave(self, known: Known) -> None:
        """Keep it for the next reading."""
        if self.kinds is not None:
            kept = self.r.hints.setdefault(self.stmt, collections.deque(maxlen=_KEPT))
            kept.append((self.kinds, known, self.loop.rotated, self.loop.arrays.tracked is not None))


def _plain(t: Template) -> bool:
    """Is it made of numbers and arrays of known extents?"""
    if isinstance(t, Ary):
        return t.type.static
    if isinstance(t, (Opt, Null)):
        return _plain(t.child) and (isinstance(t, Opt) or t.other is None or _plain(t.other))
    return isinstance(t, Num) or (isinstance(t, Composite) and t.cls is tuple and all(map(_plain, t.kids)))


class _TooMany(Exception):
    """There are too many things to compare."""


class _Kinds:
    """What things are made of, as far as what is computed from them is alike."""

    def __init__(self, r: Reader):
        self.r, self.left = r, _MOST
        self.met: dict[int, int] = {}

    def of_loop(self, seq: Seq | None, scopes: Iterable[tuple[Any, ...]]) -> Any:
        """Of all that a loop may read; None if that is not to be said."""
        found: list[Any] = []
        try:
            for env, head, *_ in scopes:
                found += [(n, self.of(x)) for n, x in env.names.items() if head is None or n in head]
                while (env := env.parent) is not None:
                    found += [(n, self.of(x)) for n, x in env.names.items()]
            found += [self.of(place.get()) for place in self.r.state.outside.values()]
            if seq is not None and not isinstance(seq, Range):
                found.append(self.of(run_region(self.r, lambda: seq.get(Arr(Value(I64), True))).result))
        except (_TooMany, IradError):
            return None
        return tuple(found)

    def of(self, x: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise _TooMany
        if isinstance(x, Array) and x.shape:
            return ("array", x.type)
        if is_number(x) or isinstance(x, Array):
            t = number(x)
            return ("number", t.dtype, t.weak, t.mixed, t.sides, None if isinstance(x, (Arr, Array)) else repr(x))
        if isinstance(x, (Maybe, Nullable)):
            return (type(x), self.of(x.value))
        if isinstance(x, str):
            return ("text", x)
        if type(x) is Closure:
            return self.of_function(x)
        if x is None or not isinstance(x, tuple) and not self.r.state.is_made(x) or has_run(x):
            return ("is", x)
        node = structure(x)
        if node is None:
            return ("is", x)
        if not isinstance(x, tuple) and self.met.setdefault(id(x), len(self.met)) != len(self.met) - 1:
            return ("again", self.met[id(x)])
        return (node[0], str(node[1]), *map(self.of, node[2]))

    def of_function(self, f: Closure) -> Any:
        """Of what a function that was read is called with, and what it reads of the variables around it."""
        if id(f) in self.met:
            return ("again", self.met[id(f)])
        self.met[id(f)] = len(self.met)
        found = [(k, self.of(x)) for k, x in (*enumerate(f.defaults), *f.kw_defaults.items())]
        env: Any = f.env
        while isinstance(env, Env):
            found += [(n, self.of(env.names[n])) for n in mentioned(f.node) if n in env.names]
            env = env.parent
        return ("function", ("is", f.node), *found)


@functools.cache
def mentioned(function: ast.AST) -> list[str]:
    """The names of variables in the body of a function."""
    return list(dict.fromkeys(n.id for n in ast.walk(function) if isinstance(n, ast.Name)))


def wider(a: Any, b: Any) -> bool:
    """Is all of the second kinds as in the first, or a number that is not known there?"""
    if a is b:
        return True
    if type(a) is not tuple or type(b) is not tuple or len(a) != len(b):
        return not isinstance(a, tuple) and type(a) is type(b) and bool(a == b)
    if a[:1] == ("is",):
        return b[0] == "is" and a[1] is b[1]
    if a[:1] == ("number",):
        return bool(a[:-1] == b[:-1]) and b[-1] in (None, a[-1])
    return all(map(wider, a, b))


def noted(r: Reader, stmt: Any, key: Any, final: Any) -> Any:
    """What a trip leaves in a place; noted, if it is computed from data, so that it would not be known if the loop were written out."""
    if (stmt, key) not in r.of_data and _decided_by_data(r, final):
        r.of_data.add((stmt, key))
    return final


def mark(r: Reader, stmt: Any, carries: dict[Any, Carry], numbers: Sequence[Value], index: Value | None = None) -> None:
    """Note of numbers of which loop they are, and which of them data decide: what it carries, at the start of a trip or after it."""
    r.loop_of.update((v, stmt) for v in (*numbers, index) if v is not None)
    seen, each = set[int](), iter(numbers)
    for key, c in carries.items():
        found = [next(each) for _ in holes(c.template, seen)]
        if (stmt, key) in r.of_data:
            r.of_data.update(found)


def _decided_by_data(r: Reader, x: Any) -> bool:
    """Is a whole number in it computed from data?"""
    if isinstance(x, Arr):
        return x.name[0] in "iub" and not x.shape and _from_data(r, x)
    if isinstance(x, Run):
        return any(c.type.dtype[0] in "iub" and _from_data(r, Arr(c)) for c in x.columns)
    if isinstance(x, (list, tuple, collections.deque)):
        return any(_decided_by_data(r, e) for e in base_items(x))
    if isinstance(x, (Maybe, Nullable)):
        return _decided_by_data(r, x.value)
    return False


def _from_data(r: Reader, x: Arr) -> bool:
    """Not of whole numbers of the arguments, captures and counters of loops alone? A constant is known."""
    return bool(r.sources_of_number(x.value)) and not r.may_be_known(x)
