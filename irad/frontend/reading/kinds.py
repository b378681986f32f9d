"""What kinds of arguments a recursive function gets: two calls with arguments of the same kinds are calls of one graph."""

from __future__ import annotations

from types import MethodType
from typing import Any

import numpy as np

from irad.core.foreign import is_instance
from irad.core.tree import Attributes
from irad.core.types import dtype_name
from irad.frontend.control.merge import elements_of
from irad.frontend.control.templates import Ary, Composite, Grown, Num, Template, structure
from irad.frontend.reader import Reader
from irad.frontend.reading.recursive_changes import stays
from irad.frontend.values.arr import Arr
from irad.frontend.values.choices import OneOf
from irad.frontend.values.objects import Array, Choice, Nullable
from irad.frontend.values.runs import has_run

_CIRCLE = "circle"  # marks an object that is met inside itself
_PYTHON = {int: "i64", float: "f64", complex: "c128"}
_PLAIN = frozenset([int, float, complex, bool, str, type(None)])


def signature(r: Reader, names: dict[str, Any]) -> tuple[Any, ...]:
    """The types of arguments, Python numbers by value."""
    return tuple([(k, _kind(r, x, {})) for k, x in names.items()])


def generalised(t: Any) -> Any:
    """A signature with Python numbers by type, in containers too."""
    if not isinstance(t, tuple):
        return t
    if len(t) == 3 and t[0] == "value":
        return number_kind(t[1]) or t
    return tuple(map(generalised, t))


def _kind(r: Reader, x: Any, around: dict[int, int]) -> Any:
    """`around`: the objects that it is a part of, and how deep; one that is a part of itself is named by how far out it stands."""
    if type(x) in _PLAIN:
        return ("value", type(x), x)
    if isinstance(x, Array):
        return ("array", x.type)
    if isinstance(x, Arr):
        return ("number", x.name, x.weak)
    if isinstance(x, Nullable):
        return ("perhaps", _kind(r, x.value, around))
    if type(x) is Choice:
        return ("one of known", *((id(o.__self__), id(o.__func__)) if isinstance(o, MethodType) else id(o) for o in x.options))
    if type(x) is OneOf:
        return ("one of", tuple(map(id, x.options)))
    if has_run(x):
        return ("list", _kind_of(elements_of(x, None)))
    node = structure(x)
    if node is not None and not stays(r, x, node):
        depth = len(around)
        if (before := around.setdefault(id(x), depth)) != depth:
            return (_CIRCLE, depth - 1 - before)
        try:
            return (node[0], static_kind(node[1]), tuple([_kind(r, c, around) for c in node[2]]))
        finally:
            del around[id(x)]
    return ("value", type(x), x) if isinstance(x, (int, float, complex, str, type(None), np.generic)) else ("object", id(x))


def _kind_of(t: Template | None) -> Any:
    """The same of the elements of a list that stand in arrays."""
    if isinstance(t, Num):
        return ("number", t.dtype, t.weak)
    if isinstance(t, Ary):
        return ("array", t.type)
    if isinstance(t, Grown):
        return ("list", _kind_of(t.element))
    if isinstance(t, Composite):
        return (t.cls, static_kind(t.meta), tuple(map(_kind_of, t.kids)))
    return ("object", id(t))


def static_kind(meta: Any) -> Any:
    """The same of what is known of a container: an object that is a key by identity, as how it shows itself is the program's."""
    if isinstance(meta, tuple):
        return (type(meta).__name__, *map(static_kind, meta))
    return ("object", id(meta)) if is_instance(meta) and not isinstance(meta, Attributes) else str(meta)


def circular(kinds: Any) -> bool:
    """Is there an object among the arguments that is a part of itself? It has no template."""
    return isinstance(kinds, tuple) and (kinds[:1] == (_CIRCLE,) or any(map(circular, kinds)))


def number_kind(cls: type) -> tuple[str, str, bool] | None:
    """The kind of the numbers of a class: dtype, and whether they are Python's. None for what is no number of the graph."""
    name = dtype_name(cls) if issubclass(cls, np.generic) else _PYTHON.get(cls)
    return ("number", name, not issubclass(cls, np.generic)) if name else None
