"""Lists that a compiled function returns and whose elements stand in arrays, and dicts of such lists: made when the call returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from irad.core.lazy_dataclass import dataclass
from irad.core.tree import rebuild, register


class Rows:
    """A list or tuple to be, by `cls`: `columns`, one array for each number or array of an element, and `form`, how an element is made of them.

    A form is "python" or "numpy" for a number, "array", `Options`, or (class, static part, forms of its parts).
    """

    __slots__ = ("form", "columns", "cls")

    def __init__(self, form: Any, columns: Sequence[Any], cls: type = list):
        self.form, self.columns, self.cls = form, list(columns), cls


@dataclass(frozen=True)
class Options:
    """The form of what is one of some things, by its number in a column."""

    things: tuple[Any, ...]


def _listed(static: tuple[Any, type], columns: Sequence[Any]) -> Any:
    """The list, once the columns are there."""
    form, cls = static
    if not all(isinstance(c, np.ndarray) for c in columns):
        return Rows(form, columns, cls)
    found = _elements(form, iter(columns))
    return found if cls is list else cls(found)


def _elements(form: Any, columns: Iterator[np.ndarray]) -> list[Any]:
    if isinstance(form, str):
        column = next(columns)
        return column.tolist() if form == "python" else [np.asarray(x) for x in column] if form == "array" else list(column)
    if isinstance(form, Options):
        return [form.things[k] for k in next(columns)]
    cls, meta, parts = form
    return [rebuild(cls, meta, list(row)) for row in zip(*(_elements(p, columns) for p in parts))]


class Mapped:
    """A dict or set to be: its class and what that takes to make an empty one; its keys, and the values of a dict, in lists.

    Of a dict of containers, the class of those and what it takes (`inner`); and in the lists the number of each container, what is in all of them
    (elements or keys), the number of the container of each, and the values of those that are dicts.
    """

    __slots__ = ("made", "inner", "lists")

    def __init__(self, made: tuple[Any, ...], inner: tuple[Any, ...] | None, lists: Sequence[Any]):
        self.made, self.inner, self.lists = made, inner, list(lists)


def _mapped(static: tuple[Any, Any], lists: Sequence[Any]) -> Any:
    """The dict or set, once its keys are there."""
    made, inner = static
    if not all(type(x) is list for x in lists):
        return Mapped(made, inner, lists)
    if made[0] is list:
        return list(_containers(inner, lists))  # type: ignore[arg-type]
    new = made[0](*made[1:])
    if len(lists) == 1:
        new.update(lists[0])
    else:
        new.update(dict(zip(lists[0], lists[1] if inner is None else _containers(inner, lists[1:]))))
    return new


def _containers(inner: tuple[Any, ...], lists: Sequence[Any]) -> list[Any]:
    """The containers that are values of a dict."""
    numbers, elements, owners, values = lists
    found: dict[int, list[Any]] = {}
    for k, owner in enumerate(owners):
        found.setdefault(owner, []).append(k)
    made: dict[int, Any] = {}
    for number in dict.fromkeys(numbers):
        places, new = found.get(number, []), inner[0](*inner[1:])
        if isinstance(new, dict):
            new.update({elements[k]: values[k] for k in places})
        else:
            (new.extend if isinstance(new, list) else new.update)([elements[k] for k in places])
        made[number] = new
    return [made[number] for number in numbers]


register(Mapped, lambda x: (x.lists, (x.made, x.inner)), _mapped)
register(Rows, lambda x: (x.columns, (x.form, x.cls)), _listed)


class Objects:
    """An array of dtype object to be: its elements, in C order, and its shape."""

    __slots__ = ("elements", "shape")

    def __init__(self, elements: Sequence[Any], shape: tuple[int, ...]):
        self.elements, self.shape = list(elements), shape


_ELEMENTS = (np.ndarray, np.generic, int, float, complex, str, list, tuple, dict, type(None))


def _of_objects(shape: tuple[int, ...], elements: Sequence[Any]) -> Any:
    """The array, once the elements are there."""
    if not all(isinstance(x, _ELEMENTS) for x in elements):
        return Objects(elements, shape)
    out = np.empty(len(elements), object)
    for k, x in enumerate(elements):
        out[k] = x
    return out.reshape(shape)


register(Objects, lambda x: (x.elements, x.shape), _of_objects)
