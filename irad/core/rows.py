"""Lists that a compiled function returns and whose elements stand in arrays, and dicts of such lists: made when the call returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from irad.core.tree import rebuild, register


class Rows:
    """A list to be: `columns`, one array for each number or array of an element, and `form`, how an element is made of them.

    A form is "python" or "numpy" for a number, "array", or (class, static part, forms of its parts).
    """

    __slots__ = ("form", "columns")

    def __init__(self, form: Any, columns: Sequence[Any]):
        self.form, self.columns = form, list(columns)


def _listed(form: Any, columns: Sequence[Any]) -> Any:
    """The list, once the columns are there."""
    if not all(isinstance(c, np.ndarray) for c in columns):
        return Rows(form, columns)
    return _elements(form, iter(columns))


def _elements(form: Any, columns: Iterator[np.ndarray]) -> list[Any]:
    if isinstance(form, str):
        column = next(columns)
        return column.tolist() if form == "python" else [np.asarray(x) for x in column] if form == "array" else list(column)
    cls, meta, parts = form
    return [rebuild(cls, meta, list(row)) for row in zip(*(_elements(p, columns) for p in parts))]


class Mapped:
    """A dict or set to be: its class and what that takes to make an empty one; its keys, and the values of a dict, in lists."""

    __slots__ = ("made", "lists")

    def __init__(self, made: tuple[Any, ...], lists: Sequence[Any]):
        self.made, self.lists = made, list(lists)


def _mapped(made: tuple[Any, ...], lists: Sequence[Any]) -> Any:
    """The dict or set, once its keys are there."""
    if not all(type(x) is list for x in lists):
        return Mapped(made, lists)
    new = made[0](*made[1:])
    new.update(dict(zip(*lists)) if len(lists) == 2 else lists[0])
    return new


register(Mapped, lambda x: (x.lists, x.made), _mapped)
register(Rows, lambda x: (x.columns, x.form), _listed)
