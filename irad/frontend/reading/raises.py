"""raise and assert."""

from __future__ import annotations

import ast
import builtins
from typing import Any, NoReturn

from irad.core.types import is_complex
from irad.errors import UnsupportedError
from irad.frontend.control.facts import learn
from irad.frontend.control.flow import branch
from irad.frontend.control.regions import Dead, kept_exception, known_exception, raise_always, said
from irad.frontend.python.texts import needs_reading, template_of, text_of
from irad.frontend.reader import Reader, statement
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Text, class_of_number
from irad.ops.text import MOST, PARTS, Slot, with_fields


@statement(ast.Raise)
def raise_(r: Reader, s: ast.Raise) -> None:
    if s.exc is None:
        exc = r.handling[-1] if r.handling else RuntimeError("No active exception to reraise")
    else:
        exc = r.expr(s.exc)
    r.at(s)
    if isinstance(exc, type) and issubclass(exc, BaseException):
        exc = exc()
    if not isinstance(exc, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    raise_exception(r, exc)


def raise_exception(r: Reader, exc: BaseException) -> NoReturn:
    """Raise what the program raises."""
    if not any(map(needs_reading, exc.args)):
        raise said(exc)  # a handler of the program may catch it; a branch or loop around raises it at run time
    name, template, operands = described(r, exc)
    raise_always(name, template, [o.value for o in operands])
    raise Dead


def described(r: Reader, exc: BaseException) -> tuple[str, str, list[Arr]]:
    """Class name, message template and operands of an exception that is raised at run time. Arrays are shown as their types."""
    if not any(map(needs_reading, exc.args)):
        return *known_exception(r, exc), []
    name = type(exc).__qualname__
    if getattr(builtins, name, None) is not type(exc):
        name = kept_exception(r, type(exc))
    elif len(exc.args) > 1 or isinstance(exc.args[0], Arr) or _of_ints(exc.args[0]):
        return _with_arguments(r, exc)
    return name, *_shown(", ", [template_of(text_of(r, a)) for a in exc.args])


def _with_arguments(r: Reader, exc: BaseException) -> tuple[str, str, list[Arr]]:
    """An exception that is kept, with slots for the arguments that the program computes: they are filled when it is raised."""
    texts = {k: template_of(text_of(r, a)) for k, a in enumerate(exc.args) if needs_reading(a)}
    slots = {k: _slot(exc.args[k], t) for k, t in texts.items()}
    made = type(exc)(*(slots.get(k, a) for k, a in enumerate(exc.args)))
    return kept_exception(r, made), *_shown(PARTS, list(texts.values()))


def _of_ints(x: Any) -> bool:
    """Is it a tuple of Python's ints, as a key may be?"""
    whole = lambda e: type(e) is int or isinstance(e, Arr) and not e.shape and class_of_number(e) is int
    return type(x) is tuple and all(map(whole, x))


def _slot(x: Any, text: Text) -> Slot:
    kind = class_of_number(x) if isinstance(x, Arr) and not x.shape else tuple if _of_ints(x) else None
    return Slot(kind, text.template, sum(1 for o in text.operands if not o.shape))


def _shown(separator: str, texts: list[Text]) -> tuple[str, list[Arr]]:
    """The template of texts, and its operands. Arrays are shown as their types."""
    operands = [o for t in texts for o in t.operands]
    if sum(1 + is_complex(o.name) for o in operands if not o.shape) > MOST:
        raise UnsupportedError(f"an exception with more than {MOST} numbers in its text (a complex one counts twice); show fewer")
    each = iter(operands)
    shown = lambda field: f"<array {o.value.type}>" if (o := next(each)).shape else field
    return with_fields(separator.join(t.template for t in texts), shown), [o for o in operands if not o.shape]


@statement(ast.Assert)
def assert_(r: Reader, s: ast.Assert) -> None:
    r.at(s.test)
    ok = r.condition(s.test)
    if ok is True:
        return

    def failed() -> None:
        exc = AssertionError(*([r.expr(s.msg)] if s.msg is not None else []))
        r.at(s)
        raise_exception(r, exc)

    if not isinstance(ok, Arr):
        failed()
    branch(r, ok, lambda: None, failed)  # only where it fails is the message made
    learn(r, ok, True)
