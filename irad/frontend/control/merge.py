"""Joining: the template (irad.frontend.control.templates) of a variable on several paths.

A branch joins the outcomes of its two sides; a loop joins what a variable was before a trip with what it is after, until nothing
changes. What fills the holes, and the thing made back from values: irad.frontend.control.filling.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

from irad.core.lazy_dataclass import replace
from irad.core.once import import_later
from irad.core.types import Type, promote
from irad.frontend.control.list_rules import Grower, OfElements, room_of
from irad.frontend.control.templates import (
    MADE,
    Ary,
    Bad,
    Composite,
    Grown,
    Kinds,
    Null,
    Num,
    Opt,
    Pick,
    Same,
    Sized,
    Template,
    Words,
    bare,
    differ,
    disagrees,
    equal,
    is_zero_d,
    join_numbers,
    join_texts,
    joined_choices,
    mutable,
    number,
    pick,
    show,
    structure,
)
from irad.frontend.values.arr import Arr
from irad.frontend.values.choices import Outside, options, things
from irad.frontend.values.objects import UNDEFINED, Array, Choice, Maybe, Nullable, Poison, Stand, Text, Varying, is_number
from irad.frontend.values.runs import GROWING, has_run, head, larger, length_of, most_of, tail
from irad.frontend.values.state import same

Content = Callable[[Any], Any]
_TWO_KINDS = "irad.frontend.control.two_kinds"


def _itself(obj: Any) -> Any:
    return obj


class Joiner:
    """Joins pairs of things. A pair of mutable things that is met twice gives one template, so aliases stay aliases."""

    def __init__(
        self,
        lasting: Callable[[Any, int], bool] | None = None,
        contents: Sequence[Content] = (_itself, _itself),
        grower: Grower | None = None,
        outside: Callable[[Any], bool] = lambda x: False,
        standing: Callable[[Any], bool] | None = None,
        there: Outside | None = None,
        themselves: bool = False,
    ):
        self.there, self.knows_there = there or Outside(), there is not None
        self.grower = grower
        self.themselves = themselves  # is one of two objects that are there always itself?
        self.static: Callable[[], bool] = lambda: False  # of a branch: may it be known which side is taken?
        self.outside = outside  # is an object found by a path, so that what is read of it is followed there?
        self.lasting = lasting  # of a branch: was a container there before it?
        self.standing = lasting if standing is None else lambda x, side: standing(x)  # the same, of a loop too
        self.contents = contents  # what a container holds on each side
        self.memo: dict[tuple[int, int], Template] = {}
        self.pairs: list[tuple[Any, Any, Template]] = []  # containers that were joined, and their template
        self.partners: dict[tuple[int, int], set[int]] = {}  # (side, id): what it is joined with
        self.of_result = False  # is it the result of a branch that is joined? Then it may be one of several tuples.
        self.alone: dict[tuple[int, int | None], Template] = {}  # of containers on one side only
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

    def join_result(self, a: Any, b: Any) -> Template:
        """The template of what a `return` has given, which nothing changes any more: its containers are no variable's."""
        memo, pairs, partners = set(self.memo), list(self.pairs), {k: set(x) for k, x in self.partners.items()}
        out = self.join(a, b)
        self.memo = {k: t for k, t in self.memo.items() if k in memo or not isinstance(bare(t), (Grown, Composite))}
        self.pairs, self.partners = pairs, partners
        return out

    def _note(self, a: Any, b: Any, t: Template) -> None:
        node = bare(t)
        if isinstance(node, Grown) or (isinstance(node, Composite) and node.cls is not tuple):
            self.pairs.append((a, b, node))
            a, b = (None if x is UNDEFINED else x for x in (a, b))  # nothing is one partner
            self.partners.setdefault((0, id(a)), set()).add(id(b))
            self.partners.setdefault((1, id(b)), set()).add(id(a))

    def ambiguous(self, known: Callable[[Any], bool], locked: Callable[[Any], bool]) -> Iterator[tuple[Any, Any, Template]]:
        """Containers joined to a new one though they live on, or are one on one side only: none of them may change any more.

        `known(x)`: does a variable hold a container from before the branch, after it? `locked(x)`: may it not be changed as it is?
        """
        assert self.lasting is not None
        for a, b, node in self.pairs:
            there = [(x, k) for k, x in enumerate((a, b)) if x is not UNDEFINED and x is not None]
            lasting = len(there) == 2 and any(locked(x) or self.lasting(x, k) and known(x) for x, k in there)
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
                return Bad(t.obj.message, t.obj.dicts)
        if isinstance(b, Poison):
            return Bad(b.message, b.dicts)
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
        """Where either is None, or is an array or a number, on some path at least."""
        a = t.obj if isinstance(t, Same) else None
        two = import_later(_TWO_KINDS)
        if isinstance(a, Varying) or isinstance(b, Varying) or (isinstance(t, Null) and t.other is not None):
            return two.joined(self, t, b)
        if self.lasting is not None and any(two.may_be_none(x) and isinstance(y, Array) for x, y in ((t, b), (a, b), (b, a))):
            return two.joined(self, t, b)
        if isinstance(a, Nullable) and b is a.value and isinstance(b, Arr):
            return t  # whoever has the number knows that it is there
        if isinstance(b, Nullable) and a is b.value and isinstance(a, Arr):
            return Same(b)
        if b is None or (isinstance(t, Same) and a is None):
            if isinstance(t, Null):
                return t
            inner = self.inside(b, 1) if b is not None else self.inside(a, 0) if isinstance(t, Same) else t
        elif isinstance(t, Null) or isinstance(a, Nullable) or isinstance(b, Nullable):
            inner = self.join(
                t.child if isinstance(t, Null) else a.value if isinstance(a, Nullable) else a if a is not None else t,
                b.value if isinstance(b, Nullable) else b,
            )
            if isinstance(inner, Null) and inner.other is not None:
                return Bad(f"it is None on one path, {show(inner.child)} on another and {show(inner.other)} on a third")
        else:
            return None
        return inner if isinstance(inner, (Bad, Null)) else Null(inner)

    @staticmethod
    def _inner(t: Template) -> Any:
        if isinstance(t, Same):
            return t.obj.value if isinstance(t.obj, Maybe) else t.obj
        return t

    def _opt(self, obj: Any, side: int) -> Template:
        """The template of something that is defined on one path only."""
        if isinstance(obj, Poison):
            return Bad(obj.message)
        return Opt(self.inside(obj.value if isinstance(obj, Maybe) else obj, side))

    def inside(self, obj: Any, side: int | None) -> Template:
        """The template of what is there on one side only; None: of what every trip of a loop makes."""
        once = lambda x, make: self._once(x, side, make)
        array = lambda x: import_later(_TWO_KINDS).of_one_side(self, x, side)
        return open_(obj, side, self.standing, _itself if side is None else self.contents[side], self.there.has, once, array)

    def _once(self, x: Any, side: int | None, make: Callable[[], Template]) -> Template:
        """The template of a container that is there on one side only: one, wherever it is met, so that it stays one container."""
        key = (id(x), side)
        if key not in self.alone:
            self.keep.append(x)
            self.alone[key] = make()
            if side is not None:
                self._note(x if side == 0 else None, x if side == 1 else None, self.alone[key])
        return self.alone[key]

    def _shape(self, t: Template, b: Any) -> Template:
        """Both are defined and differ: what they have in common."""
        a = t.obj if isinstance(t, Same) else None
        if (found := joined_choices(t if a is None else a, b, self.lasting, self.there.born)) is not None:
            return found
        picked = pick(t, b, self.there.has)
        one_beginning = isinstance(a, Text) and isinstance(b, Text) and a.operands[0] is b.operands[0]
        if one_beginning and self.lasting is not None and not _few(picked):
            return join_texts(self.join, t, a, b, True)
        if picked is not None and not (isinstance(picked, Pick) and type(picked.options[0]) is not str and self.static()):
            return picked
        if isinstance(t, Num) or is_number(a) or (is_zero_d(a) and is_number(b)):
            if is_number(b) or (isinstance(b, Array) and not b.shape):
                return join_numbers(t if isinstance(t, Num) else number(a), number(b))
        elif isinstance(t, (Ary, Sized)) or isinstance(a, Array):
            if isinstance(b, Array):
                return self._arrays(t, a, b)
            if isinstance(t, Ary) and not t.type.shape and is_number(b):
                return join_numbers(Num(t.type.dtype, False), number(b))
        elif isinstance(t, Words) or isinstance(a, Text) or isinstance(b, Text):
            return join_texts(self.join, t, a, b, self.lasting is not None)
        else:
            if self.themselves and not isinstance(b, tuple) and (objects := self._objects(t, b)) is not None:
                return objects
            node = self._lists(t, a, b) or self._nodes(t, a, b)
            if (node is None or disagrees(node)) and (objects := self._objects(t, b)) is not None:
                return objects
            if node is not None:
                return node
        return import_later(_TWO_KINDS).joined(self, t, b) if self.lasting is not None else differ(t, b)

    def _objects(self, t: Template, b: Any) -> Template | None:
        """The template of one of several objects of which no one object can be made: of other classes, or from outside."""
        known = things if self.of_result else lambda x: None if type(x) is tuple else things(x)
        found = pick(t, b, self.there.has, known)
        if found is None and self.knows_there:
            found = import_later(MADE).joined(self, t, b)
        return None if isinstance(found, (Pick, Kinds)) and self.static() else found

    def _arrays(self, t: Template, a: Any, b: Array) -> Template:
        have = t.type if isinstance(t, (Ary, Sized)) else a.type
        widens = self.lasting is not None and not isinstance(t, Sized) and "bool" not in (have.dtype, b.type.dtype)
        dtype = promote(have.dtype, b.type.dtype) if widens else have.dtype  # of a branch: the wider one, as for numbers
        if have.dtype != b.type.dtype and widens and have.shape == b.type.shape:
            return Ary(Type(dtype, have.shape), (t.pair[0] if isinstance(t, Ary) else a, b))
        if have != b.type or isinstance(t, Sized):
            words = f"it is an array {have} on one path and an array {b.type} on the other"
            pair = (t.pair[0] if isinstance(t, (Ary, Sized)) else a, b)
            axes = [k for k, (n, m) in enumerate(zip(have.shape, b.type.shape)) if n != m]
            axis = t.axis if isinstance(t, Sized) else axes[0] if axes else 0
            rest = lambda x: [n for k, n in enumerate(x.shape) if k != axis]
            fits = widens or have.dtype == b.type.dtype
            if self.grower is None or not fits or have.rank != b.type.rank or rest(have) != rest(b.type):
                by_data = self.lasting is not None and isinstance(a, Array) and not self.static()
                if not by_data:
                    return Bad(words)
                two = import_later(_TWO_KINDS).two_shapes(self, [a], [b])
                return two or Bad(words + "; give it one number of axes on all paths (x.reshape(...))")
            found = self.grower.sized(t if isinstance(t, Sized) else None, have, b.type, axis)
            if isinstance(found, str):
                return Bad(words + "; " + found)
            room, *more = found
            shape = tuple(room if k == axis else n for k, n in enumerate(have.shape))
            return Sized(Type(dtype, shape), axis, more[0], more[1], more[2], pair, bool(more[3]))
        return Ary(have, (t.pair[0] if isinstance(t, Ary) else a, b))

    def _lists(self, t: Template, a: Any, b: Any) -> Template | None:
        """The template of lists that differ in length, or whose elements stand in different arrays."""
        if self.grower is None or type(b) not in GROWING or getattr(b, "maxlen", None) is not None:
            return None
        old, x, y = (t if isinstance(t, Grown) else None), None, self.contents[1](b)
        element = old.element if old is not None else None
        if isinstance(t, Composite) and t.cls is type(b) and t.meta is None:  # a trip before has changed some of its elements
            if len(t.kids) == len(y) and head(y) is None:
                return None
            element, x = reduce(meet, map(_of_any, t.kids)) if t.kids else None, [None] * len(t.kids)
            return self._grown(None, element, x, y, b)
        if old is None:
            if type(a) is not type(b):
                return None
            x = self.contents[0](a)
            if len(x) == len(y) and head(x) is head(y):
                return None
            element = elements_of(x, element, self.contents[0])
        return self._grown(old, element, x, y, b)

    def _grown(self, old: Grown | None, element: Template | None, x: Any, y: list[Any], b: Any) -> Template:
        """The template of a list whose elements stand in arrays; `element`: the template of what it held before."""
        assert self.grower is not None
        if not isinstance(element, Bad):
            element = elements_of(y, element, self.contents[1]) or Same(None)
        if isinstance(element, Bad):
            return Bad(f"it is a list that grows, and of an element {element.message}")
        out = self.grower.grown(old, element, x, y)
        return out if type(b) is list or isinstance(out, Bad) else replace(out, cls=type(b))

    def _nodes(self, t: Template, a: Any, b: Any) -> Template | None:
        if isinstance(t, Composite):
            cls, meta, kids = t.cls, t.meta, list(t.kids)
        else:
            found = structure(self.contents[0](a))
            if found is None:
                return None
            cls, meta, kids = found[0], found[1], list(found[2])
        other = structure(self.contents[1](b))
        if other is None or other[0] is not cls:
            return None
        if self.outside(a) or self.outside(b):
            return Bad("it is one of two objects from outside the function; choose between what is read of them")
        if other[1] != meta or len(other[2]) != len(kids):
            what = f"a {cls.__name__} of {len(kids)} on one path and of {len(other[2])} on the other"
            what = what if len(other[2]) != len(kids) else f"a {cls.__name__} with other keys on each path"
            return Bad(f"it is {what}", import_later(MADE).dicts_of(t, b))
        if issubclass(cls, Stand) and cls.of_itself and not same(kids[0], other[2][0]):
            one = self._objects(kids[0] if isinstance(kids[0], Template) else Same(kids[0]), other[2][0])
            return (
                Bad("it is of one of two objects; choose between the objects first")
                if one is None
                else Composite(cls, meta, (one,))
            )
        return Composite(cls, meta, tuple(self.join(x, y) for x, y in zip(kids, other[2])))


class _Apart(Joiner):
    """Joins things of which none may be another's part: each template stands for one thing."""

    def join(self, a: Any, b: Any) -> Template:
        return self._join(a if isinstance(a, Template) else Same(a), b)


def _of_any(t: Template) -> Template:
    """The template of an element, of one that says what it holds: a constant may be another one elsewhere in the list."""
    if isinstance(t, Composite):
        return Composite(t.cls, t.meta, tuple(map(_of_any, t.kids)))
    return open_(t.obj) if isinstance(t, Same) else t


def _few(picked: Template | None) -> bool:
    """Are the strings that a variable may be so few that texts are better told apart as wholes than by how they end?"""
    return isinstance(picked, Pick) and len(picked.options) <= 8


def elements_of(xs: list[Any], element: Template | None, content: Content = _itself) -> Template | None:
    """The template of the elements of a list (and of others, which is `element`); None if there are none."""
    run = head(xs)
    if run is not None:
        element = run.element if element is None else meet(element, run.element)
    for x in tail(xs):
        if isinstance(x, Poison):
            return Bad(x.message)
        element = (
            open_(x, None, None, content) if element is None else _Apart(None, (content, content), OfElements()).join(element, x)
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
    if (picked := pick(a, b)) is not None:
        return picked
    if any(isinstance(x, Null) and x.other is not None for x in (a, b)):
        return Bad(f"it is {show(a)} on one path and {show(b)} on the other")
    if (nothing := [isinstance(x, Same) and x.obj is None for x in (a, b)]) != [False, False]:
        there = b if nothing[0] else a
        return there if isinstance(there, Null) else Null(there)
    if isinstance(a, Null) or isinstance(b, Null):
        inner = meet(*(x.child if isinstance(x, Null) else x for x in (a, b)))
        return inner if isinstance(inner, Bad) else Null(inner)
    if isinstance(a, Grown) and isinstance(b, Grown):
        element, rows = meet(a.element, b.element), larger(a.rows, b.rows)
        if isinstance(element, Bad) or rows is None:
            return element if isinstance(element, Bad) else Bad("it is a list of a length that is not known")
        same = a.rate == b.rate == 0 and a.base == b.base
        return Grown(element, rows, a.base if same else 0, 0 if same else None, rows, rows)
    if (
        isinstance(a, Composite)
        and isinstance(b, Composite)
        and a.cls is b.cls
        and a.meta == b.meta
        and len(a.kids) == len(b.kids)
    ):
        return Composite(a.cls, a.meta, tuple(map(meet, a.kids, b.kids)))
    return Bad(f"it is {show(a)} on one path and {show(b)} on the other")


def open_(
    obj: Any,
    side: int | None = None,
    lasting: Callable[[Any, Any], bool] | None = None,
    content: Content = _itself,
    there: Callable[[Any], bool] | None = None,
    once: Callable[[Any, Callable[[], Template]], Template] = lambda x, make: make(),
    array: Callable[[Array], Template] = lambda x: Ary(x.type, (x, x)),
) -> Template:
    """The template with a hole for every number and array in a thing; what has none stays itself.

    `side`: it is there on that side of a branch only; `lasting(x, side)`: a container that was there before the branch or loop,
    which stays itself; `content(x)`: what a container holds now; `there(x)`: is a known thing there outside? `once(x, make)`:
    the template of a container that can be changed, made at first. `array(x)`: that of an array.
    """
    inner = lambda x: open_(x, side, lasting, content, there, once, array)
    if is_number(obj):
        return number(obj)
    if isinstance(obj, Array):
        return array(obj)
    if isinstance(obj, Nullable):
        return Null(inner(obj.value), inner(obj.other) if isinstance(obj, Varying) else None)
    if isinstance(obj, Maybe):
        return Opt(inner(obj.value))
    if isinstance(obj, Choice):
        return import_later(MADE).opened(obj, there, inner)
    if isinstance(obj, Text) and (found := options(obj)) is not None:
        return Pick(found)
    if isinstance(obj, Text):
        return Words(obj.template, tuple(map(inner, obj.operands)))
    if (one := joined_choices(obj, obj)) is not None:
        return one
    if lasting is not None and mutable(obj) and lasting(obj, side):
        return Same(obj)
    if isinstance(obj, (list, collections.deque)) and has_run(content(obj)):
        return once(obj, lambda: replace(_open_run(content(obj), content), cls=type(obj)))
    if (found := structure(content(obj))) is None or not found[2]:
        return Same(obj)
    made = lambda: Composite(found[0], found[1], tuple(map(inner, found[2])))
    return once(obj, made) if mutable(obj) else made()


def _open_run(xs: list[Any], content: Content) -> Template:
    """The template of a list whose elements stand in arrays."""
    element = elements_of(xs, None, content)
    assert element is not None
    most, length, rows = most_of(xs), length_of(xs), room_of(xs)
    if isinstance(element, Bad) or rows is None:
        return element if isinstance(element, Bad) else Bad("it is a list of a length that is not known")
    run = xs[0]
    static = isinstance(length, int) and run.start == 0
    start = run.start != 0
    return Grown(element, rows, length if static else 0, 0 if static else None, most, most, checked=run.checked, moves=start)
