"""f-strings and other text with traced numbers in it: a template and its operands."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from irad.errors import UnsupportedError
from irad.frontend.arr import Arr, constant, static_value
from irad.frontend.objects import (
    Array,
    Text,
    describe,
    is_traced_deep,
)
from irad.frontend.reader import Reader, expression
from irad.frontend.regions import braces_doubled as escape


@expression(ast.JoinedStr)
def joined(r: Reader, e: ast.JoinedStr) -> Any:
    parts = [r.expr(v) if isinstance(v, ast.FormattedValue) else v.value for v in e.values]  # type: ignore[attr-defined]
    if all(isinstance(p, str) for p in parts):
        return "".join(parts)
    texts = [p if isinstance(p, Text) else Text(escape(p), ()) for p in parts]
    return Text("".join(t.template for t in texts), tuple(o for t in texts for o in t.operands))


_CONVERSIONS: dict[int, Callable[[Any], Any]] = {-1: lambda x: x, 97: ascii, 114: repr, 115: str}  # keyed as ast keys them


@expression(ast.FormattedValue)
def formatted(r: Reader, e: ast.FormattedValue) -> Any:
    value = r.expr(e.value)
    spec = r.expr(e.format_spec) if e.format_spec is not None else ""
    r.at(e)
    if not is_traced_deep(value):
        shown = native(r, value)
        shown = _CONVERSIONS[e.conversion](shown)
        return format(shown, spec)
    given = static_value(spec, "a format")
    return text_of(r, value, "!s" * (e.conversion != -1) + (f":{given}" if given else ""))


def text_of(r: Reader, value: Any, how: str = "!s") -> Text:
    """A traced number, array or container as text; `how`: conversion and format of its field, as str() if there is none."""
    if isinstance(value, Text):
        return value
    if isinstance(value, (Arr, Array)):
        content = r.operand(value)
        return Text(f"{{{how}}}", (content if isinstance(content, Arr) else Arr(constant(content)),))
    if isinstance(value, (list, tuple)):
        inner = [text_of(r, v) if is_traced_deep(v) else Text(escape(repr(native(r, v))), ()) for v in value]
        opening, closing = ("[", "]") if isinstance(value, list) else ("(", ",)" if len(value) == 1 else ")")
        return Text(opening + ", ".join(t.template for t in inner) + closing, tuple(o for t in inner for o in t.operands))
    raise UnsupportedError(f"{describe(value)} that holds traced numbers cannot be formatted; format its numbers one by one")


def native(r: Reader, x: Any) -> Any:
    """A static thing as plain Python and NumPy objects."""
    return r.operand(x)
