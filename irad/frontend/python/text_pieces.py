"""Text with traced numbers in it, taken apart and put together: literals, and a mark in the place of each number's field."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from typing import Any

from irad.errors import UnsupportedError
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Text
from irad.ops.text import choice_field, choices_of, escaped, unescaped

_FIRST = 0xF0000  # marks are characters for private use

METHODS = frozenset({"format", "join", "ljust", "rjust", "center"})
"""Methods of strings that make text of traced numbers; see irad.frontend.python.text_formats."""

Fields = list[tuple[str, Arr]]
"""What the marks of a string stand for: fields of a template, and their operands."""


def together(texts: Iterable[Text | str]) -> Text | str:
    """The texts one after the other; a plain string if no number is in them."""
    parts = list(texts)
    if all(isinstance(t, str) for t in parts):
        return "".join(parts)  # type: ignore[arg-type]
    found = [t if isinstance(t, Text) else Text(escaped(t), ()) for t in parts]
    return Text("".join(t.template for t in found), tuple(o for t in found for o in t.operands))


def marked(t: Text | str) -> tuple[str, Fields]:
    """The characters of a text, a mark for each field."""
    if isinstance(t, str):
        return t, []
    out, fields = "", list[tuple[str, Arr]]()
    operands = iter(t.operands)
    for literal, name, spec, conversion in string.Formatter().parse(t.template):
        if any(map(is_mark, literal)):
            raise UnsupportedError("a text with characters for private use, and traced numbers")
        out += literal
        if name is not None:
            out += chr(_FIRST + len(fields))
            fields.append((_field(conversion, spec), next(operands)))
    return out, fields


def _field(conversion: str | None, spec: str | None) -> str:
    return "{" + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"


def is_mark(c: str) -> bool:
    return ord(c) >= _FIRST


def unmarked(s: str, fields: Fields) -> Text | str:
    """A string with marks as the text that it stands for."""
    if not any(map(is_mark, s)):
        return s
    out, operands = "", []
    for c in s:
        if is_mark(c):
            field, operand = fields[ord(c) - _FIRST]
            out += field
            operands.append(operand)
        else:
            out += escaped(c)
    return Text(out, tuple(operands))


def characters(s: str, fields: Fields) -> str:
    """A part of a text whose characters must be known. Raises NeedStatic for the number in it."""
    for c in s:
        if is_mark(c):
            raise Text("", (fields[ord(c) - _FIRST][1],)).unknown()
    return s


def ends(a: Any, b: Any) -> tuple[Text, tuple[tuple[str, ...], tuple[str, ...]]] | None:
    """What two texts begin with, and the strings that may follow it in each; None if that is not all of them."""
    if not isinstance(a, (str, Text)) or not isinstance(b, (str, Text)):
        return None
    (x, y), n = map(_tokens, (a, b)), 0
    while n < min(len(x), len(y)) and all(p is q or (isinstance(p, str) and p == q) for p, q in zip(x[n], y[n])):
        n += 1
    rests = _choices(x[n:]), _choices(y[n:])
    if n == 0 or rests[0] is None or rests[1] is None:
        return None
    return _text(x[:n]), (rests[0], rests[1])


def end_of(t: Any, before: Text) -> Text | str:
    """What follows the beginning of a text: a string, or a choice of strings."""
    rest = _tokens(t)[len(_tokens(before)) :]
    options = _choices(rest)
    assert options is not None
    return Text(choice_field(options), _text(rest).operands) if len(options) > 1 else options[0]


def _tokens(t: Text | str) -> list[tuple[str, Arr | None]]:
    """The characters and fields of a text, one by one."""
    if isinstance(t, str):
        return [(escaped(c), None) for c in t]
    operands = iter(t.operands)
    parts = re.findall(r"\{\{|\}\}|\{[^{}]*\}|[^{}]", t.template, re.DOTALL)
    return [(c, next(operands) if len(c) > 2 or c == "{}" else None) for c in parts]


def _text(tokens: list[tuple[str, Arr | None]]) -> Text:
    return Text("".join(c for c, _ in tokens), tuple(o for _, o in tokens if o is not None))


def _choices(tokens: list[tuple[str, Arr | None]]) -> tuple[str, ...] | None:
    """The strings that a part of a text may be; None if more than one choice or a number is in it."""
    template = _text(tokens).template
    return choices_of(template) if any(operand is not None for _, operand in tokens) else (unescaped(template),)


_EXACT = 22  # digits to which a number is rounded as its text is (irad.frontend.python.round)
_ROUNDED = re.compile(r"\s*\{(?:!s)?(?::(?:[<>^][1-9]\d*|\d*)\.(\d+)f)?\}\s*")


def number_shown(t: Text) -> tuple[Arr, int | None] | None:
    """The number that a text shows and nothing else, and the digits after the point to which it is rounded (None: all of them)."""
    found = _ROUNDED.fullmatch(t.template)
    if found is None or len(t.operands) != 1 or t.operands[0].shape or t.operands[0].name not in ("f64", "i64"):
        return None
    digits = None if found[1] is None else int(found[1])
    return None if digits is not None and digits > _EXACT else (Arr(t.operands[0].value, True), digits)


_OF_TEXT = re.compile(r"(?:([^{}])?([<>^]))?([1-9]\d*)?s?")
_OF_NUMBER = re.compile(r"([-+ ]?#?)((?:\.\d+)?[a-zA-Z%]?)")


def padded(t: Text, spec: str) -> Text:
    """format(t, spec): the field of a single number gets the width. Raises NeedStatic where the length of the text decides."""
    options = choices_of(t.template)
    if options is not None:
        return Text(choice_field(format(o, spec) for o in options), t.operands)
    wanted = _OF_TEXT.fullmatch(spec)
    if wanted is not None and wanted[3] is None:
        return t
    s, fields = marked(t)
    if wanted is None or len(s) != 1 or len(fields) != 1:
        raise t.unknown()
    conversion, _, given = fields[0][0][1:-1].partition(":")
    own = _OF_NUMBER.fullmatch(given)
    if own is None:  # it has a width already
        raise t.unknown()
    fill, align, width = wanted.groups()
    return Text(f"{{{conversion}:{fill or ''}{align or '<'}{own[1]}{width}{own[2]}}}", (fields[0][1],))
