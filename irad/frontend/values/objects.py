"""What the user's variables hold while a function is read: Python objects, traced scalars (`Arr`) and mutable arrays.

A traced number is an immutable `Arr` of rank 0 (weak: a Python number). An array is a mutable `Array`: a storage `Cell`,
whose content is an SSA value or a NumPy array not yet turned into one, seen through `steps` (slices, reshapes,
transposes). So a store through a view changes its base, and every other view of it.
"""

from __future__ import annotations

import collections
import itertools
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.foreign import base_items, describe_class, found_in_class, held, is_instance, own_attributes, with_article
from irad.core.ir import Builder, Value, current
from irad.core.lazy_dataclass import dataclass, field
from irad.core.structured import Bytes, Structured
from irad.core.types import Dim, Type, type_of
from irad.errors import UnsupportedError
from irad.frontend.values.arr import PYTHON, Arr, NeedStatic
from irad.frontend.values.layout import c_strides, is_c
from irad.frontend.values.runs import Run, of_a_loop
from irad.frontend.values.steps import Step, Stopped


class StructureError(UnsupportedError):
    """Something that a loop kept as a loop cannot express, but that may work if its trips are written out."""


class AliasError(StructureError):
    """It is not known which array a variable holds: a loop around, or before, did not follow that."""


CLOCK = itertools.count(2)  # when things that can change were made: 0 is before the program, 1 among its arguments


class Cell:
    """Storage of one array. `content` is never changed in place, except a NumPy array by the log that owns it."""

    __slots__ = ("content", "born", "name", "owner", "outside", "written", "given", "stamp", "parts")

    def __init__(self, content: Value | np.ndarray, name: str = "", outside: bool = False, parts: tuple[Cell, ...] | None = ()):
        self.content = content
        self.born: Builder | None = None if outside else _builder()  # what the caller knows was there before any region
        self.name = name
        self.owner: Any = None  # the log in which a concrete content may be changed in place
        self.outside = outside  # an argument or captured array: the caller knows it too
        self.written = False
        self.given = content  # at first
        self.stamp = 0 if outside else next(CLOCK)
        self.parts = parts  # storage that it may be, known to nobody else; None: others may know this one


def _builder() -> Builder | None:
    try:
        return current()
    except AssertionError:
        return None


def in_scope(b: Builder | None) -> bool:
    """Is the builder the current one or around it, so that values made in it may be read here?"""
    at: Builder | None = current()
    while at is not None:
        if at is b:
            return True
        at = at.outer
    return b is None


# ---- arrays ---------------------------------------------------------------------------------------------------


class Array:
    """A NumPy array object of the user's program: storage seen through steps.

    `strides` (in elements, as NumPy would have them) tell views from copies in `reshape`; None where they are unknown, or
    for whole C-ordered storage of run-time extents, which is not `loose`.
    `frozen` says why it cannot be written (a read-only view, an alias that is not tracked). `watch`: storage that it may
    share, with the content then; once one has changed, this array's content is not known any more.
    """

    __slots__ = ("cell", "steps", "type", "strides", "loose", "frozen", "watch", "_memo")

    def __init__(
        self,
        cell: Cell,
        steps: tuple[Step, ...] = (),
        type: Type | None = None,
        strides: tuple[int, ...] | None = None,
        frozen: str = "",
    ):
        self.cell, self.steps = cell, steps
        self.type: Type = type or type_of_content(cell.content)
        self.strides = c_strides(self.type.shape) if strides is None and not steps else strides
        self.loose = bool(steps)
        self.frozen = frozen
        self.watch: tuple[tuple[Cell, Any], ...] = ()
        self._memo: tuple[Any, Builder, Any] | None = None

    @property
    def shape(self) -> tuple[Dim, ...]:
        return self.type.shape

    def read(self) -> Any:
        """The content now: a NumPy array (not to be changed) or an `Arr`."""
        content = self.cell.content
        if self.stale:
            raise of_a_loop(AliasError(STALE), self.changed.cell.content)
        if not self.steps:
            return content if isinstance(content, np.ndarray) else Arr(content)
        if self._memo is not None and self._memo[0] is content and in_scope(self._memo[1]):
            return self._memo[2]
        out: Any = content if isinstance(content, np.ndarray) else Arr(content)
        for step in self.steps:
            out = step.read(out)
        if not isinstance(out, Arr):
            out = np.asarray(out)
        self._memo = (content, current(), out)
        return out

    def replaced(self, v: Any) -> Any:
        """The content of the cell after `v` (of this array's type) was stored through the steps."""
        content = self.cell.content
        base: Any = content if isinstance(content, np.ndarray) else Arr(content)
        new = _store(base, self.steps, v)
        return new.value if isinstance(new, Arr) else new

    def view(self, step: Step, type: Type, strides: tuple[int, ...] | None, frozen: str = "") -> Array:
        """This array seen through one more step."""
        out = Array(self.cell, (*self.steps, step), type, strides, frozen or self.frozen)
        out.watch = self.watch
        return out

    def laid_out(self, strides: tuple[int, ...] | None) -> Array:
        """This new array, of these strides; None: its memory order is not known."""
        self.strides, self.loose = strides, strides is None
        return self

    @property
    def contiguous(self) -> bool | None:
        """Is it C-contiguous? None: not known."""
        if self.strides is None:
            return None if self.loose else True
        return is_c(self.type.shape, self.strides)

    @property
    def memory(self) -> Array:
        """The array as stores see it: what it holds is no constant for derivatives, even if what is read of it is."""
        if not any(isinstance(s, Stopped) for s in self.steps):
            return self
        out = Array(self.cell, tuple(s for s in self.steps if not isinstance(s, Stopped)), self.type, self.strides, self.frozen)
        out.loose, out.watch = self.loose, self.watch
        return out

    @property
    def stale(self) -> bool:
        """Has storage been changed that it may share?"""
        return any(cell.content is not content for cell, content in self.watch)

    @property
    def changed(self) -> Array:
        """The array, of those that a stale one may be, that is stale."""
        return self

    def cells(self) -> tuple[Cell, ...]:
        return (self.cell,)

    def shared(self) -> tuple[Cell, ...]:
        """Storage that the array has or may share."""
        return tuple(dict.fromkeys((*self.cells(), *(c for c, _ in self.watch))))

    @property
    def fresh_whole(self) -> bool:
        """Whole storage that was made by the program, and is known not to be shared with what it was assigned from."""
        return not self.steps and not self.cell.outside and not self.frozen and not self.watch


class Either(Array):
    """An array that is `left` where the traced bool `cond` holds and `right` elsewhere (`w = a if s > 0 else b`).

    `merged`, if given, is its content as long as the contents of the two are those recorded in `when`.
    """

    __slots__ = ("cond", "left", "right", "merged", "when")

    def __init__(self, cond: Arr, left: Array, right: Array, merged: Value | np.ndarray | None):
        super().__init__(left.cell, (), left.type)
        self.laid_out(left.strides if left.strides == right.strides else None).loose = left.loose or right.loose
        self.cond, self.left, self.right, self.merged = cond, left, right, merged
        self.when = self.contents()
        self.frozen = left.frozen or right.frozen

    def contents(self) -> tuple[Any, ...]:
        return tuple(c.content for c in self.cells())

    def cells(self) -> tuple[Cell, ...]:
        return (*self.left.cells(), *self.right.cells())

    def current(self) -> Value | np.ndarray | None:
        """The merged content if neither side was written since, else None."""
        return self.merged if not self.stale and all(a is b for a, b in zip(self.when, self.contents())) else None

    @property
    def stale(self) -> bool:
        return self.left.stale or self.right.stale

    @property
    def changed(self) -> Array:
        return self.left.changed if self.left.stale else self.right.changed

    def shared(self) -> tuple[Cell, ...]:
        return (*self.left.shared(), *self.right.shared())

    @property
    def fresh_whole(self) -> bool:
        return False


def _store(base: Any, steps: Sequence[Step], v: Any) -> Any:
    if not steps:
        return v
    first, *rest = steps
    return first.store(base, _store(first.read(base), rest, v) if rest else v)


def type_of_content(content: Value | np.ndarray) -> Type:
    return content.type if isinstance(content, Value) else type_of(content)


# ---- other things a variable may hold ---------------------------------------------------------------------------


STALE = (
    "this variable was given another array in a loop or branch, and may be one that has been changed since; "
    "copy the array when it is assigned (y = x.copy())"
)


class _Undefined:
    def __repr__(self) -> str:
        return "<undefined>"


UNDEFINED: Any = _Undefined()


@dataclass(frozen=True, eq=False)
class Maybe:
    """A variable assigned on some paths only: `value` where the traced bool `defined` holds."""

    value: Any
    defined: Arr


@dataclass(frozen=True, eq=False)
class Nullable:
    """`value` where the traced bool `there` holds, and None elsewhere (`found = None` before a search)."""

    value: Any
    there: Arr
    where: str = ""  # the lines that return each, for errors


@dataclass(frozen=True, eq=False)
class Varying(Nullable):
    """The array `value` where `there` holds, and the number, list or tuple `other` elsewhere; see irad.frontend.control.varying."""

    other: Any = None


@dataclass(frozen=True, eq=False)
class Poison:
    """A variable whose values on two paths cannot be one value; reading it is an error. `sources`: what decided which path it is, if that
    may be known at compile time. `dicts`: these, if they have other keys on each path."""

    message: str
    sources: frozenset[Value] = frozenset()
    dicts: tuple[Any, ...] = ()

    def error(self, what: str, words: str = "") -> UnsupportedError:
        e = (AliasError if self.message is STALE else UnsupportedError)(words or f"{what} cannot be used here: {self.message}")
        e.sources, e.site = set(self.sources) or e.sources, self.dicts or None
        return e


@dataclass(frozen=True, eq=False)
class Text:
    """A string with traced numbers in it: a format template and its operands (f-strings, str(x)).

    It can be concatenated, printed and raised. Whatever needs its characters needs its numbers at compile time.
    """

    template: str
    operands: tuple[Arr, ...]

    def unknown(self) -> NeedStatic:
        """The error for what needs its characters."""
        return NeedStatic(self.operands[0], "a number whose text is compared, searched or used as a key")

    def __eq__(self, other: Any) -> bool:
        if self is other or not isinstance(other, (str, Text)):
            return self is other
        raise self.unknown()

    def __lt__(self, other: Any) -> bool:
        raise self.unknown()

    __gt__ = __le__ = __ge__ = __lt__

    def __hash__(self) -> int:
        raise self.unknown()


@dataclass(frozen=True, eq=False)
class Choice:
    """The one of some known things (functions, classes, members of an enumeration) whose number is `at`."""

    options: tuple[Any, ...]
    at: Arr

    def __hash__(self) -> int:
        raise NeedStatic(self.at, "which of several things a key is")


class Stand:
    """Stands for an object of NumPy that is no array, of class `cls`; see irad.frontend.control.stands."""

    cls: type
    of_itself = False  # is what it holds an object whose changes are to be seen, so that no other may stand for it?

    def whole(self, r: Any, returned: bool = False) -> Any:
        """What it is to code that takes it as a whole, or to the caller."""
        return self


@dataclass(frozen=True, eq=False)
class Method:
    """A method of an array or traced number, not called yet."""

    owner: Any
    name: str


@dataclass(eq=False)
class Env:
    """Variables of one activation of a function. `parent` is the activation (or closure) around the definition."""

    names: dict[str, Any] = field(default_factory=dict)
    parent: Any = None
    locals: frozenset[str] = frozenset()
    nonlocals: frozenset[str] = frozenset()
    stamp: int = field(default_factory=CLOCK.__next__)


class Closure:
    """A function made by a `def` or `lambda` that was read. Callable, so that native code can call it back."""

    # apart from `__dict__`, which has what the program assigns, and which `functools.wraps` hands on from function to function
    __slots__ = (
        *("__defaults__", "__dict__", "__kwdefaults__", "__name__", "__weakref__"),
        *("born", "defaults", "env", "frame", "kw_defaults", "node", "reader"),
    )

    def __init__(self, reader: Any, node: Any, frame: Any, defaults: list[Any], kw_defaults: dict[str, Any], name: str):
        self.reader, self.node, self.frame, self.env = reader, node, frame, frame.env
        self.born = _builder()
        self.defaults, self.kw_defaults = defaults, kw_defaults
        self.__name__ = self.__qualname__ = name
        self.__doc__, self.__defaults__, self.__kwdefaults__ = None, tuple(defaults) or None, kw_defaults or None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.reader.call(self, args, kwargs)


def is_number(x: Any) -> bool:
    """A traced or concrete scalar number (bools included)."""
    if isinstance(x, Arr):
        return not x.shape
    return type(x) in (bool, int, float, complex) or isinstance(x, (np.number, np.bool_))


def class_of_number(x: Any) -> type:
    """The class that Python would see."""
    if not isinstance(x, Arr):
        return type(x)
    return PYTHON[x.name] if x.weak else x.type.numpy.type


def is_traced_deep(x: Any) -> bool:
    """Does x hold anything whose number is not known at compile time?"""
    if isinstance(x, Arr):
        return True
    if isinstance(x, Array):
        return isinstance(x, Either) or not isinstance(x.read(), np.ndarray)
    if isinstance(x, (list, tuple, dict, slice, set, frozenset, collections.deque)):
        return any(map(is_traced_deep, held(x) if isinstance(x, (dict, slice)) else base_items(x)))
    if isinstance(x, Structured):
        return any(map(is_traced_deep, x.children))
    if isinstance(x, Bytes):
        return is_traced_deep(x.bytes)
    if isinstance(x, BaseException):
        return any(map(is_traced_deep, x.args))
    return isinstance(x, (Text, Choice, Maybe, Nullable, Poison, Stand, Run))


def holds_traced(x: Any) -> bool:
    """Is an attribute of the object traced, or an array of the reader?"""
    return any(isinstance(v, Array) or is_traced_deep(v) for v in own_attributes(x).values())


def reads_traced(x: Any) -> bool:
    """Does x hold traced values, or objects of the program that do?"""
    if isinstance(x, (list, tuple)):
        return any(map(reads_traced, held(x)))
    return is_traced_deep(x) or (is_instance(x) and not isinstance(x, type) and holds_traced(x))


def python_method(obj: Any, name: str) -> types.FunctionType | None:
    """A method of an instance whose class defines it in Python."""
    cls = type(obj)
    if cls.__flags__ & (1 << 9) == 0 or isinstance(obj, (Array, Arr, Text, type)):
        return None
    return found if isinstance(found := found_in_class(cls, name), types.FunctionType) else None


def describe(x: Any) -> str:
    """A short name of what a variable holds, for error messages."""
    if isinstance(x, Array):
        return f"an array {x.type}"
    if isinstance(x, Arr):
        kind = PYTHON[x.name].__name__ if x.weak else f"NumPy scalar {x.name}"
        return f"an {kind}" if kind == "int" else f"a {kind}"
    if isinstance(x, Structured):
        return f"a {'record' if x.layout.scalar else 'structured array'} of {', '.join(x.layout.dtype.names or ())}"
    if isinstance(x, Bytes):
        return "a string that depends on data" if x.scalar else "an array of strings"
    if isinstance(x, (types.FunctionType, Closure)):
        return f"function {x.__name__}"
    if isinstance(x, Nullable):
        return f"{describe(x.value)} on some paths and {describe(x.other) if isinstance(x, Varying) else None} on others"
    if x is UNDEFINED or isinstance(x, Choice):
        return "nothing" if x is UNDEFINED else "one of several things, by data"
    if isinstance(x, Stand):
        return with_article(x.cls.__name__)
    return f"{type(x).__name__} {x!r}" if isinstance(x, (int, float, str, type(None))) else describe_class(type(x))
