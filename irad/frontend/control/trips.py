"""A loop statement, what a trip of it is, and what it carries."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from irad.core.lazy_dataclass import dataclass
from irad.frontend.control.flow import Live, flag
from irad.frontend.control.templates import Opt, Template
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, NeedStatic
from irad.frontend.values.objects import Array
from irad.frontend.values.state import Name, Place, Region, Storage


@dataclass(eq=False)
class LoopStatement:
    """One loop statement: how a trip runs, and what is live around it."""

    stmt: Any
    body: Callable[[Any], None]  # a trip, given its position (None in a while loop)
    head: Live
    after: Live
    orelse: Callable[[], None] | None
    name: str = ""


def stop_flag(r: Reader) -> Any:
    """Has the loop been left for good: True, False or a traced bool."""
    out: Any = False
    for env, name in ((r.frame.loops[-1], "break"), (r.frame.flags, "return"), *((g.env, "caught") for g in r.frame.guards)):
        f = flag(env, name)
        if f is True:
            return True
        if isinstance(f, Arr):
            out = f if out is False else r.operator("or_", out, f)
    return out


def trip(r: Reader, loop: LoopStatement, position: Any) -> None:
    """One trip; `continue` ends here."""
    env = r.frame.loops[-1]
    loop.body(position)
    if flag(env, "continue") is not False:
        r.state.assign(Name(env, "continue"), False)


class Unrollable(Exception):
    """The number of a trip must be known at compile time."""

    def __init__(self, cause: NeedStatic):
        super().__init__()
        self.cause = cause


class Rotate(Exception):
    """The test of a while loop changes state: it runs inside the trips."""


class Track(Exception):
    """It has to be followed which array each variable holds."""


@dataclass(eq=False)
class Carry:
    """A place that a loop changes. `filled`: it has no value before the first trip, and no trip reads it."""

    place: Place
    init: Any
    template: Template
    filled: bool = False

    def after(self, body: Region, key: Any) -> Any:
        """What the place holds after a trip."""
        if isinstance(self.place, Storage):
            return Array(self.place.owner)
        final = body.log.new.get(key, self.init)
        return final.child if isinstance(final, Opt) else final


def assigns(loop: Any) -> bool:
    """Does the test of a while loop assign a variable, which its body may read?"""
    return isinstance(loop, ast.While) and any(isinstance(n, ast.NamedExpr) for n in ast.walk(loop.test))


def shown(place: Place) -> str:
    """A name of a place, in errors."""
    return str(place.name) if place.name is not None else "an array"
