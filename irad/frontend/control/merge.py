"""Templates: the structure that a variable has on every path, with holes (SSA values) where the paths differ.

`join` finds the template of two things; `leaves` gives the values that fill its holes for one thing, in a region;
`make` builds the thing back from values. A branch joins the outcomes of its two sides; a loop joins what a variable was
before a trip with what it is after, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from irad.core.foreign import is_instance
from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass
from irad.core.tree import Attributes, parts, rebuild
from irad.core.types import BOOL, I64, Dim, Type, complex_dtype, is_complex, is_float, promote
from irad.frontend.numpy.python_scalars import OVERFLOW
from irad.frontend.values.arr import Arr, constant, dtype_of, lift
from irad.frontend.values.objects import (
    UNDEFINED,
    Array,
    Cell,
    Closure,
    Maybe,
    Method,
    Nullable,
    Poison,
    StructureError,
    Text,
    describe,
    is_number,
)
from irad.frontend.values.runs import (
    Run,
    empty_column,
    has_run,
    head,
    larger,
    length_of,
    most_of,
    stacked,
    tail,
    with_room,
    with_row,
)
from irad.frontend.values.state import same
from irad.ops.array import dim_value
from irad.ops.constant import const, scalar
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, eq, select
from irad.ops.intervals import affine_of, bound, dim_interval
from irad.ops.text import choice_field, choices_of


@dataclass(frozen=True, eq=False)
class Template:
    """Base of templates."""


@dataclass(frozen=True, eq=False)
class Same(Template):
    """The same thing on every path."""

    obj: Any


@dataclass(frozen=True, eq=False)
class Num(Template):
    """A number; see `Arr`."""

    dtype: str
    weak: bool
    mixed: bool = False


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
    """Perhaps None: a flag, then the holes of what it is otherwise."""

    child: Template


@dataclass(frozen=True, eq=False)
class Node(Template):
    """A tuple, list, dict, dataclass... with templates as children."""

    cls: type
    meta: Any
    kids: tuple[Template, ...]


@dataclass(frozen=True, eq=False)
class Grown(Template):
    """A list of another length on each path or trip: elements of one template, in arrays with room for `rows` of them.

    Its length is `base + rate * trip`, or a hole if `rate` is None. In a loop a trip adds at most `growth` elements; at the start
    of a trip there are at most `most`, after the loop `after`.
    """

    element: Template
    rows: Dim
    base: Dim
    rate: int | None
    most: Dim
    after: Dim
    growth: int = 0

    def run(self, columns: Sequence[Value], length: Dim, most: Dim) -> Run:
        return Run(self.element, columns, length, most)


class Grower:
    """What a loop or branch does with a list whose length differs; see irad.frontend.control.list_rules."""

    def grown(self, old: Grown | None, element: Template, x: Any, y: list[Any]) -> Template:
        """The template of a list that was x (or had a template), and is y. May be `Bad`."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Words(Template):
    """A string with numbers in it."""

    template: str
    kids: tuple[Template, ...]


@dataclass(frozen=True, eq=False)
class Pick(Template):
    """One of some strings, by its number."""

    options: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Bad(Template):
    """Things that cannot be one; reading the variable is an error."""

    message: str


# ---- numbers --------------------------------------------------------------------------------------------------


def is_weak_number(x: Any) -> bool:
    """A Python number (bool included), traced or not."""
    return x.weak if isinstance(x, Arr) else type(x) in (bool, int, float, complex)


def join_numbers(a: Num, b: Num) -> Num:
    """The type of a variable that is a on one path and b on the other, as Python and NumPy would mix them."""
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


# ---- joining ----------------------------------------------------------------------------------------------------


Content = Callable[[Any], Any]


def _itself(obj: Any) -> Any:
    return obj


class Joiner:
    """Joins pairs of things. A pair of mutable things that is met twice gives one template, so aliases stay aliases."""

    def __init__(
        self,
        lasting: Callable[[Any, int], bool] | None = None,
        contents: Sequence[Content] = (_itself, _itself),
        grower: Grower | None = None,
    ):
        self.grower = grower
        self.lasting = lasting  # of a branch: was a container there before it?
        self.contents = contents  # what a container holds on each side
        self.memo: dict[tuple[int, int], Template] = {}
        self.pairs: list[tuple[Any, Any, Template]] = []  # containers that were joined, and their template
        self.partners: dict[tuple[int, int], set[int]] = {}  # (side, id): what it is joined with
        self.keep: list[Any] = []

    def join(self, a: Any, b: Any) -> Template:
        """The template of two things; the first may be a template already."""
        key = (id(a), id(b))
        if key not in self.memo:
            self.keep += [a, b]
            ta = a if isinstance(a, Template) else Same(a)
            self.memo[key] = self._join(ta, b)
            self._note(a, b, self.memo[key])
        return self.memo[key]

    def _note(self, a: Any, b: Any, t: Template) -> None:
        node = bare(t)
        if isinstance(node, Grown) or (isinstance(node, Node) and node.cls is not tuple):
            self.pairs.append((a, b, node))
            self.partners.setdefault((0, id(a)), set()).add(id(b))
            self.partners.setdefault((1, id(b)), set()).add(id(a))

    def ambiguous(self, known: Callable[[Any], bool]) -> Iterator[tuple[Any, Any, Template]]:
        """Containers joined to a new one though they live on, or are one on one side only: none of them may change any more.

        `known(x)`: does a variable hold a container from before the branch, after it?
        """
        assert self.lasting is not None
        for a, b, node in self.pairs:
            there = [(x, k) for k, x in enumerate((a, b)) if x is not UNDEFINED and x is not None]
            lasting = len(there) == 2 and any(self.lasting(x, k) and known(x) for x, k in there)
            if lasting or any(len(self.partners[k, id(x)]) > 1 for x, k in there):
                yield a, b, node

    def _join(self, t: Template, b: Any) -> Template:
        if isinstance(t, Bad):
            return t
        if isinstance(t, Same):
            if same(t.obj, b):
                return t
            if t.obj is UNDEFINED:
                return self._opt(b, 1)
            if isinstance(t.obj, Poison):
                return Bad(t.obj.message)
        if isinstance(b, Poison):
            return Bad(b.message)
        if isinstance(b, Maybe):
            inner = self.join(t.child if isinstance(t, Opt) else self._inner(t), b.value)
            return inner if isinstance(inner, Bad) else Opt(inner)
        if b is UNDEFINED:
            return t if isinstance(t, Opt) else self._opt(t.obj, 0) if isinstance(t, Same) else Opt(t)
        if isinstance(t, Opt):
            inner = self.join(t.child, b)
            return inner if isinstance(inner, Bad) else Opt(inner)
        if isinstance(t, Same) and isinstance(t.obj, Maybe):
            inner = self.join(t.obj.value, b)
            return inner if isinstance(inner, Bad) else Opt(inner)
        return self._nullable(t, b) or self._shape(t, b)

    def _nullable(self, t: Template, b: Any) -> Template | None:
        """Where either is None, on some path at least."""
        a = t.obj if isinstance(t, Same) else None
        if isinstance(a, Nullable) and b is a.value and isinstance(b, Arr):
            return t  # whoever has the number knows that it is there
        if isinstance(b, Nullable) and a is b.value and isinstance(a, Arr):
            return Same(b)
        if b is None or (isinstance(t, Same) and a is None):
            if isinstance(t, Null):
                return t
            inner = self._inside(b, 1) if b is not None else self._inside(a, 0) if isinstance(t, Same) else t
        elif isinstance(t, Null) or isinstance(a, Nullable) or isinstance(b, Nullable):
            inner = self.join(
                t.child if isinstance(t, Null) else a.value if isinstance(a, Nullable) else a if a is not None else t,
                b.value if isinstance(b, Nullable) else b,
            )
        else:
            return None
        return inner if isinstance(inner, (Bad, Null)) else Null(inner)

    @staticmethod
    def _inner(t: Template) -> Any:
        if isinstance(t, Same):
            return t.obj.value if isinstance(t.obj, Maybe) else t.obj
        return t

    def _opt(self, obj: Any, side: int) -> Template:
        """Of something defined on one path only."""
        if isinstance(obj, Poison):
            return Bad(obj.message)
        return Opt(self._inside(obj.value if isinstance(obj, Maybe) else obj, side))

    def _inside(self, obj: Any, side: int) -> Template:
        """Of what is there on one side only."""
        return open_(obj, side, self.lasting, self.contents[side])

    def _shape(self, t: Template, b: Any) -> Template:
        """Both are defined and differ: what they have in common."""
        a = t.obj if isinstance(t, Same) else None
        have, other = t.options if isinstance(t, Pick) else choices(a), choices(b)
        if have is not None and other is not None:
            return _one_of((*have, *(o for o in other if o not in have)))
        if isinstance(t, Num) or is_number(a) or (_is_zero_d(a) and is_number(b)):
            if is_number(b) or (isinstance(b, Array) and not b.shape):
                return join_numbers(t if isinstance(t, Num) else number(a), number(b))
        elif isinstance(t, Ary) or isinstance(a, Array):
            if isinstance(b, Array):
                return self._arrays(t, a, b)
            if isinstance(t, Ary) and not t.type.shape and is_number(b):
                return join_numbers(Num(t.type.dtype, False), number(b))
        elif isinstance(t, Words) or isinstance(a, Text):
            return self._words(t, a, b)
        else:
            node = self._lists(t, a, b) or self._nodes(t, a, b)
            if node is not None:
                return node
        return Bad(f"it is {show(t)} on one path and {describe(b)} on the other")

    def _arrays(self, t: Template, a: Any, b: Array) -> Template:
        have = t.type if isinstance(t, Ary) else a.type
        if have != b.type:
            return Bad(f"it is an array {have} on one path and an array {b.type} on the other")
        return Ary(have, (t.pair[0] if isinstance(t, Ary) else a, b))

    def _words(self, t: Template, a: Any, b: Any) -> Template:
        template, kids = (t.template, t.kids) if isinstance(t, Words) else (a.template, a.operands)
        if not isinstance(b, Text) or b.template != template:
            return Bad("it is a string that depends on data")
        return Words(template, tuple(self.join(x, y) for x, y in zip(kids, b.operands)))

    def _lists(self, t: Template, a: Any, b: Any) -> Template | None:
        """Of lists that differ in length, or whose elements stand in different arrays."""
        if self.grower is None or type(b) is not list:
            return None
        old, x, y = (t if isinstance(t, Grown) else None), None, self.contents[1](b)
        if old is None:
            if type(a) is not list:
                return None
            x = self.contents[0](a)
            if len(x) == len(y) and head(x) is head(y):
                return None
        element = old.element if old is not None else None
        for k, xs in ((0, x), (1, y)):
            if xs is not None:
                element = elements_of(xs, element, self.contents[k])
        if element is None:
            element = Same(None)
        if isinstance(element, Bad):
            return Bad(f"it is a list that grows, and of an element {element.message}")
        return self.grower.grown(old, element, x, y)

    def _nodes(self, t: Template, a: Any, b: Any) -> Template | None:
        if isinstance(t, Node):
            cls, meta, kids = t.cls, t.meta, list(t.kids)
        else:
            found = structure(self.contents[0](a))
            if found is None:
                return None
            cls, meta, kids = found[0], found[1], list(found[2])
        other = structure(self.contents[1](b))
        if other is None or other[0] is not cls:
            return None
        if other[1] != meta or len(other[2]) != len(kids):
            what = f"a {cls.__name__} of {len(kids)} on one path and of {len(other[2])} on the other"
            return Bad(f"it is {what}" if len(other[2]) != len(kids) else f"it is a {cls.__name__} with other keys on each path")
        return Node(cls, meta, tuple(self.join(x, y) for x, y in zip(kids, other[2])))


class _OfElements(Grower):
    """Of lists that are elements of a list."""

    def grown(self, old: Grown | None, element: Template, x: Any, y: list[Any]) -> Template:
        rows = _room(x) if old is None else old.rows
        length = length_of(x) if old is None else old.base if old.rate is not None else None
        other = _room(y)
        most = None if rows is None or other is None else larger(rows, other)
        if most is None:
            return Bad("it is a list of a length that is not known")
        same = length is not None and length == length_of(y) and isinstance(length, int)
        return Grown(element, most, length if same else 0, 0 if same else None, most, most)  # type: ignore[arg-type]


def _room(xs: list[Any]) -> Dim | None:
    return larger(most_of(xs), xs[0].rows) if has_run(xs) else len(xs)


class _Apart(Joiner):
    """Joins things of which none may be another's part: each template stands for one thing."""

    def join(self, a: Any, b: Any) -> Template:
        return self._join(a if isinstance(a, Template) else Same(a), b)


def elements_of(xs: list[Any], element: Template | None, content: Content = _itself) -> Template | None:
    """The template of the elements of a list (and of others, which is `element`); None if there are none."""
    run = head(xs)
    if run is not None:
        element = run.element if element is None else meet(element, run.element)
    for x in tail(xs):
        if isinstance(x, Poison):
            return Bad(x.message)
        element = (
            open_(x, None, None, content) if element is None else _Apart(None, (content, content), _OfElements()).join(element, x)
        )
    return element


def meet(a: Template, b: Template) -> Template:
    """The template of what has either of two templates."""
    if a is b or isinstance(a, Bad) or equal(a, b):
        return a
    if isinstance(b, Bad):
        return b
    if isinstance(a, Num) and isinstance(b, Num):
        return join_numbers(a, b)
    if isinstance(a, Null) or isinstance(b, Null):
        inner = meet(*(x.child if isinstance(x, Null) else x for x in (a, b)))
        return inner if isinstance(inner, Bad) else Null(inner)
    if isinstance(a, Grown) and isinstance(b, Grown):
        element, rows = meet(a.element, b.element), larger(a.rows, b.rows)
        if isinstance(element, Bad) or rows is None:
            return element if isinstance(element, Bad) else Bad("it is a list of a length that is not known")
        same = a.rate == b.rate == 0 and a.base == b.base
        return Grown(element, rows, a.base if same else 0, 0 if same else None, rows, rows)
    if isinstance(a, Node) and isinstance(b, Node) and a.cls is b.cls and a.meta == b.meta and len(a.kids) == len(b.kids):
        return Node(a.cls, a.meta, tuple(map(meet, a.kids, b.kids)))
    return Bad(f"it is {show(a)} on one path and {show(b)} on the other")


def structure(obj: Any) -> tuple[type, Any, Sequence[Any]] | None:
    """(class, static part, children) of a container or plain instance; None for anything else."""
    if isinstance(obj, (Arr, Array, Maybe, Nullable, Poison, Text, Method, Closure)):
        return None
    found = parts(obj)
    if found is not None:
        return found
    cls = type(obj)
    plain = (
        hasattr(obj, "__dict__")
        and (not callable(obj) or is_instance(obj))
        and cls.__module__ != "builtins"
        and not isinstance(obj, type)
    )
    if plain and cls.__setattr__ is object.__setattr__ and not isinstance(obj, BaseException):
        return cls, Attributes(tuple(vars(obj))), tuple(vars(obj).values())
    return None


def mutable(obj: Any) -> bool:
    """A container or instance that two variables can share and change."""
    return not isinstance(obj, tuple)


def _is_zero_d(a: Any) -> bool:
    return isinstance(a, Array) and not a.shape


def number(x: Any) -> Num:
    """The kind of a number; an array of rank 0 counts as a NumPy scalar."""
    if isinstance(x, Array):
        return Num(x.type.dtype, False)
    return Num(dtype_of(x), is_weak_number(x), isinstance(x, Arr) and x.mixed)


def open_(
    obj: Any, side: int | None = None, lasting: Callable[[Any, int], bool] | None = None, content: Content = _itself
) -> Template:
    """The template with a hole for every number and array in a thing; what has none stays itself.

    `side`: it is there on that side of a branch only; `lasting(x, side)`: a container that was there before, which stays
    itself; `content(x)`: what a container holds now.
    """
    if is_number(obj):
        return number(obj)
    if isinstance(obj, Array):
        return Ary(obj.type, (obj, obj) if side is None else (obj, None) if side == 0 else (None, obj))
    if isinstance(obj, Nullable):
        return Null(open_(obj.value, side, lasting, content))
    if isinstance(obj, Text):
        return Words(obj.template, tuple(open_(o, side, lasting, content) for o in obj.operands))
    if isinstance(obj, list) and has_run(content(obj)):
        return _open_run(content(obj), content)
    found = structure(content(obj))
    if found is None or not found[2] or (side is not None and lasting is not None and mutable(obj) and lasting(obj, side)):
        return Same(obj)
    kids = tuple(open_(c, side, lasting, content) for c in found[2])
    return Node(found[0], found[1], kids)


def _open_run(xs: list[Any], content: Content) -> Template:
    """Of a list with elements in arrays."""
    element = elements_of(xs, None, content)
    assert element is not None
    most, length, rows = most_of(xs), length_of(xs), _room(xs)
    if isinstance(element, Bad) or rows is None:
        return element if isinstance(element, Bad) else Bad("it is a list of a length that is not known")
    static = isinstance(length, int)
    return Grown(element, rows, length if static else 0, 0 if static else None, most, most)


def bare(t: Template) -> Template:
    """The template of what is there, where something is."""
    while isinstance(t, (Opt, Null)):
        t = t.child
    return t


def arrays_in(t: Template) -> Iterator[Ary]:
    """The templates of the arrays in a template."""
    if isinstance(t, Ary):
        yield t
    elif isinstance(t, (Opt, Null)):
        yield from arrays_in(t.child)
    elif isinstance(t, Node):
        for k in t.kids:
            yield from arrays_in(k)


MOST_STRINGS = 16


def choices(x: Any) -> tuple[str, ...] | None:
    """The strings that a variable may be: itself, or those that it is chosen from; None for anything else."""
    return (x,) if type(x) is str else choices_of(x.template) if isinstance(x, Text) else None


def _one_of(options: tuple[str, ...]) -> Template:
    return Pick(options) if len(options) <= MOST_STRINGS else Bad(f"it is one of more than {MOST_STRINGS} strings")


def _chosen(options: tuple[str, ...], x: Any) -> Value:
    """The number of a string among the options."""
    if isinstance(x, str):
        return scalar(options.index(x), "i64")
    own, v = choices(x) or (), x.operands[0].value
    if own == options[: len(own)]:
        return v  # type: ignore[no-any-return]
    out = scalar(options.index(own[0]), "i64")
    for k, o in enumerate(own[1:], 1):
        out = select(eq(v, scalar(k, "i64")), scalar(options.index(o), "i64"), out)
    return out


def disagrees(t: Template) -> str:
    """Why some part of a template is not one thing, else ""."""
    if isinstance(t, Bad):
        return t.message
    kids = (t.child,) if isinstance(t, (Opt, Null)) else t.kids if isinstance(t, Node) else ()
    return next(filter(None, map(disagrees, kids)), "")


def show(t: Template) -> str:
    if isinstance(t, Same):
        return describe(t.obj)
    if isinstance(t, Null):
        return f"{show(t.child)} or None"
    if isinstance(t, Num):
        return describe(Arr(Value(Type(t.dtype)), t.weak))
    if isinstance(t, Ary):
        return f"an array {t.type}"
    if isinstance(t, Grown):
        return "a list"
    return f"a {t.cls.__name__}" if isinstance(t, Node) else "perhaps undefined" if isinstance(t, Opt) else "a string"


_LENGTHS = ("rows", "base", "rate", "most", "after", "growth")


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
    if isinstance(a, Pick):
        return a.options == b.options  # type: ignore[attr-defined]
    if isinstance(a, (Opt, Null)):
        return equal(a.child, b.child)  # type: ignore[attr-defined]
    if isinstance(a, Grown):
        return equal(a.element, b.element) and all(getattr(a, n) == getattr(b, n) for n in _LENGTHS)  # type: ignore[attr-defined]
    if isinstance(a, (Node, Words)):
        return len(a.kids) == len(b.kids) and all(map(equal, a.kids, b.kids))  # type: ignore[attr-defined]
    return True


# ---- filling and building -----------------------------------------------------------------------------------------


def leaves(t: Template, obj: Any, read: Any, seen: set[int] | None = None) -> list[Value]:
    """Values that fill the holes of `t` for `obj`, made in the current builder. `read(array)` gives an array's content."""
    seen = set() if seen is None else seen
    if isinstance(t, Num):
        return [number_value(read(obj) if isinstance(obj, Array) else obj, t.dtype)]
    if isinstance(t, (Same, Bad)):
        return []
    if isinstance(t, Pick):
        return [_chosen(t.options, obj)]
    if isinstance(t, Opt):
        if obj is UNDEFINED:
            return [scalar(False, "bool"), *map(zero, holes(t.child, seen))]
        flag = lift(obj.defined).value if isinstance(obj, Maybe) else scalar(True, "bool")
        return [flag, *leaves(t.child, obj.value if isinstance(obj, Maybe) else obj, read, seen)]
    if isinstance(t, Null):
        if obj is None:
            return [scalar(False, "bool"), *map(zero, holes(t.child, seen))]
        flag = obj.there.value if isinstance(obj, Nullable) else scalar(True, "bool")
        return [flag, *leaves(t.child, obj.value if isinstance(obj, Nullable) else obj, read, seen)]
    if id(t) in seen:
        return []
    seen.add(id(t))
    if isinstance(t, Ary):
        content = read(obj)
        return [content.value if isinstance(content, Arr) else constant(content)]
    if isinstance(t, Grown):
        return _run_leaves(t, obj, read)
    kids = obj.operands if isinstance(t, Words) else structure(obj)[2]  # type: ignore[index]
    return [v for k, x in zip(t.kids, kids) for v in leaves(k, x, read, seen)]  # type: ignore[attr-defined]


def holes(t: Template, seen: set[int] | None = None) -> list[Type]:
    """Types of the values that `leaves` gives, each shared template once."""
    seen = set() if seen is None else seen
    if isinstance(t, Num):
        return [Type(t.dtype)]
    if isinstance(t, Pick):
        return [I64]
    if isinstance(t, (Opt, Null)):
        return [BOOL, *holes(t.child, seen)]
    if isinstance(t, (Same, Bad)) or id(t) in seen:
        return []
    seen.add(id(t))
    if isinstance(t, Grown):
        columns = [Type(h.dtype, (t.rows, *h.shape)) for h in holes(t.element)]
        return columns if t.rate is not None else [I64, *columns]
    return [t.type] if isinstance(t, Ary) else [h for k in t.kids for h in holes(k, seen)]  # type: ignore[attr-defined]


def number_value(x: Any, dtype: str) -> Value:
    """A number as a scalar value of a dtype; an int of more than 64 bits raises where the program gets there."""
    if type(x) is int and dtype == "i64" and not -(2**63) <= x < 2**63:
        raise_if(scalar(True, "bool"), exc="OverflowError", message=OVERFLOW)
        return scalar(0, dtype)
    return cast_to(x.value, dtype) if isinstance(x, Arr) else scalar(np.asarray(x).astype(Type(dtype).numpy).item(), dtype)


def zero(t: Type) -> Value:
    return const(value=0, type=t)


# ---- lists whose elements stand in arrays ------------------------------------------------------------------------


def _run_leaves(t: Grown, xs: list[Any], read: Any) -> list[Value]:
    """The length, unless it follows from the trip, and the columns of a list."""
    if has_run(xs) and xs[0].stale:
        raise StructureError(STALE_LIST)
    read = getattr(read, "elements", read)
    types = holes(t.element)
    rows = [leaves(t.element, x, read) for x in tail(xs)]
    if has_run(xs):
        start = xs[0].length
        columns = [with_room(c, t.rows) for c in widened(xs[0], t.element)]
        for k, values in enumerate(rows):
            columns = [with_row(c, start + k, v) for c, v in zip(columns, values)]
    else:
        columns = [stacked([values[k] for values in rows], h, t.rows) for k, h in enumerate(types)]
    return columns if t.rate is not None else [dim_value(length_of(xs)), *columns]


STALE_LIST = (
    "an array was put into this list, and has been changed since, or may be one that has; "
    "put a copy into the list (xs.append(x.copy()))"
)


def widened(run: Run, element: Template) -> list[Value]:
    """The columns of a run as those of a wider template of its elements."""
    return _widened(run.element, element, iter(run.columns), run.rows)


def _widened(have: Template, want: Template, columns: Iterator[Value], rows: Dim) -> list[Value]:
    if isinstance(have, Num) and isinstance(want, Num):
        return [cast_to(next(columns), want.dtype)]
    if equal(have, want):
        return [next(columns) for _ in holes(have)]
    flag = lambda there: const(value=there, type=Type("bool", (rows,)))
    if isinstance(want, Null):
        if isinstance(have, Null):
            return [next(columns), *_widened(have.child, want.child, columns, rows)]
        if isinstance(have, Same) and have.obj is None:
            return [flag(False), *(empty_column(h, rows) for h in holes(want.child))]
        return [flag(True), *_widened(have, want.child, columns, rows)]
    if isinstance(want, Grown) and isinstance(have, Grown) and equal(have.element, want.element):
        lengths = [next(columns)] if have.rate is None else [const(value=have.base, type=Type("i64", (rows,)))]
        inner = [next(columns) for _ in holes(have.element)]
        return [*(lengths if want.rate is None else []), *(with_room(c, want.rows, 1) for c in inner)]
    if isinstance(want, Node) and isinstance(have, Node) and len(want.kids) == len(have.kids):
        return [v for a, b in zip(have.kids, want.kids) for v in _widened(a, b, columns, rows)]
    raise StructureError(f"a list of {show(have)} becomes a list of {show(want)}")


class Maker:
    """Builds things back from the values of their holes; `array(template, value)` makes an array object.

    `trip`: the number of trips made, where what is built stands at the start of a trip; or after `all` of a loop's.
    """

    def __init__(
        self, values: Sequence[Value], array: Any, made: Any = lambda obj, node: obj, trip: Dim | None = None, all: bool = True
    ):
        self.trip, self.all = trip, all
        self.runs: dict[int, Run] = {}  # id of a template -> what the list holds
        self.values: Iterator[Value] = iter(values)
        self.array, self.made = array, made
        self.memo: dict[int, Any] = {}

    def make(self, t: Template) -> Any:
        if isinstance(t, Same):
            return t.obj
        if isinstance(t, Bad):
            return Poison(t.message)
        if isinstance(t, Num):
            return Arr(next(self.values), t.weak, t.mixed)
        if isinstance(t, Pick):
            return Text(choice_field(t.options), (Arr(next(self.values), True),))
        if isinstance(t, Opt):
            flag = Arr(next(self.values), True)
            return Maybe(self.make(t.child), flag)
        if isinstance(t, Null):
            there = Arr(next(self.values), True)
            return Nullable(self.make(t.child), there)
        if id(t) not in self.memo:
            self.memo[id(t)] = self._new(t)
        return self.memo[id(t)]

    def _new(self, t: Template) -> Any:
        if isinstance(t, Ary):
            return self.array(t, next(self.values))
        if isinstance(t, Words):
            return Text(t.template, tuple(map(self.make, t.kids)))
        if isinstance(t, Grown):
            return self.made([self._run(t)], t)
        assert isinstance(t, Node)
        return self.made(rebuild(t.cls, t.meta, [self.make(k) for k in t.kids]), t)

    def _run(self, t: Grown) -> Run:
        most = t.after if self.all else t.most
        if t.rate is None:
            n = next(self.values)
            bound(n, 0, dim_interval(most)[1])
            length: Dim = affine_of(n)
        else:
            assert self.trip is not None or not t.rate
            length = t.base + (self.trip * t.rate if self.trip is not None else 0)
        out = self.runs[id(t)] = t.run([next(self.values) for _ in holes(t.element)], length, most)
        return out


def fresh_array(t: Ary, value: Value) -> Array:
    """An array object with storage of its own."""
    return Array(Cell(value))
