"""One of several known things, by data: `step = rk4 if stiff else euler`, `state = State.UP`, a function out of a table.

Such a thing is the same whenever the program has it: a member of an enumeration, a function or a class that is there before the
program runs. So is a function that the program makes, a method, a `functools.partial`, a range or slice, as long as what it reads is
there, and an object that lives on both paths. A variable that may be several of them is the number of the one that it is; see
irad.frontend.control.varying.
"""

from __future__ import annotations

import collections
import enum
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.foreign import is_instance
from irad.core.ir import Builder, Value, current
from irad.core.lazy_dataclass import dataclass
from irad.core.types import is_complex, is_float, is_int, real_dtype
from irad.errors import UnsupportedError
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Array, Choice, Closure, Maybe, Nullable, Poison, Stand, Text, in_scope, is_traced_deep
from irad.frontend.values.state import same
from irad.ops.complex import real
from irad.ops.constant import scalar
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, eq, logical_or, select
from irad.ops.text import choice_field, choices_of

MOST = 32
_FUNCTIONS = (Closure, types.FunctionType, types.BuiltinFunctionType, np.ufunc, type(np.mean))
_MADE_EACH_TIME = (types.MethodType, functools.partial, range, slice)  # what such a thing is, its parts say
_CONTENTS = (list, tuple, dict, set, frozenset, collections.deque, str, int, float, complex)  # of a class of the program, say
_NAMED = (
    (types.MethodType, "methods"), (range, "ranges"), (tuple, "tuples"), (slice, "slices"), (enum.Enum, "members of an enumeration"),
    (type, "classes"),
)  # fmt: skip
_THINGS = (enum.Enum, type, *_FUNCTIONS, *_MADE_EACH_TIME)


def options(x: Any) -> tuple[Any, ...] | None:
    """The strings or known things that a variable may be: itself, or those that it is chosen from; None for anything else."""
    if isinstance(x, Text):
        return choices_of(x.template)
    if isinstance(x, Choice):
        return x.options
    if isinstance(x, slice) and is_traced_deep(x):
        return None
    return (x,) if type(x) is str or isinstance(x, _THINGS) else None


def things(x: Any) -> tuple[Any, ...] | None:
    """The same, where an object may be one of them, which is that object itself, or a tuple of known numbers."""
    return (x,) if is_object(x) or _is_known_tuple(x) else options(x)


def made_things(x: Any) -> tuple[Any, ...]:
    """The known things that a variable may be, of which `Kinds` may be made: objects, lists and tuples among them."""
    return (x,) if type(x) in (list, tuple) else things(x) or ()


def shape_of(found: tuple[type, Any, Sequence[Any]] | None) -> tuple[Any, ...] | None:
    """What two things have in common of which one is made: class, static part and number of children."""
    return None if found is None else (found[0], found[1], len(found[2]))


def _is_known_tuple(x: Any) -> bool:
    return type(x) is tuple and all(type(e) in (int, float, str, bool) for e in x)


def is_object(x: Any) -> bool:
    """Is it an object of a class of the program that has attributes, or a dict that stands for one?"""
    others = (Arr, Array, Maybe, Nullable, Poison, Stand, Choice, Text, type, BaseException, *_THINGS, *_CONTENTS)
    return (
        not isinstance(x, others)
        and is_instance(x)
        and (type(x).__module__.split(".")[0] != "irad" or hasattr(type(x), "OF_ATTRIBUTES"))
    )


def number_of(x: Any) -> Arr:
    """Which of its options a variable is that has several."""
    return x.at if isinstance(x, Choice) else x.operands[0]


def of_number(options: tuple[Any, ...], at: Arr) -> Text | Choice:
    """The option of a number; all of them are strings, or none is."""
    return Text(choice_field(options), (at,)) if type(options[0]) is str else Choice(options, at)


def place(options: Sequence[Any], x: Any) -> int | None:
    """The number of an option."""
    return next((k for k, o in enumerate(options) if o is x or _equal(o, x)), None)


def _equal(a: Any, b: Any) -> bool:
    """Are they equal strings, ranges or slices, one method of one object, or functions made at one place of one activation that do the
    same?"""
    if type(a) is type(b) is Closure:
        return a.node is b.node and a.env is b.env and not any((a.defaults, a.kw_defaults, b.defaults, b.kw_defaults))
    if type(a) is type(b) is types.MethodType:
        return a.__self__ is b.__self__ and a.__func__ is b.__func__
    if type(a) is type(b) is tuple:
        return len(a) == len(b) and all(type(x) is type(y) and repr(x) == repr(y) for x, y in zip(a, b))
    return type(a) is type(b) and type(a) in (str, range, slice) and same(a, b)


def alike(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Are they the same options, in the same order?"""
    return len(a) == len(b) and all(place((x,), y) == 0 for x, y in zip(a, b))


def same_option(x: Any, y: Any) -> Arr | bool:
    """Are two variables the same string or known thing? One of them at least is chosen by data."""
    found: Value | None = None
    a, b = things(x) or (), things(y) or ()
    for k, o in enumerate(a):
        if (n := place(b, o)) is not None:
            if isinstance(o, (types.MethodType, range, slice, tuple)):
                raise UnsupportedError(
                    f"'is' of a {type(o).__name__} that data choose, which Python may make anew each time; compare with =="
                )
            if type(o) is Closure and b[n] is not o:
                raise UnsupportedError("'is' or == of functions that a loop makes anew; compare a number that says which it is")
            tests = [eq(number_of(v).value, i) for v, i, own in ((x, k, a), (y, n, b)) if own[0] is not v]
            here = tests[0] if len(tests) == 1 else tests[0] & tests[1]
            found = here if found is None else found | here
    return False if found is None else Arr(found, True)


def either(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...] | str:
    """All options of two variables, those of the first one in front; or why that cannot be."""
    both = (*a, *(x for x in b if place(a, x) is None))
    words = {type(x) is str for x in both}
    if len(words) > 1:
        return "it is a string on one path and no string on the other"
    if len(both) > MOST:
        return f"it is one of more than {MOST} {'strings' if words == {True} else 'functions, classes, objects or members of an enumeration'}"
    return both


def one_of(options: tuple[Any, ...]) -> str:
    """What a variable is that is one of some known things, in the words of an error."""
    named = {"objects" if is_object(x) else next((n for kind, n in _NAMED if isinstance(x, kind)), "functions") for x in options}
    *first, last = sorted(named)
    return f"one of several {', '.join(first)}{' and ' if first else ''}{last}"


def compared_by_identity(x: Any) -> bool:
    """Are all things that a variable may be known ones, each of which is equal to itself alone?"""
    found = things(x)
    return found is not None and all(type(o).__eq__ in (object.__eq__, type.__eq__) for o in found)


@dataclass(frozen=True)
class Outside:
    """What is there outside of the regions that end here (`later`: of the trip). `born(x)`: the region in which a container, object or
    storage was made; `made(v)`: is a value made in the regions? `stands(x)`: was an object made where paths met?"""

    later: bool = True
    born: Callable[[Any], Builder | None] = lambda x: current()
    made: Callable[[Value], bool] = lambda v: True
    stands: Callable[[Any], bool] = lambda x: False

    def has(self, x: Any) -> bool:
        """Is a known thing there, with all that it reads?"""
        if type(x) is Closure:
            if self._lasts(x.born):
                return True
            return any(f is x.frame for f in x.reader.frames) and not is_traced_deep([x.defaults, x.kw_defaults])
        if type(x) is types.MethodType:
            return isinstance(x.__self__, type) or self._is_kept(x.__self__)
        if type(x) is functools.partial:
            return self.has(x.func) and all(map(self._is_kept, (*x.args, *x.keywords.values())))
        if type(x) is tuple:
            return all(map(self._is_kept, x))
        return not (is_object(x) or type(x) is list) or self._lasts(self.born(x))

    def _is_kept(self, x: Any) -> bool:
        if isinstance(x, Arr):
            return not self.made(x.value)
        if isinstance(x, Array):
            return type(x) is Array and not x.steps and self._lasts(self.born(x.cell))
        if isinstance(x, (tuple, slice)):
            return all(map(self._is_kept, (x.start, x.stop, x.step) if isinstance(x, slice) else x))
        if isinstance(x, (str, int, float, complex, np.generic, type(None), *_THINGS)):
            return self.has(x)
        return not isinstance(x, (Text, Choice, Maybe, Nullable, Poison, Stand)) and self._lasts(self.born(x))

    def _lasts(self, born: Builder | None) -> bool:
        return in_scope(born) and not (self.later and born is current())


# ---- what can be changed ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OneOf(Stand):
    """The option of a number, itself: what changes it is seen under every other name of that option, and what changes that option is
    seen here. Only variables hold such a thing; whatever else it is given to gets its content, see irad.frontend.control.several.

    `place`: the number, known to be one of an option. `homes`: the regions in which the options were made. `wanted`: the error where its
    content cannot be one thing.
    """

    options: tuple[Any, ...]
    place: Arr
    homes: tuple[Builder | None, ...]
    wanted: Exception | None = None


_EXACT = {"f16": 2.0**11, "f32": 2.0**24}  # whole numbers up to which floats have them all; 2**53 of others


def on_paths(x: Arr) -> tuple[Arr, Arr]:
    """A number that is of one kind on one path and of another kind on the other (`x.by`), as it is on each."""
    assert x.by is not None
    cond, *kinds = x.by
    a, b = (_of_kind(x.value, where, *kind) for where, kind in zip((cond, ~cond), kinds))
    return a, b


def _of_kind(v: Value, where: Value, dtype: str, weak: bool) -> Arr:
    if v.type.dtype == dtype:
        return Arr(v, weak)
    v = select(where, real(v) if is_complex(v.type.dtype) else v, scalar(0, real_dtype(v.type.dtype)))
    if is_int(dtype) and is_float(v.type.dtype):
        exact = _EXACT.get(v.type.dtype, 2.0**53)
        words = f"a whole number on one path is a float on another, and above {exact:.0f}: make it one of them on both"
        raise_if(logical_or(v > exact, v < -exact), exc="OverflowError", message=words)
    return Arr(cast_to(v, dtype), weak)
