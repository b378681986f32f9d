"""str.format and the operator %, of templates and values with traced numbers in them."""

from __future__ import annotations

import re
import string
from _string import formatter_field_name_split  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from irad.errors import IradTypeError, PythonTypeError, UnsupportedError
from irad.frontend.python.text_pieces import Fields, characters, is_mark, marked, together, unmarked
from irad.frontend.python.texts import native, shown
from irad.frontend.reader import Reader
from irad.frontend.values.objects import Array, Text, describe, is_traced_deep

Characters = Text | str

# ---- str.format -----------------------------------------------------------------------------------------------------


def formatted(r: Reader, template: Characters, args: list[Any], kwargs: Mapping[str, Any]) -> Characters:
    """template.format(*args, **kwargs). Fields have attributes, items, conversions and formats, which may hold fields."""
    s, fields = marked(template)
    numbers = _numbers()

    def run(s: str, depth: int) -> Characters:
        if depth < 0:
            raise ValueError("Max string recursion exceeded")
        out: list[Characters] = []
        for literal, name, spec, conversion in string.Formatter().parse(s):
            out.append(unmarked(literal, fields))
            if name is not None:
                value = _named(r, numbers(characters(name, fields)), args, kwargs)
                given = run(spec or "", depth - 1)
                out.append(shown(r, value, conversion or "", characters(*marked(given))))
        return together(out)

    return run(s, 2)


def _numbers() -> Callable[[str], str]:
    """Names of fields, those without one numbered."""
    kinds: set[bool] = set()
    count = iter(range(1 << 30))

    def number(name: str) -> str:
        first = re.split(r"[.\[]", name, maxsplit=1)[0]
        if first == "" or first.isdigit():
            kinds.add(first == "")
        if len(kinds) == 2:
            raise ValueError("cannot switch from automatic field numbering to manual field specification")
        return f"{next(count)}{name}" if first == "" else name

    return number


def _named(r: Reader, name: str, args: list[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a field of a format names."""
    first, rest = formatter_field_name_split(name)
    if isinstance(first, int):
        if first >= len(args):
            raise IndexError(f"Replacement index {first} out of range for positional args tuple")
        value = args[first]
    else:
        value = kwargs[first]
    for attribute, key in rest:
        value = r.getattr(value, key) if attribute else r.getitem(value, key)
    return value


# ---- the operator % -------------------------------------------------------------------------------------------------

_DIRECTIVE = re.compile(r"%(?:\(([^()]*)\))?([-+ 0#]*)(\*|\d+)?(?:(\.)(\*|\d*))?[hlL]?(.)?", re.DOTALL)
_KINDS = "diouxXeEfFgGcrsa"


def percent_formatted(r: Reader, template: Characters, given: Any) -> Characters:
    """template % given."""
    s, fields = marked(template)
    args = iter(given if isinstance(given, tuple) else (given,))
    out: list[Characters] = []
    at = 0
    for m in _DIRECTIVE.finditer(s):
        out.append(unmarked(s[at : m.start()], fields))
        at = m.end()
        out.append(_directive(r, m, args, given, fields))
    rest = isinstance(given, (tuple, str, Text)) or not (hasattr(given, "__getitem__") or isinstance(given, Array))
    if rest and next(args, args) is not args and not isinstance(given, Mapping):
        raise TypeError("not all arguments converted during string formatting")
    return together([*out, unmarked(s[at:], fields)])


def _directive(r: Reader, m: re.Match[str], args: Iterator[Any], given: Any, fields: Fields) -> Characters:
    """One directive of a format."""
    key, flags, width, dot, precision, kind = m.groups()
    if kind is None:
        raise ValueError("incomplete format")
    if is_mark(kind):
        characters(kind, fields)
    if kind == "%":
        return "%"
    if kind not in _KINDS:
        raise ValueError(f"unsupported format character '{kind}' ({ord(kind):#x}) at index {m.end() - 1}")
    if key is not None and not isinstance(given, Mapping):
        raise TypeError("format requires a mapping")
    width, precision = (_star(args) if n == "*" else n for n in (width, precision))
    if isinstance(width, str) and width.startswith("-"):
        flags, width = flags + "-", width[1:]
    x = r.getitem(given, characters(key, fields)) if key is not None else _next(args)
    plain = f"%{flags}{width or ''}{dot or ''}{precision or ''}{kind}"
    if kind in "sra":
        return _as_text(r, x, (flags, width, dot and (precision or "0"), kind))
    if not is_traced_deep(x):
        return str(plain % native(r, x))
    return _number(r, x, plain, (flags, width, dot and (precision or "0"), kind))


def _next(args: Iterator[Any]) -> Any:
    for x in args:
        return x
    raise TypeError("not enough arguments for format string")


def _star(args: Iterator[Any]) -> str:
    n = _next(args)
    if not isinstance(n, int):
        raise IradTypeError(f"* wants int, got {describe(n)}")
    return str(n)


Parts = tuple[str, Any, Any, str]  # flags, width, precision and kind


def _as_text(r: Reader, x: Any, parts: Parts) -> Characters:
    flags, width, precision, kind = parts
    text = shown(r, x, kind, "")
    if isinstance(text, str):
        return f"%{flags}{width or ''}{'' if precision is None else '.' + precision}s" % text
    if precision is not None:
        raise text.unknown()
    return shown(r, text, "", (f"{'<' if '-' in flags else '>'}{width}" if width else ""))


def _number(r: Reader, x: Any, plain: str, parts: Parts) -> Characters:
    flags, width, precision, kind = parts
    if isinstance(x, Text):
        raise PythonTypeError(f"%{kind} format: a real number is required, not str")
    if kind in "diu":
        x, kind = r.call(int, [x]), "d"
    elif kind in "eEfFgG":
        x = r.call(float, [x])
    if kind in "diuoxXc" and (precision is not None or "#" in flags or kind == "c"):
        raise UnsupportedError(f"{plain} with traced numbers; write an f-string")
    align = "<" if "-" in flags else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    zero = "0" if "0" in flags and "-" not in flags else ""
    alternate = "#" if "#" in flags else ""
    return shown(r, x, "", f"{align}{sign}{alternate}{zero}{width or ''}{'' if precision is None else '.' + precision}{kind}")


# ---- methods of text ------------------------------------------------------------------------------------------------


def _join(r: Reader, separator: Characters, args: list[Any], kwargs: dict[str, Any]) -> Characters:
    """separator.join(texts)."""
    texts: list[Characters] = []
    for k, x in enumerate(r.items(args[0])):
        if not isinstance(x, (str, Text)):
            raise PythonTypeError(f"sequence item {k}: expected str instance, {describe(x)} found")
        texts += [separator, x] if k else [x]
    return together(texts)


def _justified(align: str) -> Callable[..., Characters]:
    def justify(r: Reader, text: Characters, args: list[Any], kwargs: dict[str, Any]) -> Characters:
        width, *fill = args
        if not isinstance(width, int) or not all(isinstance(c, str) and c not in "{}" for c in fill):
            raise UnsupportedError("the width and fill of text with traced numbers must be known at compile time")
        return shown(r, text, "", f"{''.join(fill)}{align}{width}" if width > 0 else "")

    return justify


TEXT_METHODS: dict[str, Callable[..., Characters]] = {
    "format": formatted, "join": _join, "ljust": _justified("<"), "rjust": _justified(">"), "center": _justified("^"),
}  # fmt: skip
"""Methods of strings that make text of traced numbers, keyed by name."""
