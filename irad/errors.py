"""Errors. Each names the user's file, line and column with a caret, what was found, what was expected, what to write."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

from irad.core.lazy_dataclass import dataclass

_HERE = os.path.dirname(os.path.abspath(__file__))
_OWN = tuple(os.path.realpath(d) + os.sep for d in (_HERE, f"{_HERE}/passes", f"{_HERE}/codegen")) + (_HERE + os.sep,)
_NOT_THE_USERS = (*_OWN, os.path.dirname(os.__file__) + os.sep, "<frozen ")
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def of_the_user(file: str) -> bool:
    """Is it a file of the user's own, not one of an installed package, of the standard library, or of irad?"""
    return not file.startswith(_NOT_THE_USERS) and not any(p in file for p in _PACKAGES)


@dataclass(frozen=True)
class Loc:
    """A place in the user's source. Columns count from 0, as in `ast`; `end_col` 0 means unknown."""

    file: str
    line: int
    col: int = 0
    end_col: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col + 1}"

    def excerpt(self) -> str:
        """The source line with a caret below, or "" if the source cannot be read."""
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text.strip():
            return ""
        width = max(1, min(self.end_col, len(text)) - self.col)
        return f"    {text}\n    {' ' * self.col}{'^' * width}"


_CALLERS = 4  # places of callers that are named


def placed(places: Sequence[Loc], message: str) -> str:
    """A message with its place, an excerpt, and where that was called from. `places`: the innermost first.

    The place is the first one in a file of the user's, and what lies deeper, in a package, is named last.
    """
    first = next((k for k, p in enumerate(places) if of_the_user(p.file)), 0)
    excerpt = places[first].excerpt()
    lines = [f"{places[first]}: {message}" if message else str(places[first]), *([excerpt] if excerpt else [])]
    callers = list(_apart(p for p in places[first + 1 :] if of_the_user(p.file)))
    shown = callers if len(callers) <= _CALLERS else [*callers[: _CALLERS - 1], None, callers[-1]]
    for p in shown:
        text = linecache.getline(p.file, p.line).strip() if p else ""
        lines.append(f"called from {p}" + (f": {text}" if text else "") if p else f"... {len(callers) - _CALLERS} more")
    if first:
        lines.append(f"met in {places[0]}, which is called from there: call it outside, or through irad.callback")
    return "\n".join(lines)


def _apart(places: Iterable[Loc]) -> Iterator[Loc]:
    """Places, without those that repeat the one before, as in a recursion."""
    last = None
    for p in places:
        if last is None or (p.file, p.line) != (last.file, last.line):
            yield p
        last = p


NO_BOUND = "the length of an array of type"  # how the message begins where memory has no bound


class IradError(Exception):
    """Base of irad's errors. `loc` is the source line where it arose, if known; `callers`: the calls that lead there, innermost first.

    >>> try:
    ...     irad.grad(lambda x: x + open("f").read())(1.0)
    ... except irad.IradError as e:
    ...     print(e.message)
    io.open gives another result at each call, ...
    """

    # What the front end may read the function again with: values that decide a whole number which has to be known, and the
    # expression that made a dict or set whose keys data decide.
    sources: set[Any] | None = None
    site: Any = None

    def __init__(self, message: str, loc: Loc | None = None):
        super().__init__(message)
        self.message, self.loc = message, loc
        self.callers: tuple[Loc, ...] = ()

    def at(self, loc: Loc | None) -> IradError:
        """The same error, placed at `loc` unless it has a place already."""
        if self.loc is None:
            self.loc = loc
        return self

    def __str__(self) -> str:
        return self.message if self.loc is None else placed((self.loc, *self.callers), self.message)


_FAULT = "a fault of irad's own may be the cause: IRAD_TRACEBACK=full shows where it arose"
_INNERMOST = 2  # frames of irad that are shown where it may be at fault


def shortened(e: BaseException) -> BaseException:
    """An error without irad's own frames, and of a public class. What shows a fault of irad stays as it is, or keeps its last frames.

    IRAD_TRACEBACK=full leaves all as they are.
    """
    if os.environ.get("IRAD_TRACEBACK") == "full" or isinstance(e, (VerifyError, MemoryCheckError)):
        return e
    if isinstance(e, IradError):
        e.__cause__, e.__suppress_context__ = None, True
        public = next(c for c in type(e).__mro__ if c.__module__ in (__name__, "irad") and c not in _WITHIN)
        if public is not type(e):
            e.__class__ = public
        return e.with_traceback(None)
    frames = list(_frames(e.__traceback__))
    users = next((k for k, t in enumerate(frames) if of_the_user(t.tb_frame.f_code.co_filename)), None)
    if users is not None:
        kept = [t for t in frames[users:] if not _is_own(t)]
    elif not frames or not _is_own(frames[-1]) or _raised_on_purpose(frames[-1]) or isinstance(e, _PYTHON):
        kept = []
    else:
        kept = frames[-_INNERMOST:]
        if _FAULT not in getattr(e, "__notes__", ()):
            e.add_note(_FAULT)
    where = [t.tb_frame.f_code.co_filename for t in _frames(getattr(e.__cause__, "__traceback__", None))]
    if e.__cause__ is None or where and not any(map(of_the_user, where)):
        e.__cause__, e.__suppress_context__ = None, True  # irad's own; what the user's code raised `from` stays
    return e.with_traceback(_chained(kept))


# What Python's own functions raise, called by irad
_PYTHON = (TypeError, ValueError, ArithmeticError, NameError, LookupError, AttributeError, OSError)


def _frames(t: TracebackType | None) -> Iterator[TracebackType]:
    while t is not None:
        yield t
        t = t.tb_next


def _is_own(t: TracebackType) -> bool:
    return t.tb_frame.f_code.co_filename.startswith(_OWN)


def _raised_on_purpose(t: TracebackType) -> bool:
    """Is the line of a frame a `raise`? irad raises what Python would."""
    return linecache.getline(t.tb_frame.f_code.co_filename, t.tb_lineno).lstrip().startswith("raise")


def _chained(frames: Sequence[TracebackType]) -> TracebackType | None:
    made = None
    for t in reversed(frames):
        made = TracebackType(made, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return made


class IradTypeError(IradError, TypeError):
    """Operands, arguments or structures of the wrong type.

    >>> irad.grad(lambda x: x)(np.ones(2))
    Traceback (most recent call last):
    irad.errors.IradTypeError: ...
    """


class IradValueError(IradError, ValueError):
    """Values that cannot be meant: shapes that do not fit, argnums out of range.

    >>> irad.grad(lambda x: x, argnums=1)(1.0)
    Traceback (most recent call last):
    irad.errors.IradValueError: ...
    """


class IradIndexError(IradError, IndexError):
    """An index that is out of bounds, or too many indices, known at compile time."""


class IradZeroDivisionError(IradError, ZeroDivisionError):
    """A division of Python numbers by zero, known at compile time."""


class IradOverflowError(IradValueError, OverflowError):
    """A number that does not fit where it is needed."""


class PythonTypeError(IradTypeError):
    """A TypeError that Python or NumPy raises too, known at compile time: `try` of the program catches it."""


class PythonValueError(IradValueError):
    """A ValueError that Python or NumPy raises too, known at compile time: `try` of the program catches it."""


_WITHIN = (PythonTypeError, PythonValueError)  # what the front end tells apart; outside they are IradTypeError and IradValueError


class ShapeError(PythonValueError):
    """Shapes that do not fit together; the message states both.

    >>> irad.compile(lambda x, y: x + y)(np.ones(2), np.ones(3))
    Traceback (most recent call last):
    irad.errors.ShapeError: ...
    """


class UnsupportedError(IradError, NotImplementedError):
    """Python or NumPy that irad does not compile; the message says what to write instead.

    >>> irad.compile(lambda x: eval("x + 1"))(1.0)
    Traceback (most recent call last):
    irad.errors.UnsupportedError: ...
    """


class UnsupportedAttribute(UnsupportedError, AttributeError):
    """An attribute that an object of irad's library lacks, though what it stands for has it."""


class ReadOnlyError(UnsupportedError, ValueError):
    """A store into what may not be written."""


class VerifyError(IradError):
    """A graph that breaks an invariant of the IR: a fault of the pass that made it."""


class ParseError(IradError, ValueError):
    """Text that is not a graph."""


class MemoryCheckError(IradError):
    """Code compiled with `check="memory"` touched memory that it may not touch, or computed with what was never written: a fault
    of irad."""
