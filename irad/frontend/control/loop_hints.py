"""What a loop carried when it was read before in the same activation, where its fixed point starts from; and what data decide of that."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

from irad.core.foreign import base_items
from irad.core.ir import Value
from irad.frontend.control.filling import holes
from irad.frontend.control.merge import Joiner
from irad.frontend.control.templates import Ary, Num, equal
from irad.frontend.control.trips import Carry
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import UNDEFINED, Array, Maybe, Nullable
from irad.frontend.values.runs import Run
from irad.frontend.values.state import Name, Storage


def take_hints(r: Reader, stmt: Any, carries: dict[Any, Carry]) -> None:
    """Start from what the same loop carried."""
    known = r.hints.get((stmt, r.frame.env), ([], []))
    for name, template in known[0]:
        place, joiner = Name(r.frame.env, name), Joiner()
        init = place.get()
        t = joiner.join(template, init)
        if init is not UNDEFINED and equal(t, template) and isinstance(t, Num):
            carries[place.key] = Carry(place, init, t)
    for name in known[1]:
        array = r.frame.env.names.get(name)
        if type(array) is Array:
            whole = Array(array.cell)
            carries[Storage(array.cell).key] = Carry(Storage(array.cell), array.cell.content, Ary(whole.type, (array, array)))


def leave_hints(r: Reader, stmt: Any, carries: dict[Any, Carry]) -> None:
    """Note what a loop carries, once that is settled."""
    env = r.frame.env
    names = [(c.place.name, c.template) for c in carries.values() if isinstance(c.place, Name) and c.place.owner is env]
    written = {id(c.place.owner) for c in carries.values() if isinstance(c.place, Storage)}
    cells = [n for n, x in env.names.items() if type(x) is Array and id(x.cell) in written]
    r.hints[stmt, env] = (names, cells)


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
