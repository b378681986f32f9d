"""What a loop carried when it was read before in the same activation: its fixed point starts from there."""

from __future__ import annotations

from typing import Any

from irad.frontend.control.merge import Joiner
from irad.frontend.control.templates import Ary, Num, equal
from irad.frontend.control.trips import Carry
from irad.frontend.reader import Reader
from irad.frontend.values.objects import UNDEFINED, Array
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
