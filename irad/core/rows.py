"""Lists that a compiled function returns and whose elements stand in arrays: the list is made when the call returns."""

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


register(Rows, lambda x: (x.columns, x.form), _listed)
