"""f-strings and other text with traced numbers in it: a template and its operands."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable
from typing import Any

from irad.errors import IradTypeError, UnsupportedError
from irad.foreign import is_library
from irad.frontend.arr import Arr, constant, static_value
from irad.frontend.objects import (
    Array,
    Text,
    describe,
    is_traced_deep,
    python_method,
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
        if r.captures.opaque(value):
            value = static_text(r, value, "__repr__" if e.conversion == 114 else "__str__")
        shown = native(r, value)
        shown = _CONVERSIONS[e.conversion](shown)
        return format(shown, spec)
    given = static_value(spec, "a format")
    return text_of(r, value, "!s" * (e.conversion != -1) + (f":{given}" if given else ""))


def text_of(r: Reader, value: Any, how: str = "!s") -> Text:
    """A traced number, array or container as text; `how`: conversion and format of its field, as str() if there is none."""
    if isinstance(value, Text):
        if how not in ("", "!s"):
            raise value.unknown()
        return value
    if isinstance(value, (Arr, Array)):
        content = r.operand(value)
        return Text(f"{{{how}}}", (content if isinstance(content, Arr) else Arr(constant(content)),))
    if isinstance(value, (list, tuple)):
        inner = [text_of(r, v) if is_traced_deep(v) else Text(escape(repr(native(r, v))), ()) for v in value]
        opening, closing = ("[", "]") if isinstance(value, list) else ("(", ",)" if len(value) == 1 else ")")
        return Text(opening + ", ".join(t.template for t in inner) + closing, tuple(o for t in inner for o in t.operands))
    if isinstance(value, BaseException) and len(value.args) == 1:
        return text_of(r, value.args[0])
    raise UnsupportedError(f"{describe(value)} that holds traced numbers cannot be formatted; format its numbers one by one")


def _field(r: Reader, value: Any, conversion: str | None, spec: str) -> Text:
    """One field of a format."""
    if is_traced_deep(value):
        return text_of(r, value, ("!s" if conversion else "") + (f":{spec}" if spec else ""))
    shown = native(r, value)
    shown = _CONVERSIONS[ord(conversion) if conversion else -1](shown)
    return Text(escape(format(shown, spec)), ())


def _together(texts: list[Text]) -> Text:
    return Text("".join(t.template for t in texts), tuple(o for t in texts for o in t.operands))


def _format(r: Reader, template: str, args: list[Any], kwargs: dict[str, Any]) -> Text:
    """template.format(*args, **kwargs)."""
    texts, number = [], 0
    for literal, name, spec, conversion in string.Formatter().parse(template):
        texts.append(Text(escape(literal), ()))
        if name is None:
            continue
        if name == "":
            name, number = str(number), number + 1
        if not name.isdigit() and name not in kwargs or "{" in (spec or ""):
            raise UnsupportedError(f"the field {{{name}}} of str.format with traced numbers; write an f-string")
        texts.append(_field(r, args[int(name)] if name.isdigit() else kwargs[name], conversion, spec or ""))
    return _together(texts)


def _join(r: Reader, separator: str, args: list[Any], kwargs: dict[str, Any]) -> Text:
    """separator.join(texts)."""
    texts: list[Text] = []
    for x in r.items(args[0]):
        if not isinstance(x, (str, Text)):
            raise IradTypeError(f"sequence item {len(texts)}: expected str instance, {describe(x)} found")
        texts += [Text(escape(separator), ())] * bool(texts) + [x if isinstance(x, Text) else Text(escape(x), ())]
    return _together(texts)


TEXT_METHODS = {"format": _format, "join": _join}
"""Methods of strings that make text of traced numbers, keyed by name."""
_PERCENT = re.compile(r"%(?:%|([-+ 0#]*)(\d*)(?:\.(\d+))?([a-zA-Z]))")


def percent_formatted(r: Reader, template: str, given: Any) -> Text:
    """template % given, for %s, %r, %d, %i, %e, %f and %g."""
    args, texts, at = list(given) if isinstance(given, tuple) else [given], [], 0
    for m in _PERCENT.finditer(template):
        texts.append(Text(escape(template[at : m.start()]), ()))
        at = m.end()
        if m.group() == "%%":
            texts.append(Text("%", ()))
            continue
        if not args:
            raise TypeError("not enough arguments for format string")
        texts.append(_percent_field(r, args.pop(0), m))
    if args:
        raise TypeError("not all arguments converted during string formatting")
    return _together([*texts, Text(escape(template[at:]), ())])


def _percent_field(r: Reader, x: Any, m: re.Match[str]) -> Text:
    (flags, width, precision, kind), whole = m.groups(), m.group()
    if kind not in "srdiefgEFG" or (kind in "sr" and (precision or set(flags) - {"-"})):
        raise UnsupportedError(f"{whole} with traced numbers; write an f-string")
    if not is_traced_deep(x):
        return Text(escape(whole % native(r, x)), ())
    if kind in "di":
        x = r.call(int, [x])
    elif kind not in "sr":
        x = r.call(float, [x])
    align = "<" if "-" in flags else ">" if width and kind in "sr" else ""
    sign = next((c for c in "+ " if c in flags), "")
    zero = "0" if "0" in flags and "-" not in flags else ""
    spec = align + sign + ("#" if "#" in flags else "") + zero + width + (f".{precision}" if precision else "")
    return _field(r, x, "s" if kind in "sr" else None, spec + ("" if kind in "sr" else "d" if kind in "di" else kind))


def static_text(r: Reader, x: Any, how: str = "__str__") -> Any:
    """str(x) or repr(x) of a static thing; of an object, what its class says."""
    method = python_method(x, how) or python_method(x, "__repr__")
    if method is not None and not is_library(type(x).__module__):
        return r.call(method, [x])
    r.captures.hand("str()" if how == "__str__" else "repr()", x)
    return str(r.operand(x)) if how == "__str__" else repr(r.operand(x))


def native(r: Reader, x: Any) -> Any:
    """A static thing as plain Python and NumPy objects."""
    return r.operand(x)
