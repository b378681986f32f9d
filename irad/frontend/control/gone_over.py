"""Python's containers as a loop goes over them, whose body may change them.

A list is read where a trip stands, so that a loop sees what its body stores, appends and takes out; a dict, set or deque whose size
changes meanwhile raises RuntimeError, as in Python. A loop that is kept as a loop goes over arrays of the elements; a list that its
body changes is read anew in each trip, and keeps its length.
"""

from __future__ import annotations

import collections
import collections.abc
import gc
from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.foreign import base_items, base_method
from irad.core.ir import current
from irad.core.types import Dim
from irad.errors import UnsupportedError
from irad.frontend.control.lists import at, whole
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Array, StructureError, in_scope
from irad.frontend.values.runs import Run, has_run, length_of
from irad.ops.elementwise import cast_to

LENGTH = (
    "the list that this loop goes over gets longer or shorter in it, depending on data or in a loop that is too long to be written "
    "out; go over a copy (for v in list(xs)), or use a while loop with a position"
)


class Listed:
    """A list or tuple that is gone over: its elements now."""

    def __init__(self, r: Reader, xs: Any):
        self.r, self.xs = r, xs
        self.item = base_method(xs, "__getitem__")  # whatever the class of a list makes of it
        self.length = tuple.__len__(xs) if isinstance(xs, tuple) else length_of(xs)
        self.made: tuple[Run, Any] | None = None  # its elements in arrays, and the builder in which they were put there
        self.items: list[Any] = []  # what it held then

    def more(self, k: int) -> bool:
        """Is there an element at a position?"""
        n = self.length if isinstance(self.xs, tuple) else length_of(self.xs)
        if isinstance(n, int):
            return k < n
        raise StructureError(LENGTH)

    def get(self, k: Any) -> Any:
        """The element at a position, static or traced, that is there."""
        if not isinstance(k, Arr) and not has_run(self.xs):
            return self.item(k)
        self.prepare()
        assert self.made is not None
        return at(self.r, self.made[0], k.value if isinstance(k, Arr) else k)

    def prepare(self) -> None:
        """Positions will be traced: put the elements into arrays now, outside of the loop."""
        held = list(base_items(self.xs))
        changed = len(self.items) != len(held) or any(x is not y for x, y in zip(self.items, held))
        if self.made is None or changed or not in_scope(self.made[1]):
            self.items = held
            self.made = whole(self.r, self.items), current()

    @property
    def now(self) -> Dim:
        """How long it is."""
        return self.length if isinstance(self.xs, tuple) else length_of(self.xs)


_FAR = 2**62  # what a whole number stays below
_FEW = 16  # items of a list, up to which a loop over it is written out
_SMALL = 64  # elements of an array that is copied into a table


def alike(items: Any) -> bool:
    """Are they many, and numbers or small arrays, or tuples of those, of one type?"""
    if len(items) <= _FEW:
        return False
    first = _kind(items[0])
    return first is not None and all(_kind(x) == first for x in items)


def _kind(x: Any) -> Any:
    """What must be the same of all items that are put into arrays; None if they cannot be."""
    if isinstance(x, Arr):
        return x.type, x.weak, x.mixed
    if isinstance(x, Array):
        return x.type if x.type.static and x.type.size <= _SMALL else None
    if type(x) in (float, int, complex) or type(x).__module__ == "numpy":
        return type(x)
    if type(x) is tuple and x:
        kinds = tuple(map(_kind, x))
        return None if None in kinds else kinds
    return None


# ---- dicts, sets, deques -------------------------------------------------------------------------------------------------


class Unordered:
    """A dict, view of a dict, set or deque that is gone over: RuntimeError once its size has changed."""

    def __init__(self, obj: Any):
        self.obj = obj
        self.keys = _keys(obj)
        self.get, self.words = _ways(obj)

    def more(self, k: int) -> bool:
        """Is there an element at a position?"""
        now = _keys(self.obj)
        if len(now) != len(self.keys) or (self.words.startswith("Ordered") and now != self.keys):
            raise RuntimeError(self.words)
        if isinstance(self.obj, collections.deque):
            self._still(now)
        elif now != self.keys and not isinstance(self.obj, (set, frozenset)):
            raise UnsupportedError("a dict gets other keys while a loop goes over it; go over a copy (for k in list(d))")
        return k < len(now)

    def _still(self, now: list[Any]) -> None:
        """Elements of a deque may be replaced, and not move."""
        old = {id(x): k for k, x in enumerate(self.keys)}
        if any(x is not y and old.get(id(x), k) != k for k, (x, y) in enumerate(zip(now, self.keys))):
            raise RuntimeError(self.words)


_VIEWS: Any = (type({}.keys()), type({}.values()), type({}.items()))


def _keys(obj: Any) -> list[Any]:
    """The keys or elements, whatever `__iter__` their class has."""
    return list(base_items(_dict_of(obj) if isinstance(obj, _VIEWS) else obj))


def _dict_of(view: Any) -> Any:
    """The dict that a view shows, behind its read-only proxy."""
    return gc.get_referents(view.mapping)[0]


def _ways(obj: Any) -> tuple[Callable[[int], Any], str]:
    """How the element at a position is read, and what Python says when the size changes."""
    if isinstance(obj, collections.deque):
        return base_method(obj, "__getitem__"), "deque mutated during iteration"
    keys = _keys(obj)
    ordered = type(obj).__name__.startswith("odict") or isinstance(obj, collections.OrderedDict)
    words = "OrderedDict mutated during iteration" if ordered else "dictionary changed size during iteration"
    if isinstance(obj, type({}.values())):
        shown = _dict_of(obj)
        return (lambda k: dict.__getitem__(shown, keys[k])), words
    if isinstance(obj, type({}.items())):
        shown = _dict_of(obj)
        return (lambda k: (keys[k], dict.__getitem__(shown, keys[k]))), words
    return keys.__getitem__, "Set changed size during iteration" if isinstance(obj, (set, frozenset)) else words


def unordered(obj: Any) -> bool:
    """Is it one of them?"""
    return isinstance(obj, (dict, set, frozenset, collections.deque, *_VIEWS))


# ---- arrays --------------------------------------------------------------------------------------------------------------


def in_progression(r: Reader, x: Array, i: Any) -> Arr | None:
    """The element at a traced position of whole numbers that are known and equally far apart (np.arange): computed, not read, so that
    what is known of the position is known of it. None for other arrays."""
    held = r.operand(x) if isinstance(i, Arr) and len(x.shape) == 1 and x.type.dtype[0] in "iu" else None
    if not isinstance(held, np.ndarray) or len(held) < 2:
        return None
    first, step = int(held[0]), int(held[1]) - int(held[0])
    if not step or abs(first) + abs(step) * len(held) > _FAR or not np.array_equal(held, first + step * np.arange(len(held))):
        return None
    return Arr(cast_to(i.value * step + first, x.type.dtype))
