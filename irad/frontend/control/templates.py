"""Templates: the structure that a variable has on every path, with holes (SSA values) where the paths differ."""

from __future__ import annotations

import collections
import enum
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from irad.core.foreign import describe_class, is_instance, of_class, own_attributes
from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.once import import_later
from irad.core.tree import Attributes, attributes, parts
from irad.core.types import Dim, Type, complex_dtype, is_complex, is_float, promote
from irad.frontend.values.arr import Arr, dtype_of
from irad.frontend.values.choices import OneOf, alike, either, is_object, made_things, one_of, options, shape_of
from irad.frontend.values.objects import (
    Array,
    Choice,
    Closure,
    Maybe,
    Method,
    Nullable,
    Poison,
    Text,
    Varying,
    describe,
    in_scope,
)
from irad.frontend.values.runs import Run
from irad.frontend.values.state import same


@dataclass(frozen=True, eq=False)
class Template:
    """Base of templates."""


@dataclass(frozen=True, eq=False)
class Same(Template):
    """The same thing on every path."""

    obj: Any


@dataclass(frozen=True, eq=False)
class Num(Template):
    """A number; see `Arr`. `sides`: its dtype and `weak` on two paths; None: it may have one on each of several."""

    dtype: str
    weak: bool
    mixed: bool = False
    sides: tuple[Any, ...] | None = ()


@dataclass(frozen=True, eq=False)
class Ary(Template):
    """An array; `pair` are the two arrays that were joined."""

    type: Type
    pair: tuple[Any, Any]


@dataclass(frozen=True, eq=False)
class Opt(Template):
    """Perhaps undefined: a flag, then the holes of the thing itself."""

    child: Template


@dataclass(frozen=True, eq=False)
class Null(Template):
    """Perhaps None: a flag, then the holes of what it is otherwise. With `other` it is that instead of None."""

    child: Template
    other: Template | None = None


@dataclass(frozen=True, eq=False)
class Composite(Template):
    """A tuple, list, dict, dataclass... with templates as children."""

    cls: type
    meta: Any
    kids: tuple[Template, ...]


@dataclass(frozen=True, eq=False)
class Grown(Template):
    """A list of another length on each path or trip: elements of one template, in arrays with room for `rows` of them.

    Its length is `base + rate * trip`, or a hole if `rate` is None. In a loop a trip adds at most `growth` elements; at the start
    of a trip there are at most `most`, after the loop `after`. `checked`: because that is checked where a trip ends; `moves`: then the
    first row that counts is a hole before the length.
    """

    element: Template
    rows: Dim
    base: Dim
    rate: int | None
    most: Dim
    after: Dim
    growth: int = 0
    checked: bool = False
    moves: bool = False
    cls: type = list

    def run(self, columns: Sequence[Value], length: Dim, most: Dim, start: Dim = 0) -> Run:
        return Run(self.element, columns, length, most, checked=self.checked, start=start)


@dataclass(frozen=True, eq=False)
class Sized(Template):
    """An array of another extent on each path or trip, along one axis: in an array of `type`, which has room, and its extent.

    At the start of a trip the extent is at most `most`, after the loop `after`; a trip adds at most `growth`. `checked`: see Grown.
    """

    type: Type
    axis: int
    most: int
    after: int
    growth: int
    pair: tuple[Any, Any]
    checked: bool = False


@dataclass(frozen=True, eq=False)
class Words(Template):
    """A string with numbers in it."""

    template: str
    kids: tuple[Template, ...]


@dataclass(frozen=True, eq=False)
class Pick(Template):
    """One of some strings or known things, by its number; see irad.frontend.values.choices. `before`: the text that each of the strings
    follows."""

    options: tuple[Any, ...]
    before: Text | None = None


@dataclass(frozen=True, eq=False)
class Chosen(Template):
    """One of some arrays, containers or objects, by its number; see `OneOf`."""

    options: tuple[Any, ...]
    homes: tuple[Any, ...]
    wanted: Exception | None = None


@dataclass(frozen=True, eq=False)
class Kinds(Template):
    """One of several objects, by its number, of which each has a template: `Same`, or one of its structure, `Opt` where a path may not
    have such an object. See irad.frontend.control.made_objects."""

    kids: tuple[Template, ...]


@dataclass(frozen=True, eq=False)
class Bad(Template):
    """Things that cannot be one; reading the variable is an error. `dicts`: they are these, which have other keys."""

    message: str
    dicts: tuple[Any, ...] = ()


def is_weak_number(x: Any) -> bool:
    """A Python number (bool included), traced or not."""
    return x.weak if isinstance(x, Arr) else type(x) in (bool, int, float, complex)


def structure(obj: Any) -> tuple[type, Any, Sequence[Any]] | None:
    """(class, static part, children) of a container or plain instance; None for anything else."""
    if isinstance(obj, (Arr, Array, Maybe, Nullable, Poison, Text, Method, Closure, Choice, OneOf, enum.Enum)):
        return None
    if type(obj) is functools.partial:
        return functools.partial, Attributes(tuple(obj.keywords)), (obj.func, *obj.args, *obj.keywords.values())
    found = parts(obj)
    if found is not None:
        return found
    cls = type(obj)
    if cls is collections.deque:
        return attributes(obj)
    own = own_attributes(obj)
    plain = (
        (bool(own) or hasattr(obj, "__dict__"))
        and (not callable(obj) or is_instance(obj))
        and cls.__module__ != "builtins"
        and not isinstance(obj, (type, dict, list, set))  # with attributes of its own, beside its items
    )
    if plain and of_class(cls, "__setattr__") is object.__setattr__ and not isinstance(obj, BaseException):
        return cls, Attributes(tuple(own)), tuple(own.values())
    return None


def mutable(obj: Any) -> bool:
    """A container or instance that two variables can share and change."""
    return not isinstance(obj, tuple)


def is_zero_d(a: Any) -> bool:
    return isinstance(a, Array) and not a.shape


def number(x: Any) -> Num:
    """The kind of a number; an array of rank 0 counts as a NumPy scalar."""
    if isinstance(x, Array):
        return Num(x.type.dtype, False)
    mixed, by = (x.mixed, x.by) if isinstance(x, Arr) else (False, None)
    return Num(dtype_of(x), is_weak_number(x), mixed, None if mixed or by is not None else ())


def join_numbers(a: Num, b: Num) -> Num:
    """The type of a variable that is a on one path and b on the other, as Python and NumPy would mix them."""
    kinds = (a.dtype, a.weak), (b.dtype, b.weak)
    return replace(_joined(a, b), sides=(kinds if kinds[0] != kinds[1] else ()) if a.sides == b.sides == () else None)


def _joined(a: Num, b: Num) -> Num:
    mixed = a.mixed or b.mixed or a.weak != b.weak or (a.dtype == "bool") != (b.dtype == "bool")
    if a.weak == b.weak:
        wide = promote(a.dtype, b.dtype)
        return Num(wide, a.weak, mixed)
    strong, weak = (b, a) if a.weak else (a, b)
    if weak.dtype == "bool" or strong.dtype == weak.dtype:
        return Num(promote(strong.dtype, weak.dtype), False, mixed)
    if is_complex(weak.dtype):
        return Num(complex_dtype(strong.dtype), False, mixed)
    if is_float(weak.dtype) and strong.dtype[0] not in "fc":
        return Num("f64", False, mixed)
    return Num("i64" if strong.dtype == "bool" else strong.dtype, False, mixed)


def sides_of(t: Null, x: Any) -> tuple[Any, Any, bool]:
    """What a thing is of a template of an array and something else: the first and the second (None: it never is that), and whether they
    are exchanged in a `Varying`, which two arrays may be."""
    if not isinstance(t.other, Ary):
        if isinstance(x, Varying):
            return x.value, x.other, False
        return (x, None, False) if isinstance(x, Array) and x.shape else (None, x, False)
    fits = lambda y: isinstance(y, Array) and isinstance(t.child, (Ary, Sized)) and y.type == t.child.type
    if isinstance(x, Varying) and isinstance(x.other, Array):
        return (x.value, x.other, False) if fits(x.value) else (x.other, x.value, True)
    return (x, None, False) if fits(x) else (None, x if isinstance(x, Array) else None, False)


def bare(t: Template) -> Template:
    """The template of what is there, where something is."""
    while isinstance(t, (Opt, Null)):
        t = t.child
    return t


def walk(t: Template, *things: Any, content: Callable[[Any], Any] = lambda x: x) -> Iterator[tuple[Template, tuple[Any, ...]]]:
    """A template and those in it, each with what stands there in some things that have the template (None: nothing).

    `content(x)`: what a container holds now.
    """
    given = things
    things = tuple([x.value if isinstance(x, (Maybe, Nullable)) else x for x in map(content, things)])
    yield t, things
    if isinstance(t, Null) and t.other is not None:
        both = [sides_of(t, x) for x in given]
        yield from walk(t.child, *(a for a, _, _ in both), content=content)
        yield from walk(t.other, *(b for _, b, _ in both), content=content)
    elif isinstance(t, (Opt, Null)):
        yield from walk(t.child, *things, content=content)
    elif isinstance(t, Kinds):
        for k, *parts_ in zip(t.kids, *(members(t.kids, x, content) for x in things)):
            yield from walk(k, *parts_, content=content)
    elif isinstance(t, Composite):
        nothing, sides = [None] * len(t.kids), map(structure, things)
        kids = [s[2] if s is not None and len(s[2]) == len(nothing) else nothing for s in sides]
        for k, *parts_ in zip(t.kids, *kids):
            yield from walk(k, *parts_, content=content)


def members(kids: Sequence[Template], x: Any, content: Callable[[Any], Any] = lambda x: x) -> list[Any]:
    """Which of the objects that a variable may be has each template of `Kinds`; None: none has."""
    own = made_things(x)
    out: list[Any] = [next((o for o in own if isinstance(k, Same) and o is k.obj), None) for k in kids]
    for n, k in enumerate(kids):
        if out[n] is None and not isinstance(k, Same) and (shape := made_of(k)) is not None:
            rest = [o for o in own if not any(o is y for y in out)]
            out[n] = next((o for o in rest if shape_of(structure(content(o))) == shape), None)
    return out


def made_of(t: Template) -> tuple[Any, ...] | None:
    """The same, of a thing that is made on a path."""
    node = bare(t)
    if isinstance(node, Same) and node is not t:  # it has no attributes
        return shape_of(structure(node.obj))
    return (node.cls, node.meta, len(node.kids)) if isinstance(node, Composite) else None


def arrays_in(t: Template) -> Iterator[Ary]:
    """The templates of the arrays of one shape in a template."""
    return (part for part, _ in walk(t) if isinstance(part, Ary))


def sized_in(t: Template) -> Iterator[Sized]:
    """The templates of the arrays of several sizes in a template."""
    return (part for part, _ in walk(t) if isinstance(part, Sized))


def pick(
    a: Any,
    b: Any,
    is_there: Callable[[Any], bool] = lambda x: not isinstance(x, Closure),
    known: Callable[[Any], tuple[Any, ...] | None] = options,
) -> Template | None:
    """The template of a variable that is a string or known thing, or has such a template, on each of two paths; None for others.

    `is_there(x)`: is a thing the same after both? `known(x)`: what a variable may be.
    """
    have, other = (
        (None if x.before else x.options) if isinstance(x, Pick) else known(x.obj if isinstance(x, Same) else x) for x in (a, b)
    )
    if have is None or other is None:
        return None
    both = either(have, other)
    if len(both) == 1:
        return Same(both[0])
    if not all(map(is_there, both)):
        return None
    return Bad(both) if isinstance(both, str) else Pick(both)


def join_texts(join: Callable[[Any, Any], Template], t: Template, a: Any, b: Any, of_branch: bool) -> Template:
    """The template of two texts with numbers in them: of one form, or, on two paths, of one beginning and ends that are known."""
    form, kids = (t.template, t.kids) if isinstance(t, Words) else (a.template, a.operands) if isinstance(a, Text) else ("", ())
    if isinstance(b, Text) and b.template == form:
        return Words(form, tuple(map(join, kids, b.operands)))
    found = import_later("irad.frontend.python.text_pieces").ends(a, b) if of_branch else None
    if found is None:
        return Bad("it is a string that depends on data")
    ends = either(*found[1])
    return Bad(ends) if isinstance(ends, str) else Pick(ends, found[0])


MADE = "irad.frontend.control.made_objects"
MOST_CHOSEN = 64  # containers or objects that a variable may be, by data


def differ(t: Template, b: Any) -> Bad:
    one, other = show(t), show(b)
    other = f"another {one.removeprefix('an ').removeprefix('a ')}" if one == other else other
    return Bad(f"it is {one} on one path and {other} on the other", import_later(MADE).dicts_of(t, b))


def joined_choices(
    a: Any, b: Any, lasting: Callable[[Any, int], bool] | None = None, born: Callable[[Any], Any] = lambda x: None
) -> Template | None:
    """The template of what is one of several by data on one path at least; None where it is so on none. The first may be a template.

    `lasting(x, side)`, of a branch: was a container there before it? After a trip of a loop it is not known. `born(x)`: the region in
    which a thing was made.
    """
    if type(b) is not OneOf and type(a) is not OneOf and not isinstance(a, Chosen):
        return None
    options: list[Any] = []
    homes: list[Any] = []
    for side, x in enumerate((a, b)):
        if isinstance(x, (OneOf, Chosen)):
            new = list(zip(x.options, x.homes))
        elif isinstance(x, (Choice, Pick)) and all(map(is_object, x.options)):
            new = [(o, born(o)) for o in x.options]
        elif x is None or isinstance(x, (Template, Arr, Text, tuple)) or structure(x) is None:
            return Bad(f"it is one of several things on one path and {show(x)} on the other")
        elif (side if lasting is None else not lasting(x, side)) and not any(x is y for y in options):
            return Bad(f"it is one of several things on one path and {show(x)} that is made there on the other")
        else:
            new = [(x, None)]
        for x, home in new:
            if not any(x is y for y in options):
                options.append(x)
                homes.append(home)
    if not all(map(in_scope, homes)) or len(options) > MOST_CHOSEN:
        return Bad("it is one of several things, some of which were made on one path only, or of too many")
    return Chosen(tuple(options), tuple(homes), a.wanted if isinstance(a, (OneOf, Chosen)) else b.wanted)


def disagrees(t: Template) -> str:
    """Why some part of a template is not one thing, else ""."""
    return next((part.message for part, _ in walk(t) if isinstance(part, Bad)), "")


def show(t: Any) -> str:
    """A short name of what a variable is, or of what its template stands for, for error messages."""
    if not isinstance(t, Template):
        return describe(t)
    if isinstance(t, Same):
        return describe(t.obj)
    if isinstance(t, Null):
        return f"{show(t.child)} or {show(t.other) if t.other is not None else None}"
    if isinstance(t, Num):
        return describe(Arr(Value(Type(t.dtype)), t.weak))
    if isinstance(t, (Ary, Sized)):
        return f"an array {t.type}"
    if isinstance(t, Grown):
        return "a list"
    if isinstance(t, (Chosen, Kinds)):
        return "one of several things"
    if isinstance(t, Pick) and type(t.options[0]) is not str:
        return one_of(t.options)
    return describe_class(t.cls) if isinstance(t, Composite) else "perhaps undefined" if isinstance(t, Opt) else "a string"


_EXTENTS = ("axis", "most", "after", "growth", "checked")
_LENGTHS = ("rows", "base", "rate", "most", "after", "growth", "checked", "moves", "cls")


def equal(a: Template, b: Template) -> bool:
    """Do two templates have the same holes and constants?"""
    if type(a) is not type(b):
        return False
    if isinstance(a, Same):
        return same(a.obj, b.obj)  # type: ignore[attr-defined]
    if isinstance(a, Num):
        return a.dtype == b.dtype and a.weak == b.weak and a.mixed == b.mixed  # type: ignore[attr-defined]
    if isinstance(a, Ary):
        return a.type == b.type  # type: ignore[attr-defined]
    if isinstance(a, Sized):
        return a.type == b.type and all(getattr(a, n) == getattr(b, n) for n in _EXTENTS)  # type: ignore[attr-defined]
    if isinstance(a, Pick):
        return a.before is b.before and alike(a.options, b.options)  # type: ignore[attr-defined]
    if isinstance(a, Chosen):
        return len(a.options) == len(b.options) and all(x is y for x, y in zip(a.options, b.options))  # type: ignore[attr-defined]
    if isinstance(a, Null):
        x, y = a.other, b.other  # type: ignore[attr-defined]
        others = equal(x, y) if x is not None and y is not None else x is y
        return others and equal(a.child, b.child)  # type: ignore[attr-defined]
    if isinstance(a, Opt):
        return equal(a.child, b.child)  # type: ignore[attr-defined]
    if isinstance(a, Grown):
        return equal(a.element, b.element) and all(getattr(a, n) == getattr(b, n) for n in _LENGTHS)  # type: ignore[attr-defined]
    if isinstance(a, (Composite, Words, Kinds)):
        return len(a.kids) == len(b.kids) and all(map(equal, a.kids, b.kids))  # type: ignore[attr-defined]
    return True
