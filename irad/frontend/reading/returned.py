"""What a call gives and assigns, as trees over results: the result of the function, and what it puts outside. What may be in it beside
numbers and arrays is what Python would give again at the next call."""

from __future__ import annotations

import collections
import enum
import functools
import numbers
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from irad.core.foreign import CODE, is_library, is_value, with_article
from irad.core.lazy_dataclass import dataclass
from irad.core.once import import_later
from irad.core.structured import Structured
from irad.core.tree import LEAF, Fields, TreeDef, attributes, parts, register, static_part
from irad.errors import UnsupportedError
from irad.frontend.control.lists import with_items
from irad.frontend.control.sequences import Generator, Seq, Stream
from irad.frontend.reader import Reader
from irad.frontend.transforms.custom import Special
from irad.frontend.transforms.transform import Transform
from irad.frontend.values.arr import Arr
from irad.frontend.values.callables import Callback, Native
from irad.frontend.values.choices import number_of, on_paths, options
from irad.frontend.values.guards import Fixed, Path
from irad.frontend.values.objects import (
    Array,
    Choice,
    Closure,
    Method,
    Nullable,
    Poison,
    Stand,
    Text,
    Varying,
    describe,
    holds_traced,
    is_number,
    is_traced_deep,
)
from irad.frontend.values.traced import Result
from irad.frontend.values.unfit import UNFIT

_HEAP_TYPE = 1 << 9
_FUNCTIONS = (Closure, Method, Native, Callback, Special)
_MADE_OF_FUNCTIONS = (types.MethodType, functools.partial, Transform)


@dataclass(frozen=True, eq=False)
class Perhaps:
    """A part of a result that is `value`, or `other` (None, or a number) where the bool `there` does not hold."""

    there: Any
    value: Any
    other: Any = None


@dataclass(frozen=True, eq=False)
class Chosen:
    """A part of a result that is one of some strings or known things: the one of a number."""

    options: tuple[Any, ...]
    at: Any


register(Chosen, lambda x: ((x.at,), x.options), lambda options, given: options[given[0]])
register(Perhaps, lambda x: ((x.there, x.value, x.other), None), lambda _, given: given[1] if given[0] else given[2])


def check_returned(r: Reader, statics: list[Any]) -> None:
    """Raises UnsupportedError for a part of a result that stands for something while a function is read, and only then."""
    for x in statics:
        if isinstance(x, np.ndarray) and r.captures.path(x) is None:
            x.flags.writeable = False  # of times or texts: all calls return this one
        what = _unreturnable(r, x)
        if what:
            raise UnsupportedError(
                f"{what} cannot be returned from compiled code: return the numbers and arrays that it is made of, in tuples, "
                "lists, dicts, dataclasses, or a class given to irad.register_type"
            )


def _unreturnable(r: Reader, x: Any) -> str:
    """A name of x if the caller could not use it, else ""."""
    if isinstance(x, (Seq, Generator, Stream, Iterator)):
        return "an iterator"
    if isinstance(x, slice):
        return "a slice that depends on data" if is_traced_deep(x) else ""
    if isinstance(x, Stand):
        return with_article(x.cls.__name__)
    if isinstance(x, _FUNCTIONS) or (isinstance(x, types.FunctionType) and id(x) in r.closures):
        return "a function made in compiled code"
    if isinstance(x, type) and id(x) in r.closures:
        return f"the class {x.__name__}, which is defined in compiled code,"
    if r.captures.path(x) is not None or isinstance(x, (type, enum.Enum, np.dtype, numbers.Number)):
        return ""
    if isinstance(x, _MADE_OF_FUNCTIONS):
        return "a function made in compiled code"
    cls = type(x)
    if cls.__flags__ & _HEAP_TYPE and (not is_library(cls.__module__) or holds_traced(x)):
        return f"an object of class {cls.__name__} made in compiled code"
    return ""


_STANDS = (Array, *UNFIT)  # what a result, or an error, is made of
_Node = tuple[type, Any, tuple[Any, ...]]


class Outcome:
    """Makes trees of what a call gives and assigns. `result` makes a result of a number or array, `own` says
    where a structured array of the caller's is found. With `objects` a thing that the program
    has made, and that stands in several places, is one thing (`made`), and what is the caller's is itself; all that is
    given and assigned is to be met (`meet`) before the first of it is taken (`take`)."""

    def __init__(
        self, r: Reader, result: Callable[[Any], Result], own: Callable[[Structured], Path | None], objects: bool, rows: bool
    ):
        self.r, self._result, self._own, self.objects, self.rows = r, result, own, objects, rows
        self.made: list[tuple[TreeDef, tuple[Result, ...]]] = []
        self._forms: dict[int, tuple[Any, Any]] = {}  # by the id of a thing: itself, and the form in which the caller gets it
        self._nodes: dict[int, tuple[Any, _Node | None]] = {}  # the same, and what it is made of
        self._times: dict[int, int] = {}  # how often a thing stands somewhere
        self._numbers: dict[int, int] = {}  # which of those that are made it is

    def meet(self, x: Any) -> Any:
        """Count what x is made of. Gives the form of x that is to be taken."""
        x = with_items(self.r, x, self.rows, self._stays, self._forms)
        if self.objects:
            self._count(x)
        return x

    def take(self, x: Any, name: str = "") -> tuple[TreeDef, tuple[Result, ...]]:
        """The structure of what has been met, and what is in it. `name`: what is assigned outside of the function, for errors."""
        results: list[Result] = []
        return self._tree(x, results, name), tuple(results)

    def _stays(self, x: Any) -> bool:
        return self.objects and self.path(x) is not None

    def path(self, x: Any) -> Path | None:
        """Where something of the caller's is found, which is to stay itself: a container, an object, a function."""
        captures = self.r.captures
        if (
            is_value(x)
            or isinstance(x, _STANDS)
            or (isinstance(x, tuple) and captures.path(x) is None)
            or id(x) in self.r.closures
        ):
            return None
        if isinstance(x, Structured):
            return self._own(x)
        found = captures.of_caller(x) or captures.path(x)
        return None if found is None or (isinstance(found.root, Fixed) and not found.steps and isinstance(x, CODE)) else found

    def _count(self, x: Any) -> None:
        times = self._times[id(x)] = self._times.get(id(x), 0) + 1
        node = self._node(x)
        if node is not None and times == 1:
            for child in node[2]:
                self._count(child)

    def _node(self, x: Any) -> _Node | None:
        if id(x) not in self._nodes:
            self._nodes[id(x)] = x, self._parts(x)
        return self._nodes[id(x)][1]

    def _parts(self, x: Any) -> _Node | None:
        if self._stays(x):
            return None
        x = self._chosen(x)
        if is_number(x) or isinstance(x, _STANDS):
            return None
        found = parts(x) or (attributes(x) if self.r.is_opened(x) or isinstance(x, collections.deque) else None)
        if found is None:
            return None
        if id(found[0]) in self.r.closures:
            import_later("irad.frontend.reading.local_classes").complete(self.r, found[0])
        cls, meta, children = found
        if isinstance(meta, Fields):
            return cls, meta.with_values, (*children, *(s.value for s in meta.values))
        return cls, meta, tuple(children)

    def _chosen(self, x: Any) -> Any:
        """What may be None, or is chosen by data, in the form that says so."""
        if isinstance(x, Nullable):
            inner = with_items(self.r, x.value, False, self._stays, self._forms)
            return Perhaps(x.there, inner, x.other if isinstance(x, Varying) else None)
        if isinstance(x, Arr) and x.by is not None and self.objects:
            return Perhaps(Arr(x.by[0], True), *on_paths(x))
        found = options(x) if isinstance(x, (Choice, Text)) else None
        if found is None:
            return x
        if type(found[0]) is not str and any(map(is_traced_deep, found)):
            return self._of_several(found, number_of(x))
        check_returned(self.r, list(found))
        return Chosen(found, number_of(x))

    def _of_several(self, found: Sequence[Any], at: Arr) -> Any:
        """One of several things that hold numbers."""
        *first, out = [with_items(self.r, o, False, self._stays, self._forms) for o in found]
        for k in reversed(range(len(first))):
            out = Perhaps(self.r.operator("eq", at, k), first[k], out)
        return out

    def _tree(self, x: Any, results: list[Result], name: str) -> TreeDef:
        node = self._node(x)
        if node is None:
            return self._leaf(x, results, name)
        if self._times.get(id(x), 1) == 1:
            return self._opened(node, results, name)
        if id(x) not in self._numbers:
            inside: list[Result] = []
            tree = self._opened(node, inside, name)
            self._numbers[id(x)] = len(self.made)
            self.made.append((tree, tuple(inside)))
        results.append(Result("ndarray", same_as=("made", self._numbers[id(x)])))
        return LEAF

    def _opened(self, node: _Node, results: list[Result], name: str) -> TreeDef:
        cls, meta, children = node
        return TreeDef(cls, meta, tuple(self._tree(c, results, name) for c in children))

    def _leaf(self, x: Any, results: list[Result], name: str) -> TreeDef:
        path = self.path(x) if self.objects else None
        if path is not None:
            results.append(Result("ndarray", same_as=("path", path)))
            return LEAF
        if name and isinstance(x, UNFIT):
            why = (
                f"what it becomes depends on data in its structure: {x.message}"
                if isinstance(x, Poison)
                else f"a part of it is {describe(x)}"
            )
            raise UnsupportedError(f"{name}, outside of the function, cannot be assigned: {why}")
        if is_number(x) or isinstance(x, _STANDS):
            results.append(self._result(x))
            return LEAF
        check_returned(self.r, [x])
        return static_part(x)
