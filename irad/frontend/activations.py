"""What is known of a function while its body is read: its activation, the blocks that are running, and what its next reading is told."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from irad.core.lazy_dataclass import dataclass, field
from irad.errors import UnsupportedError
from irad.frontend.syntax.liveness import Liveness
from irad.frontend.syntax.source import Source
from irad.frontend.values.objects import Env

HELD = ("exceptions", None)  # among what a reading is told: called functions hold what they raise until they end
WHOLE = ("finally", None)  # the same: what a block raises before a finally clause or an __exit__ is caught, and raised again
THEMSELVES = ("objects", None)  # the same: objects that data choose are themselves, not what stands for their contents
REAL = ("eigenvalues", None)  # the same: eigenvalues of real matrices are real


class OfObjects(UnsupportedError):
    """It is about an object that stands for several, and may be done if those that data choose are themselves."""


Some = frozenset[Any]
NONE: Some = frozenset()


class Restart(BaseException):
    """The function must be read again, with more arguments fixed (`static`), loops written out (`unroll`), loops in which arrays are
    followed exactly (`tracked`), functions that call themselves as graphs of their own (`recursive`), dicts and sets whose keys
    data decide (`keyed`), or more room for lists (`room`: a level of irad.core.room)."""

    def __init__(self, static: Some = NONE, unroll: Some = NONE, *, room: int = 0, **rest: Some):
        super().__init__()
        self.static, self.unroll, self.room = static, unroll, room
        self.tracked, self.recursive, self.keyed = (rest.get(k, NONE) for k in ("tracked", "recursive", "keyed"))

    def joined(self, more: Restart) -> Restart:
        """Both."""
        sets = {k: getattr(self, k) | getattr(more, k) for k in ("static", "unroll", "tracked", "recursive", "keyed")}
        return Restart(**sets, room=max(self.room, more.room))


@dataclass(eq=False)
class RunningTry:
    """A try block that is running: its flag "caught" leaves it. `loops`: how many loops of the function are around it."""

    statement: ast.Try
    env: Env
    loops: int


@dataclass(eq=False)
class Rest:
    """What follows a statement in its block: `follow` runs it, and `taken` says that it has been run.

    `live`: the names that are read after that. `outer`: what follows the statement that the block is part of, if nothing decides at
    run time whether the block runs (`plain`).
    """

    stmt: ast.stmt
    follow: Callable[[], Any]
    live: frozenset[str] | None
    outer: Rest | None = None
    plain: bool = False
    taken: bool = False

    def chain(self) -> list[Rest]:
        """It, and what follows that."""
        return [self, *(self.outer.chain() if self.outer is not None and self.outer.plain else ())]


@dataclass(eq=False)
class Final:
    """A clause that runs however its block is left: `finally`, or the exit of a `with`. `guards`, `loops`: how many try blocks with
    handlers, and loops, are around it; its flag "done" says that an exception has run it."""

    statement: ast.Try | ast.With
    env: Env
    guards: int
    loops: int


@dataclass(eq=False)
class Activation:
    """One activation of a function that is being read. `flags` says whether it has returned, and with what."""

    env: Env
    source: Source
    liveness: Liveness
    globals_of: Any  # the real function whose globals and closure are in scope
    code: Any = None
    flags: Env = field(default_factory=lambda: Env({"return": False}))
    signature: tuple[Any, ...] = ()  # types of the arguments
    conditional: int = 0  # the reader's `conditional` when it began
    loops: list[Env] = field(default_factory=list)  # flags "break" and "continue" of the loops around
    guards: list[RunningTry] = field(default_factory=list)  # try blocks with handlers around
    finals: list[Final] = field(default_factory=list)  # what runs when the blocks around are left
    consume: Callable[[Any], Any] | None = None  # of a generator: what takes its elements
    around_loops: tuple[Any, ...] = ()  # of a generator: the loops that go over it
    rest: Rest | None = None  # of the statement that is running
    iterated: list[Any] = field(default_factory=list)  # what the loops that are running go over
    held: Any = None  # what it has raised, see irad.frontend.reading.held
    running: ast.stmt | None = None  # the innermost statement that is running
    around: Env | None = None  # the names of the function that it was defined in; `env` is inside of its own in a comprehension


@dataclass(eq=False)
class Spectra:
    """Of one reading of a program: are eigenvalues of real matrices `real`, and have any been `met`?

    NumPy makes them real where all happen to be; compiled code has to know before. They are complex in the first reading. A program
    that cannot be read so is read again with real ones, and a call raises where they are not.
    """

    real: bool = False
    met: bool = False


_spectra: ContextVar[Spectra] = ContextVar("spectra")


@contextmanager
def spectra(real: bool) -> Iterator[Spectra]:
    """While a program is read."""
    found = Spectra(real)
    before = _spectra.set(found)
    try:
        yield found
    finally:
        _spectra.reset(before)


def are_real() -> bool:
    """Are those of a real matrix, which is met here, to be real?"""
    found = _spectra.get(Spectra())
    found.met = True
    return found.real
