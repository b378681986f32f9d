"""f-strings and other text with traced numbers in it: a template and its operands."""

from __future__ import annotations

import ast
import dataclasses
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.foreign import is_library, is_written
from irad.errors import UnsupportedError
from irad.frontend.control.special import rely_on
from irad.frontend.python.text_pieces import characters, marked, padded, together
from irad.frontend.reader import Reader, expression
from irad.frontend.values.arr import Arr, constant
from irad.frontend.values.objects import Array, Choice, Text, class_of_number, describe, is_traced_deep, python_method
from irad.ops.complex import complex_
from irad.ops.constant import scalar
from irad.ops.elementwise import select
from irad.ops.text import CLASSES, class_field, escaped


@expression(ast.JoinedStr)
def joined(r: Reader, e: ast.JoinedStr) -> Any:
    return together(r.expr(v) if isinstance(v, ast.FormattedValue) else v.value for v in e.values)  # type: ignore[attr-defined]


@expression(ast.FormattedValue)
def formatted_value(r: Reader, e: ast.FormattedValue) -> Any:
    value = r.expr(e.value)
    spec = r.expr(e.format_spec) if e.format_spec is not None else ""
    r.at(e)
    return shown(r, value, "" if e.conversion == -1 else chr(e.conversion), characters(*marked(spec)))


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"": lambda x: x, "a": ascii, "r": repr, "s": str}


_CLASSES = {(dtype, True): CLASSES.index(c) for dtype, c in (("f64", float), ("i64", int), ("bool", bool))}


def shown(r: Reader, value: Any, conversion: str = "s", spec: str = "") -> Text | str:
    """What `{value!conversion:spec}` gives."""
    if isinstance(value, Text):
        if conversion in ("r", "a"):
            value = together(["'", value, "'"])
        return padded(value, spec)
    if not conversion and (method := _own(value, "__format__")) is not None:
        return r.call(method, [value, spec])  # type: ignore[no-any-return]
    if needs_reading(value):
        if conversion or not isinstance(value, (Arr, Array)):
            return shown(r, text_of(r, value, "!s", conversion in ("r", "a")), "", spec)
        if isinstance(value, Array) and value.shape and spec:
            raise TypeError("unsupported format string passed to numpy.ndarray.__format__")
        return text_of(r, value, f":{spec}" if spec else "")
    if r.captures.opaque(value):
        value, conversion = static_text(r, value, "__repr__" if conversion == "r" else "__str__"), ""
    return format(_CONVERSIONS[conversion](native(r, value)), spec)


def _own(x: Any, name: str) -> types.FunctionType | None:
    """A method by which a class of the user, or one that is read like those, says what its text is."""
    method = python_method(x, name)
    if method is None or is_written(type(x)):
        return method
    return None if is_library(type(x).__module__) or is_library(method.__module__) else method


def needs_reading(x: Any) -> bool:
    """Is the text of x made here: of traced numbers, or by a method of the user's class?"""
    if is_traced_deep(x) or _own(x, "__str__") is not None or _own(x, "__repr__") is not None:
        return True
    if type(x) in (list, tuple, set, frozenset):
        return any(map(needs_reading, x))
    return type(x) is dict and any(map(needs_reading, x.values()))


def _of_class(x: Arr, how: str) -> tuple[str, Arr]:
    """How a field shows a Python number that is of one class on one path and of another on the other, and its operand."""
    assert x.by is not None
    cond, *kinds = x.by
    numbers = [_CLASSES.get(kind) for kind in kinds]
    if None in numbers or x.name != "f64":
        return how, x
    at = select(cond, *(scalar(n, "f64") for n in numbers))
    return class_field(how[1:] if how[:1] == ":" else "")[1:-1], Arr(complex_(x.value, at), True)


def text_of(r: Reader, value: Any, how: str = "!s", inside: bool = False) -> Text | str:
    """A number, array, container or object as text; `how`: conversion and format of its field; `inside`: as repr() shows it."""
    if isinstance(value, (str, Text)):
        return value if not inside else repr(value) if isinstance(value, str) else together(["'", value, "'"])
    if isinstance(value, Choice):
        return r.chosen_items().item(r, [text_of(r, x, how, inside) for x in value.options], value.at)[0]  # type: ignore[no-any-return]
    if isinstance(value, (Arr, Array)):
        content = r.operand(value)
        if isinstance(content, Arr) and content.by is not None:
            how, content = _of_class(content, how)
        text = Text(f"{{{how}}}", (content if isinstance(content, Arr) else Arr(constant(content)),))
        return _named(text, value) if isinstance(value, Arr) and (inside or how == "!r") else text
    named = isinstance(value, tuple) and hasattr(value, "_fields")
    if type(value) in (list, tuple, dict) or (named and type(value).__repr__ is not tuple.__repr__):
        return _container(r, value)
    if isinstance(value, BaseException) and len(value.args) == 1 and not inside:
        return text_of(r, value.args[0])
    if not needs_reading(value):
        return static_text(r, value, "__repr__" if inside else "__str__")
    method = None if inside else _own(value, "__str__")
    method = method or _own(value, "__repr__")
    if method is not None and getattr(method, "__wrapped__", method).__code__.co_filename == "<string>":
        return _dataclass(r, value)
    if method is not None:
        rely_on(r, type(value), "__repr__" if inside else "__str__")
        return r.call(method, [value])  # type: ignore[no-any-return]
    raise UnsupportedError(f"{describe(value)} that holds traced numbers cannot be formatted; format its numbers one by one")


def _named(text: Text, x: Arr) -> Text | str:
    """What repr() says of a number: NumPy 2 names the class of its own."""
    if x.shape or not repr(np.float64(0)).startswith("np."):
        return text
    if x.mixed:
        raise UnsupportedError("repr() of a number that is of one class on one path and of another class on the other; use str()")
    if x.weak:
        return text
    return together(["np.", text, "_"]) if x.name == "bool" else together([f"np.{class_of_number(x).__name__}(", text, ")"])


def _dataclass(r: Reader, x: Any) -> Text | str:
    """What the __repr__ that dataclasses make says."""
    shown = [f.name for f in dataclasses.fields(x) if f.repr]
    return _listed(r, f"{type(x).__qualname__}(", [(f"{n}=", r.getattr(x, n)) for n in shown], ")")


def _container(r: Reader, x: Any) -> Text | str:
    if isinstance(x, dict):
        return _listed(r, "{", [(f"{text_key!r}: ", v) for text_key, v in x.items()], "}")
    if isinstance(x, list):
        return _listed(r, "[", [("", v) for v in x], "]")
    if hasattr(x, "_fields"):
        return _listed(r, f"{type(x).__name__}(", [(f"{n}=", v) for n, v in zip(x._fields, x)], ")")
    return _listed(r, "(", [("", v) for v in x], ",)" if len(x) == 1 else ")")


def _listed(r: Reader, opening: str, items: list[tuple[str, Any]], closing: str) -> Text | str:
    out: list[Text | str] = [opening]
    for k, (name, v) in enumerate(items):
        out += [", " if k else "", name, text_of(r, v, inside=True)]
    return together([*out, closing])


def template_of(t: Text | str) -> Text:
    """Text as a template, if it has operands or none."""
    return t if isinstance(t, Text) else Text(escaped(t), ())


def static_text(r: Reader, x: Any, how: str = "__str__") -> Any:
    """str(x) or repr(x) of a static thing; of an object, what its class says."""
    method = python_method(x, how) or python_method(x, "__repr__")
    if method is not None and not is_library(type(x).__module__):
        rely_on(r, type(x), how)
        rely_on(r, type(x), "__repr__")
        return r.call(method, [x])
    r.captures.hand("str()" if how == "__str__" else "repr()", x)
    return str(r.operand(x)) if how == "__str__" else repr(r.operand(x))


def native(r: Reader, x: Any) -> Any:
    """A static thing as plain Python and NumPy objects."""
    return r.operand(x)
