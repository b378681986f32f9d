"""One of several known things, by data: `step = rk4 if stiff else euler`, `state = State.UP`, a function out of a table.

Such a thing is the same whenever the program has it: a member of an enumeration, a function or a class that is there before the
program runs. So is a function that the program makes, as long as what it reads of the functions around it is there. A variable that
may be several of them is the number of the one that it is; see irad.frontend.control.varying.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Builder, Value, current
from irad.core.lazy_dataclass import dataclass
from irad.errors import UnsupportedError
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Choice, Closure, Stand, Text, in_scope, is_traced_deep
from irad.ops.elementwise import eq
from irad.ops.text import choice_field, choices_of

MOST = 32
_THINGS = (enum.Enum, Closure, types.FunctionType, types.BuiltinFunctionType, np.ufunc, type(np.mean), type)


def options(x: Any) -> tuple[Any, ...] | None:
    """The strings or known things that a variable may be: itself, or those that it is chosen from; None for anything else."""
    if isinstance(x, Text):
        return choices_of(x.template)
    if isinstance(x, Choice):
        return x.options
    return (x,) if type(x) is str or isinstance(x, _THINGS) else None


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
    """Are they equal strings, or functions made at one place of one activation that do the same?"""
    if type(a) is type(b) is Closure:
        return a.node is b.node and a.env is b.env and not any((a.defaults, a.kw_defaults, b.defaults, b.kw_defaults))
    return type(a) is type(b) is str and a == b


def alike(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Are they the same options, in the same order?"""
    return len(a) == len(b) and all(place((x,), y) == 0 for x, y in zip(a, b))


def same_option(x: Any, y: Any) -> Arr | bool:
    """Are two variables the same string or known thing? One of them at least is chosen by data."""
    found: Value | None = None
    a, b = options(x) or (), options(y) or ()
    for k, o in enumerate(a):
        if (n := place(b, o)) is not None:
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
        return (
            f"it is one of more than {MOST} {'strings' if words == {True} else 'functions, classes or members of an enumeration'}"
        )
    return both


def compared_by_identity(x: Any) -> bool:
    """Are all things that a variable may be known ones, each of which is equal to itself alone?"""
    found = options(x)
    return found is not None and all(type(o).__eq__ in (object.__eq__, type.__eq__) for o in found)


def is_there(x: Any, later: bool) -> bool:
    """Is a known thing there outside of the region that ends here (`later`: of the trip), with all that it reads?"""
    if type(x) is not Closure or in_scope(x.born) and not (later and x.born is current()):
        return True
    return any(f is x.frame for f in x.reader.frames) and not is_traced_deep([x.defaults, x.kw_defaults])


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
