"""What arguments and results of functions of the program are made of (irad.frontend.reading.called).

The kinds of arguments are the types of the numbers and arrays in them, and the values of all else. What is computed from arguments of the
same kinds is computed alike. Objects that the program made are taken apart; those from outside are known by their identity, as
their attributes are inputs of the whole program.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from irad.core.foreign import is_instance, is_value, own_attributes
from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass, field
from irad.core.tree import Attributes
from irad.frontend.activations import Activation
from irad.frontend.control.filling import leaves
from irad.frontend.control.loop_hints import mentioned
from irad.frontend.control.templates import Ary, Composite, Null, Num, Opt, Same, Template, Words
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Array, Cell, Closure, Env, Maybe, Nullable, Poison, Text
from irad.frontend.values.runs import has_run
from irad.frontend.values.state import Name

_FIXED = (int, bool, str, bytes, type(None), type(Ellipsis))
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, np.ufunc)
_TEXTS = {"__doc__", "__module__", "__qualname__"}  # attributes that functions made by the program have of their definitions
_MOST = 300  # numbers, arrays and containers in the arguments of a call


class Unsuited(Exception):
    """A thing that is not made of numbers, arrays, constants and plain objects alone."""


@dataclass(frozen=True)
class Given:
    """A result that is one of the arrays, or objects, that are given."""

    of: str
    number: int


@dataclass(eq=False)
class Arguments:
    """What the arguments of a call are made of.

    `ids`: of the values; `things`: which are held by id; `floats`: the known ones, as texts; `cells`: of the arrays;
    `objects`: made by the program, each once.
    """

    ids: list[int] = field(default_factory=list)
    things: list[Any] = field(default_factory=list)
    floats: list[str] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    arrays: dict[int, int] = field(default_factory=dict)
    objects: list[Any] = field(default_factory=list)
    inside: set[int] = field(default_factory=set)

    def array(self, k: int) -> Array:
        """The array of a number."""
        return next(x for x in self.things if isinstance(x, Array) and self.arrays[id(x)] == k)

    def older(self) -> dict[int, Any]:
        """What a call may change, by id: the objects, and the arrays."""
        return {id(x): x for x in (*self.objects, *self.cells)}


def variables(frame: Activation, given: Arguments) -> tuple[list[Name], Any]:
    """The variables that a call may read: its arguments, and those of functions around it, and around functions among them, that are
    mentioned. Then what is known of those that are functions made by the program. Raises Unsuited."""
    found = {(id(frame.env), n): Name(frame.env, n) for n in frame.env.names}
    if frame.env.parent is not None:
        _around(frame.liveness.node, frame.env.parent, found)
    places, functions, owners, numbers = list[Name](), list[Any](), dict[int, int](), dict[int, int]()
    todo = list(found.values())
    for p in todo:
        x, owner = p.get(), owners.setdefault(id(p.owner), len(owners))
        if type(x) is not Closure:
            places.append(p)
            functions.append((owner, p.name))
            continue
        if not x.__dict__.keys() <= _TEXTS or not all(
            type(d) in (*_FIXED, float) for d in (*x.defaults, *x.kw_defaults.values())
        ):
            raise Unsuited
        given.things.append(x)
        same = numbers.setdefault(id(x), len(numbers))
        defaults = tuple([(type(d), repr(d)) for d in (*x.defaults, *x.kw_defaults.values())])
        functions.append((owner, p.name, id(x.node), id(x.frame.globals_of), same, defaults))
        known = len(found)
        _around(x.node, x.env, found)
        todo += list(found.values())[known:]
    return places, tuple(functions)


def _around(function: ast.AST, env: Any, found: dict[tuple[int, str], Name]) -> None:
    """The variables of functions around one that it mentions."""
    for name in mentioned(function):
        at = env
        while isinstance(at, Env) and name not in at.names:
            at = at.parent
        if isinstance(at, Env):
            found.setdefault((id(at), name), Name(at, name))


def kind(r: Reader, x: Any, given: Arguments) -> Any:
    """The kind of an argument: two that compute alike have equal ones, but for known floats. Raises Unsuited."""
    t = type(x)
    if t is Arr and not x.shape:
        given.ids.append(id(x.value))
        given.things.append(x.value)
        return ("number", x.name, x.weak, x.mixed)
    if t is Array:
        return _array(x, given)
    if t is float:
        given.floats.append(repr(x))
        return ("float",)
    if t in _FIXED:
        return (t, x)
    if t is complex:
        return (t, repr(x))
    if isinstance(x, np.generic) and x.dtype.kind in "biufc":
        return (x.dtype, x.tobytes())
    if isinstance(x, _CODE):
        given.things.append(x)
        return ("is", id(x))
    if t is Text:
        return (t, x.template, tuple([kind(r, v, given) for v in x.operands]))
    if t is Maybe:
        return (t, kind(r, x.value, given), kind(r, x.defined, given))
    if t is Nullable:
        return (t, kind(r, x.value, given), kind(r, x.there, given))
    return (t, x.message) if t is Poison else _of_container(r, x, given)


def _array(x: Array, given: Arguments) -> Any:
    if x.frozen or x.watch:
        raise Unsuited
    given.ids += [id(x.cell.content), id(x) if x.steps else 0]
    given.things += [x.cell.content, x]
    known = next((k for k, c in enumerate(given.cells) if c is x.cell), len(given.cells))
    if known == len(given.cells):
        given.cells.append(x.cell)
    which = given.arrays.setdefault(id(x), len(given.arrays))
    return ("array", x.type, x.strides, x.loose, bool(x.steps), x.cell.outside, known, which)


def _of_container(r: Reader, x: Any, given: Arguments) -> Any:
    found = children(r, x)
    if found is None:
        if not is_value(x) and (not is_instance(x) or type(x).__module__.startswith("irad.") or r.state.is_made(x)):
            raise Unsuited
        given.things.append(x)
        return ("is", id(x))
    cls, meta, kids = found
    if not isinstance(x, tuple):
        if id(x) in given.inside or len(given.things) > _MOST:
            raise Unsuited
        given.inside.add(id(x))
        given.things.append(x)
    if isinstance(meta, Attributes):
        given.objects.append(x)
    return (cls, meta, tuple([kind(r, v, given) for v in kids]))


def children(r: Reader, x: Any) -> tuple[Any, Any, Any] | None:
    """(class, static part, parts) of a container, or of a plain object that the program made; None of anything else."""
    t = type(x)
    if has_run(x):
        raise Unsuited
    if t is tuple or t is list or (isinstance(x, tuple) and hasattr(t, "_fields")):
        return t, None, x
    if t is dict:
        if not all(type(k) is str or type(k) is int for k in x):
            raise Unsuited
        return t, tuple(x), tuple(x.values())
    plain = is_instance(x) and t.__setattr__ is object.__setattr__ and not isinstance(x, (list, dict, set, BaseException))
    if not plain or not r.state.is_made(x):
        return None
    own = own_attributes(x)
    return t, Attributes(tuple(own)), tuple(own.values())


def template(r: Reader, x: Any, same: dict[int, Template], floats: Iterator[str | None]) -> Template:
    """The structure of a thing, with holes for traced numbers and arrays; one hole for an array that is met again.

    `floats`: for each known float, in the order of `kind`, None if there is a hole for it.
    """
    if isinstance(x, Arr):
        return Num(x.name, x.weak, x.mixed)
    if isinstance(x, Array):
        return same.setdefault(id(x), Ary(x.type, (x, x)))
    if type(x) is float:
        return Num("f64", True) if next(floats) is None else Same(x)
    if isinstance(x, Text):
        return Words(x.template, tuple([template(r, e, same, floats) for e in x.operands]))
    if isinstance(x, Maybe):
        return Opt(template(r, x.value, same, floats))
    if type(x) is Nullable:
        return Null(template(r, x.value, same, floats))
    found = None if isinstance(x, (*_FIXED, *_CODE, complex, np.generic, Poison, Given)) else children(r, x)
    if found is None:
        return Same(x)
    cls, meta, kids = found
    return Composite(cls, meta, tuple([template(r, v, same, floats) for v in kids]))


def values(r: Reader, t: Template, x: Any, seen: set[int]) -> list[Value]:
    """What fills the holes of an argument's template."""
    if not isinstance(t, Composite):
        return leaves(t, x, r.read, seen)
    found = children(r, x)
    assert found is not None
    return [v for k, e in zip(t.kids, found[2]) for v in values(r, k, e, seen)]


def anew(r: Reader, x: Any, start: int, given: Arguments | None = None) -> Any:
    """A result, made anew, with `Given` for what is given. Raises Unsuited for what else was there before `start`, can be seen
    otherwise, or has no values."""
    if given is not None and id(x) in given.arrays:
        return Given("arrays", given.arrays[id(x)])
    if given is not None and any(x is y for y in given.objects):
        return Given("objects", next(k for k, y in enumerate(given.objects) if x is y))
    if type(x) is Array:
        layout = x.strides or ()
        known = x.contiguous or (not x.loose and all(type(s) is int for s in layout))
        if not isinstance(x.cell.content, Value) or not x.fresh_whole or not known or x.cell.stamp < start:
            raise Unsuited
        return like(x, x.cell.content)
    if (type(x) is Arr and not x.shape) or type(x) in (*_FIXED, float, complex, Text, Poison):
        return x
    if isinstance(x, (np.generic, *_CODE)):
        return x
    if type(x) is Maybe:
        return Maybe(anew(r, x.value, start, given), x.defined)
    if type(x) is Nullable:
        return Nullable(anew(r, x.value, start, given), x.there, x.where)
    if isinstance(x, tuple) and (type(x) is tuple or hasattr(x, "_fields")) and not getattr(x, "__dict__", None):
        parts = [anew(r, e, start, given) for e in x]
        return tuple.__new__(type(x), parts)
    if type(x) is list and not has_run(x) and r.state.stamp(x) >= start:
        return r.state.made([anew(r, e, start, given) for e in x])
    if type(x) is dict and r.state.stamp(x) >= start:
        return r.state.made({k: anew(r, e, start, given) for k, e in x.items()})
    raise Unsuited


def like(x: Array, v: Value) -> Array:
    """An array of its own, laid out as x is."""
    out = Array(Cell(v))
    return out if x.strides is None and not x.loose else out.laid_out(x.strides)


def given_back(r: Reader, x: Any, given: Arguments) -> Any:
    """A result with what is given in place of `Given`."""
    if isinstance(x, Given):
        return given.objects[x.number] if x.of == "objects" else given.array(x.number)
    if isinstance(x, tuple):
        parts = [given_back(r, e, given) for e in x]
        return tuple.__new__(type(x), parts)
    if type(x) is list:
        x[:] = [given_back(r, e, given) for e in x]
    elif type(x) is dict:
        x.update({k: given_back(r, e, given) for k, e in x.items()})
    return x


def arrays_in(x: Any) -> Iterator[Array]:
    """The arrays in a result."""
    for e in _parts_of(x, set()):
        if isinstance(e, Array):
            yield e
        elif isinstance(e, (Maybe, Nullable)):
            yield from arrays_in(e.value)


def known_numbers(x: Any) -> bool:
    """Is there a number in a result that is known when the program is read?"""
    known = (float, complex, np.generic, int)
    return any(isinstance(e, known) and type(e) is not bool for e in _parts_of(x, set()))


def _parts_of(x: Any, met: set[int]) -> Iterator[Any]:
    """What stands in a container, which may hold itself; else x."""
    if not isinstance(x, (tuple, list, dict)):
        yield x
    elif id(x) not in met:
        met.add(id(x))
        for e in x.values() if isinstance(x, dict) else x:
            yield from _parts_of(e, met)
