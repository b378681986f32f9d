"""Errors. Each names the user's file, line and column with a caret, what was found, what was expected, what to write."""

from __future__ import annotations

import linecache
import os

from irad.core.lazy_dataclass import dataclass


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


class IradError(Exception):
    """Base of irad's errors. `loc` is the user's source line, if known."""

    def __init__(self, message: str, loc: Loc | None = None):
        super().__init__(message)
        self.message, self.loc = message, loc

    def at(self, loc: Loc | None) -> IradError:
        """The same error, placed at `loc` unless it has a place already."""
        if self.loc is None:
            self.loc = loc
        return self

    def __str__(self) -> str:
        if self.loc is None:
            return self.message
        excerpt = self.loc.excerpt()
        return f"{self.loc}: {self.message}" + (f"\n{excerpt}" if excerpt else "")


_PYTHON = (TypeError, ValueError, ArithmeticError, NameError)


def shortened(e: BaseException) -> BaseException:
    """An error of the user's program without irad's own frames; others, which irad's developers need whole, as they are.

    IRAD_TRACEBACK=full leaves all as they are.
    """
    users = isinstance(e, IradError) and not isinstance(e, VerifyError)
    users = users or (isinstance(e, _PYTHON) and bool(getattr(e, "__notes__", None)))
    if users and os.environ.get("IRAD_TRACEBACK") != "full":
        e.__cause__, e.__suppress_context__ = None, True
        return e.with_traceback(None)
    return e


class IradTypeError(IradError, TypeError):
    """Operands, arguments or structures of the wrong type."""


class IradValueError(IradError, ValueError):
    """Values that cannot be meant: shapes that do not fit, argnums out of range."""


class IradOverflowError(IradValueError, OverflowError):
    """A number that does not fit where it is needed."""


class ShapeError(IradValueError):
    """Shapes that do not fit together; the message states both."""


class UnsupportedError(IradError, NotImplementedError):
    """Python or NumPy that irad does not compile; the message says what to write instead."""


class VerifyError(IradError):
    """A graph that breaks an invariant of the IR: a fault of the pass that made it."""


class ParseError(IradError, ValueError):
    """Text that is not a graph."""


class MemoryCheckError(IradError):
    """Code compiled with `check="memory"` touched memory that it may not touch, or computed with what was never written: a fault
    of irad."""
