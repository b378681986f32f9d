"""Which array each variable of a loop holds, followed exactly: one that was there before the loop, that of another variable, or its own.

A trip starts with variables that hold one of several arrays, decided by bools that the loop carries. An array that a trip makes is
carried as the content of the first variable that holds it; the bools of the others say that theirs is the same. Views of what a
trip makes count as arrays of their own if nothing else knows what they are views of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Builder, Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import BOOL, Type
from irad.frontend.control.filling import zero
from irad.frontend.control.flow import bool_value, branch_values, conjunction, disjunction, negated
from irad.frontend.control.templates import Ary, Composite, Kinds, Null, Opt, Sized, Template, members, sides_of, structure
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, constant
from irad.frontend.values.objects import Array, Cell, Either, Maybe, Nullable, StructureError
from irad.frontend.values.state import Region
from irad.frontend.values.steps import At, ComplexPart, Reshape, Step, Stopped, Transpose

_LOST = (
    "this variable is a view of another array after a trip of the loop, and which part of it depends on the trip; "
    "copy it (y = x.copy()) before storing into it"
)
_ALTERNATIVES = 8  # arrays that one variable may hold at the start of a trip


@dataclass(eq=False)
class CarriedArray:
    """An array in a carried variable: what it was before the loop and after a trip (None: not there)."""

    template: Ary | Sized
    name: str
    init: Array | None
    final: Array | None
    local: bool  # a variable of the running function
    inside: tuple[Any, ...] = ()  # the tuples, lists and objects that it stands in before the loop, and not after a trip


def held(
    t: Template, name: str, init: Any, final: Any, local: bool = True, inside: tuple[Any, ...] = ()
) -> Iterator[CarriedArray]:
    """Every array of a carried variable."""
    if isinstance(t, Null) and t.other is not None:
        for k, a, b in zip((t.child, t.other), sides_of(t, init), sides_of(t, final)):
            yield from held(k, name, a, b, local, inside)
        return
    init, final = (x.value if isinstance(x, (Maybe, Nullable)) else x for x in (init, final))
    if isinstance(t, (Ary, Sized)):
        start, end = (x if isinstance(x, Array) else None for x in (init, final))
        yield CarriedArray(t, name, start, end, local, inside)
    elif isinstance(t, (Opt, Null)):
        yield from held(t.child, name, init, final, local, inside)
    elif isinstance(t, Kinds):
        for k, a, b in zip(t.kids, members(t.kids, init), members(t.kids, final)):
            yield from held(k, name, a, b, local, (*inside, init))
    elif isinstance(t, Composite):
        sides = [structure(x) for x in (init, final)]
        kids = [s[2] if s is not None and len(s[2]) == len(t.kids) else [None] * len(t.kids) for s in sides]
        inside += (init,) if init is not final and sides[0] is not None else ()
        for k, a, b in zip(t.kids, *kids):
            yield from held(k, name, a, b, local, inside)


class Tracked:
    """The arrays that the variables of one loop hold, by the ids of their templates."""

    def __init__(self, r: Reader):
        self.r = r
        self.outer: dict[int, list[Array]] = {}  # arrays from before the loop that a variable may hold
        self.own: set[int] = set()  # variables that may hold an array made in a trip, or known to them alone
        self.same: dict[int, list[int]] = {}  # earlier variables whose own array a variable may hold
        self.loose: set[int] = set()  # variables whose own array is not in C order
        self.lost: dict[
            int, frozenset[Cell] | None
        ] = {}  # variables that hold views which are not followed; of what, if it is known
        self.slots: dict[int, Array] = {}  # the own arrays at the start of a trip, or after the loop
        self.order: list[int] = []  # the variables whose arrays have been given out

    # ---- at the start of a trip, and after the loop ----

    def flags(self, templates: Sequence[Ary]) -> list[Type]:
        """Types of the bools that decide, besides the contents."""
        return [BOOL for t in templates for _ in range(self._flags(id(t)))]

    def _flags(self, key: int) -> int:
        return max(0, len(self.outer.get(key, ())) + len(self.same.get(key, ())) + (key in self.own) - 1)

    def begin(self, templates: Sequence[Ary], flags: Sequence[Value]) -> None:
        rest = iter(flags)
        self.bools = {id(t): [Arr(next(rest), True) for _ in range(self._flags(id(t)))] for t in templates}
        self.slots = {}

    def array(self, t: Ary, content: Value) -> Array:
        """What the variable holds."""
        key = id(t)
        own = self.slots[key] = Array(Cell(content, content.hint, parts=None), frozen=_LOST if key in self.lost else "")
        if key in self.loose:
            own.laid_out(None)
        choices = [*self.outer.get(key, ()), *(self.slots[k] for k in self.same.get(key, ()))]
        if key in self.own or not choices:
            choices.append(own)
        out = choices[-1]
        for cond, x in reversed(list(zip(self.bools[key], choices))):
            out = Either(cond, x, out, None)
        return out

    def given(self) -> None:
        """All variables hold their arrays: what is known of views that are not followed is so until their storage changes."""
        for key, cells in self.lost.items():
            own = self.slots[key]
            own.watch = ((own.cell, None),) if cells is None else tuple((c, c.content) for c in cells)

    # ---- what a variable may hold ----

    def learn(self, arrays: Sequence[CarriedArray], sole: Callable[[CarriedArray], bool], body: Region) -> bool:
        """Add what the variables hold before the loop and after a trip; True if any of it is new."""
        before = self._known()
        self.sole = {id(h.template): h.init is None or sole(h) for h in arrays}
        self.kinds = _Kinds(self, arrays, body)
        self._lose(arrays)
        followed = [h for h in arrays if id(h.template) not in self.lost]
        for h in followed:
            if h.init is not None and not self.sole[id(h.template)]:
                for x in leaves(h.init):
                    self._add(h, x)
            elif h.init is not None:
                self.own.add(id(h.template))
        more = True
        while more:
            more = False
            for h in followed:
                for x in leaves(h.final):
                    more |= self._learn_final(h, x)
        self._learn_pairs(followed)
        return self._known() != before

    def _lose(self, arrays: Sequence[CarriedArray]) -> None:
        """Give up on variables that hold other views after a trip."""
        more = True
        while more:
            more = False
            for h in arrays:
                key = id(h.template)
                for x in leaves(h.final):
                    if (self.kinds.of(x) is None or self.kinds.slots.get(x.cell) in self.lost) and key not in self.lost:
                        self.lost[key], more = frozenset(), True
                if key in self.lost and self.lost[key] is not None:
                    cells = self._lost_cells(h)
                    more |= cells != self.lost[key]
                    self.lost[key] = cells
        for key in self.lost:
            self.outer[key], self.same[key] = [], []
            self.own.add(key)

    def _lost_cells(self, h: CarriedArray) -> frozenset[Cell] | None:
        """The storage from before the loop that a view may show; None if it may be of other storage."""
        cells = set(self.lost[id(h.template)] or ())
        for x in (*leaves(h.final), *(() if self.sole[id(h.template)] else leaves(h.init))):
            slot = self.kinds.slots.get(x.cell)
            more = frozenset(x.shared()) if slot is None else self.lost.get(slot)
            if more is None or any(self.kinds.made(c) for c in more):
                return None
            cells |= more
        return frozenset(cells)

    def _known(self) -> tuple[Any, ...]:
        return (
            {k: len(x) for k, x in self.outer.items()},
            set(self.own),
            {k: len(x) for k, x in self.same.items()},
            set(self.loose),
            dict(self.lost),
        )

    def _learn_final(self, h: CarriedArray, x: Array) -> bool:
        key, kind = id(h.template), self.kinds.of(x)
        if kind == "outer":
            return self._add(h, x)
        slot = self.kinds.slot(x)
        new = (slot is None or slot in self.own) and key not in self.own
        if new:
            self.own.add(key)
        if x.contiguous is not True and (slot is None or slot in self.loose):
            self.loose.add(key)
        return new

    def _add(self, h: CarriedArray, x: Array) -> bool:
        known = self.outer.setdefault(id(h.template), [])
        if any(same_view(x, y) for y in known):
            return False
        known.append(x)
        if len(known) > _ALTERNATIVES:
            raise StructureError(f"'{h.name}' may be one of many arrays in this loop; copy what it is given (x = x.copy())")
        return True

    def _learn_pairs(self, arrays: Sequence[CarriedArray]) -> None:
        for j, h in enumerate(arrays):
            known = self.same.setdefault(id(h.template), [])
            for g in arrays[:j]:
                key = id(g.template)
                if key not in known and g.template.type == h.template.type:
                    with Builder():  # what this emits nobody needs
                        if self._shared(h, g) is not False:
                            known.append(key)

    # ---- after a trip ----

    def _shared(self, h: CarriedArray, g: CarriedArray) -> Any:
        """Do two variables hold the same array after a trip, and is it not one from before the loop? A bool, perhaps traced."""
        if h.final is None or g.final is None or id(g.template) in self.lost:
            return False
        one = lambda x, y: not self._outer(x) and (x is y or (x.cell is y.cell and same_view(x, y)))
        return decide(h.final, lambda x, known: decide(g.final, lambda y, _: one(x, y), known), {})  # type: ignore[arg-type]

    def _outer(self, x: Array) -> bool:
        slot = self.kinds.slot(x)
        return self.kinds.of(x) == "outer" or (slot is not None and slot not in self.own)

    def finals(self, arrays: Sequence[CarriedArray]) -> list[Value]:
        """The bools after a trip."""
        by_key = {id(h.template): h for h in arrays}
        return [v for h in arrays for v in self._bools(h, h.final, lambda k, h=h: self._shared(h, by_key[k]))]  # type: ignore[misc]

    def inits(self, arrays: Sequence[CarriedArray]) -> list[Value]:
        """The bools before the loop."""
        return [v for h in arrays for v in self._bools(h, None if self.sole[id(h.template)] else h.init, lambda k: False)]

    def _bools(self, h: CarriedArray, x: Array | None, shared: Callable[[int], Any]) -> list[Value]:
        key = id(h.template)
        found: list[Any] = []
        for y in self.outer.get(key, ()):
            found.append(x is not None and decide(x, lambda leaf, _, y=y: same_view(leaf, y), {}))  # type: ignore[misc]
        found += [shared(k) for k in self.same.get(key, ())]
        return [bool_value(b) for b in found[: self._flags(key)]]

    def content(self, h: CarriedArray, x: Array) -> Value:
        """What the variable's own array holds after a trip, if it holds x; anything where x is from before the loop."""
        if isinstance(x, Either):
            done = x.current()
            if done is not None and (id(h.template) in self.lost or not any(self._outer(y) for y in leaves(x))):
                return constant(done) if isinstance(done, np.ndarray) else done
            left, right = self.content(h, x.left), self.content(h, x.right)
            return left if left is right else branch_values(x.cond, lambda: [left], lambda: [right])[0]
        if id(h.template) not in self.lost and self._outer(x):
            return self.r.value(self.slots[id(h.template)])
        return self.r.value(x)

    def start(self, h: CarriedArray) -> Value:
        """What the variable's own array holds before the loop."""
        known = h.init is not None and (self.sole[id(h.template)] or id(h.template) in self.lost)
        return self.r.value(h.init) if known else zero(h.template.type)  # type: ignore[arg-type]


class _Kinds:
    """Where the arrays come from that the variables hold after a trip."""

    def __init__(self, tracked: Tracked, arrays: Sequence[CarriedArray], body: Region):
        self.r, self.body = tracked.r, body
        self.slots = {x.cell: k for k, x in tracked.slots.items()}
        self.users = Counter(c for h in arrays for c in {x.cell for x in leaves(h.final)})  # how many variables show some storage

    def slot(self, x: Array) -> int | None:
        """The variable whose own array it was at the start of the trip."""
        return None if x.steps else self.slots.get(x.cell)

    def made(self, c: Cell) -> bool:
        """Is it storage of the trip, or of a variable?"""
        return self.r.state.born(c) is self.body.builder or c in self.slots

    def of(self, x: Array) -> str | None:
        """ "outer": from before the loop; "own": of a variable; "new": made in the trip. None: another view."""
        made = self.made(x.cell)
        if not made and not any(self.body.defines(v) for s in x.steps for v in _operands(s)):
            return "outer"
        if x.cell in self.slots and not x.steps:
            return "own"
        alone = not x.steps or self.users[x.cell] == 1  # else it shows what another variable holds
        return "new" if made and alone and not x.frozen and not x.watch else None


def leaves(x: Array | None) -> Iterator[Array]:
    """The arrays that one of several may be."""
    if isinstance(x, Either):
        yield from leaves(x.left)
        yield from leaves(x.right)
    elif x is not None:
        yield x


Known = dict[Value, bool]


def decide(x: Array, f: Callable[[Array, Known], Any], known: Known) -> Any:
    """f of the array that x is: a bool, or a traced one. `known`: conditions that hold."""
    if not isinstance(x, Either):
        return f(x, known)
    v = x.cond.value
    if v in known:
        return decide(x.left if known[v] else x.right, f, known)
    return _where(x.cond, decide(x.left, f, {**known, v: True}), decide(x.right, f, {**known, v: False}))


def _where(cond: Arr, a: Any, b: Any) -> Any:
    """a where cond holds, else b, of bools."""
    if a is b:
        return a
    if isinstance(a, bool):
        return disjunction(cond, b) if a else conjunction(negated(cond), b)
    if isinstance(b, bool):
        return disjunction(negated(cond), a) if b else conjunction(cond, a)
    return disjunction(conjunction(cond, a), conjunction(negated(cond), b))


def same_view(x: Array, y: Array) -> bool:
    """Do two array objects certainly show the same elements of the same storage?"""
    return x is y or (x.cell is y.cell and len(x.steps) == len(y.steps) and all(map(_same_step, x.steps, y.steps)))


def _same_step(a: Step, b: Step) -> bool:
    if a is b or (isinstance(a, Stopped) and isinstance(b, Stopped)):
        return True
    if isinstance(a, At) and isinstance(b, At):
        p, q = a.plan, b.plan
        alike = p.spec == q.spec and p.perm == q.perm and p.shape == q.shape and p.inserted == q.inserted
        return alike and len(p.operands) == len(q.operands) and all(v is w for v, w in zip(p.operands, q.operands))
    if isinstance(a, Reshape) and isinstance(b, Reshape):
        return a.shape == b.shape
    if isinstance(a, Transpose) and isinstance(b, Transpose):
        return a.perm == b.perm
    return isinstance(a, ComplexPart) and isinstance(b, ComplexPart) and a.name == b.name


def _operands(s: Step) -> list[Value]:
    """Values that a step is computed from."""
    shape = s.plan.shape if isinstance(s, At) else getattr(s, "shape", ())
    return [*Type("f64", shape).symbols, *(s.plan.operands if isinstance(s, At) else ())]
