"""What the command line is given: a function in a file, its arguments, and which of them a gradient is for."""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from irad.api import Compiled, value_and_grad
from irad.core.notes import Notes
from irad.core.tree import flatten, is_leaf
from irad.core.types import parse_type
from irad.elsewhere import misspelt
from irad.errors import IradError, IradTypeError, IradValueError
from irad.frontend.trace import trace
from irad.frontend.values.traced import Spec, Traced


class UserError(Exception):
    """What the user's code raised, and where."""

    def __init__(self, what: str, e: BaseException):
        notes = "".join(f"\n{note}" for note in getattr(e, "__notes__", ()))
        inside = [f for f in traceback.extract_tb(e.__traceback__) if not _ours(f.filename)]
        where = f" at {inside[-1].filename}:{inside[-1].lineno}" if inside else ""
        super().__init__(f"{what}: {type(e).__name__}{where}: {e}{notes}")


def _ours(file: str) -> bool:
    return file.startswith("<") or Path(file).resolve().is_relative_to(Path(__file__).resolve().parents[1])


@contextmanager
def running(what: str) -> Iterator[None]:
    """Exceptions of the user's code become errors without traceback; irad's own already are."""
    try:
        yield
    except (IradError, OSError):
        raise
    except Exception as e:
        raise UserError(what, e) from e


def load_function(spec: str) -> Any:
    """What `FILE.py:FUNC` or `FILE.py:CLASS.METHOD` names. A method is bound to an object that its class makes without arguments.

    Raises IradValueError or OSError with what is wrong.
    """
    path, _, name = spec.rpartition(":")
    if not path:
        raise IradValueError(f"{spec!r} names no function; write FILE.py:FUNC")
    if not Path(path).exists():
        raise IradValueError(f"there is no file {path}")
    module_spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if module_spec is None or module_spec.loader is None:
        raise IradValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_spec.name] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    with running(f"{path} cannot be loaded"):
        module_spec.loader.exec_module(module)
    found: Any = module
    for part in name.split("."):
        owner, found = found, getattr(found, part, None)
        if not callable(found):
            names = [n for n in vars(owner) if callable(getattr(owner, n)) and not n.startswith("_")]
            what = path if owner is module else f"{path}:{owner.__name__}"
            hint = misspelt(part, names) or f"; it has {', '.join(names) or 'none'}"
            raise IradValueError(f"{what} has no function {part!r}{hint}")
        if isinstance(owner, type) and isinstance(found, types.FunctionType) and _takes_self(owner, part):
            with running(f"{owner.__name__}() for the method {name}"):
                found = getattr(owner(), part)
    return found


def _takes_self(cls: type, name: str) -> bool:
    return next((isinstance(vars(c)[name], types.FunctionType) for c in cls.__mro__ if name in vars(c)), False)


def argument(text: str) -> Any:
    """A `Spec` of a type (`f64[3,4]`), or a constant: a number, a text in quotes, True, False, None, a tuple of such."""
    try:
        return Spec(parse_type(text))
    except IradValueError as e:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            quoted = f"; a text is written in quotes: '\"{text}\"'" if text.isidentifier() else ""
            number = "" if e.message.endswith("?") else ", or a number"
            raise IradValueError(f"{e.message}{number}{quoted}") from None


def arguments(texts: Iterable[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What is given by position and by name (`scale=2.0`). Raises IradValueError for a position after a name."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name.isidentifier():
            kwargs[name] = argument(value)
        elif kwargs:
            raise IradValueError(f"{text!r} has no name, but follows {list(kwargs)[-1]!r}, which has one")
        else:
            args.append(argument(text))
    return tuple(args), kwargs


def wrt_of(text: str) -> int | str | tuple[int | str, ...]:
    """`0,scale` as argnums: positions and names."""
    found = [int(part) if part.strip().isdecimal() else part.strip() for part in text.split(",")]
    return found[0] if len(found) == 1 else tuple(found)


def traced(function: str, texts: list[str], grad: bool, wrt: str | None, notes: Notes | None = None) -> Traced:
    """The function that is named, traced for these arguments; with `grad` its value and gradient, by argument 0 or `wrt`."""
    given = arguments(texts)
    found = load_function(function)
    numbers: Any = 0
    if isinstance(found, Compiled):  # what it compiles; other wrappers are part of what is asked for
        numbers, found = found.argnums, found.__wrapped__
    if wrt is not None:
        numbers = wrt_of(wrt)
    if grad:
        found = value_and_grad(found, argnums=numbers)
    elif wrt is not None:
        raise IradTypeError("--wrt says what --grad is for; write both")
    leaves = flatten(given, lambda x: is_leaf(x) or isinstance(x, Spec))[0]
    static = frozenset(k for k, x in enumerate(leaves) if not isinstance(x, Spec))
    with running(function):
        return trace(found, *given, static=static, notes=notes)
