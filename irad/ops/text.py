"""Messages and printed text: templates as `str.format` knows them, filled with numbers of the program."""

from __future__ import annotations

import ast
import datetime
import re
import string
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from irad.core.lazy_dataclass import dataclass
from irad.core.types import DTYPES

PARTS = "\x1f"  # between the texts of an exception's arguments
MOST = 32  # numbers in a message, two for a complex one
PAIR = "j"  # the name of a field that takes two values, the parts of complex numbers


def filled(template: str, values: Iterable[Any]) -> str:
    """The template with one value for each of its fields, in order, two for a field named `PAIR`. Conversions and formats hold."""
    return _Filler(map(_plain, values)).format(template)


def with_fields(template: str, change: Callable[[str], str]) -> str:
    """The template with change(field) for each field, braces included, in order."""
    return re.sub(r"\{\{|\}\}|\{[^{}]*\}", lambda m: m.group() if m.group() in ("{{", "}}") else change(m.group()), template)


def from_record(word: int, dtype: str) -> Any:
    """A number of an error record: the bits of a double for floats, else an integer."""
    if dtype[0] == "f":
        return DTYPES[dtype].type(struct.unpack("d", struct.pack("q", word))[0])
    return bool(word) if dtype == "bool" else word % (1 << 64) if dtype == "u64" else word


@dataclass(frozen=True)
class Slot:
    """An argument of an exception that the program computes: a number of a class, a tuple of ints, or text (`kind` None) with so many
    numbers."""

    kind: type[Any] | None
    template: str
    operands: int

    def made(self, text: str) -> Any:
        """The argument of which `text` is the filled template."""
        if self.kind is None:
            return text
        if self.kind is tuple:
            return ast.literal_eval(text)
        return self.kind(text == "True") if issubclass(self.kind, (bool, np.bool_)) else self.kind(text)


_NEXT, _OPEN, _CLOSE = "\x1e", "\x02", "\x03"  # before each string of a choice; braces in them


def choice_field(options: Iterable[str]) -> str:
    """A field that shows one of the strings: that of the number given for it."""
    return "{:" + "".join(_NEXT + o.replace("{", _OPEN).replace("}", _CLOSE) for o in options) + "}"


def escaped(text: str) -> str:
    """A string as a template."""
    return text.replace("{", "{{").replace("}", "}}")


def unescaped(template: str) -> str:
    """What a template without fields stands for."""
    return template.replace("{{", "{").replace("}}", "}")


def choices_of(template: str) -> tuple[str, ...] | None:
    """The strings of a template that has such a field, and nothing else that is not known; None for any other."""
    found = re.fullmatch(r"((?:[^{}]|\{\{|\}\})*)\{:(\x1e[^{}]*)\}((?:[^{}]|\{\{|\}\})*)", template)
    if found is None:
        return None
    before, after = unescaped(found[1]), unescaped(found[3])
    return tuple(before + o + after for o in _choices(found[2]))


def _choices(spec: str) -> tuple[str, ...]:
    return tuple(o.replace(_OPEN, "{").replace(_CLOSE, "}") for o in spec[1:].split(_NEXT))


_MOMENT = "\x1d"  # before how a time is shown


def moment_field(how: str) -> str:
    """A field that shows a time of so many microseconds: "at" and a format, "iso" with a separator and what it ends with, "passed"."""
    return "{:" + _MOMENT + how.replace("{", _OPEN).replace("}", _CLOSE) + "}"


def moment(at: Any) -> datetime.datetime:
    """The local time so many microseconds after 1970."""
    seconds, rest = divmod(int(at), 10**6)
    return datetime.datetime.fromtimestamp(seconds).replace(microsecond=rest)


def _of_moment(at: Any, how: str) -> str:
    how = how.replace(_OPEN, "{").replace(_CLOSE, "}")
    if how == "passed":
        return str(datetime.timedelta(microseconds=int(at)))
    if how.startswith("iso"):
        return moment(at).isoformat(how[3], how[4:])
    return moment(at).strftime(how[2:])


_CLASS = "\x1c"  # before the format of a number whose class the imaginary part of a complex number says
CLASSES = (float, int, bool)


def class_field(spec: str) -> str:
    """A field that shows the real part of a complex number as one of `CLASSES`, which its imaginary part numbers."""
    return "{:" + _CLASS + spec + "}"


def shows_class(field: str) -> bool:
    """Is it such a field, perhaps with the name `PAIR`?"""
    return field.partition(":")[2][:1] == _CLASS


class _Filler(string.Formatter):
    def __init__(self, values: Iterator[Any]):
        self.values = values

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        x = next(self.values)
        if key != PAIR:
            return x
        z = np.empty(np.shape(x), "c8" if getattr(x, "dtype", None) == np.float32 else "c16")
        z.real, z.imag = x, next(self.values)
        return _plain(z)

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec[:1] == _MOMENT:
            return _of_moment(value, format_spec[1:])
        if format_spec[:1] == _CLASS:
            value, format_spec = CLASSES[int(value.imag)](value.real), format_spec[1:]
        return _choices(format_spec)[int(value)] if format_spec[:1] == _NEXT else str(format(value, format_spec))


def _plain(x: Any) -> Any:
    """A number as Python shows it; float32 as NumPy does, whose text is shorter."""
    x = x[()] if hasattr(x, "shape") else x
    return x.item() if isinstance(x, (np.bool_, np.integer, np.float64, np.complex128)) else x
