"""Comparisons, and/or/not, conditional expressions, truth."""

from __future__ import annotations

import ast
import collections
import operator
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from irad.core.foreign import base_items, base_method, is_container, is_in_class, is_instance, is_mapped
from irad.core.structured import Bytes, Structured
from irad.errors import UnsupportedError
from irad.frontend.control import lists, nullable
from irad.frontend.control.facts import assume
from irad.frontend.control.flow import branch, conjunction, disjunction, finish, inverse
from irad.frontend.control.generators import made
from irad.frontend.control.holders import known_apart
from irad.frontend.control.regions import absorb, run_region
from irad.frontend.control.sequences import Generator, Seq, Stream
from irad.frontend.control.special import compares_itself, full_name, key_of, special_method
from irad.frontend.control.stands import Stands
from irad.frontend.control.templates import structure
from irad.frontend.control.varying import split, varies
from irad.frontend.numpy.table import OPERATORS
from irad.frontend.python.numbers import BUILTINS
from irad.frontend.reader import Reader, expression
from irad.frontend.reading.expressions import same_or_equal
from irad.frontend.values.arr import Arr, dtype_of, from_dim
from irad.frontend.values.callables import Native
from irad.frontend.values.choices import OneOf, same_option
from irad.frontend.values.objects import (
    Array,
    Choice,
    Either,
    Nullable,
    Poison,
    Stand,
    Text,
    Varying,
    class_of_number,
    describe,
    is_number,
    is_traced_deep,
    python_method,
)
from irad.frontend.values.runs import has_run, length_of
from irad.frontend.values.state import Region
from irad.ops.array import any_ as any_of
from irad.ops.core import effects
from irad.ops.text import choices_of

COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"
}  # fmt: skip


@expression(ast.Compare)
def compare(r: Reader, e: ast.Compare) -> Any:
    which = all(isinstance(op, (ast.Is, ast.IsNot)) for op in e.ops)
    x = r.itself(e.left) if which else r.perhaps(e.left)

    def link(k: int, x: Any) -> Any:
        if isinstance(e.ops[k], (ast.In, ast.NotIn)):
            with ExitStack() as until:
                y = r.look(e.comparators[k], until)
                r.at(e)
                return chained(k, compare_one(r, e.ops[k], x, y), y)
        y = r.itself(e.comparators[k]) if which else r.perhaps(e.comparators[k])
        r.at(e)
        return chained(k, compare_one(r, e.ops[k], x, y), y)

    def chained(k: int, first: Any, y: Any) -> Any:
        if k == len(e.ops) - 1:
            return first
        return both(r, first, lambda: link(k + 1, y))

    return link(0, x)


def compare_one(r: Reader, op: ast.cmpop, x: Any, y: Any) -> Any:
    if isinstance(op, (ast.Is, ast.IsNot)):
        r.captures.pin(*(v for v in (x, y) if not isinstance(v, (Nullable, OneOf))))
        same = identical(r, x, y)
        if isinstance(op, ast.Is):
            return same
        return inverse(same)
    if isinstance(op, (ast.In, ast.NotIn)):
        found = contains(r, x, y)
        if isinstance(op, ast.In):
            return found
        return inverse(found)
    return r.operator(COMPARE[type(op)], *(v.whole(r) if isinstance(v, Stand) else v for v in (x, y)))


for _op, _fn in ((ast.Is(), operator.is_), (ast.IsNot(), operator.is_not)):
    BUILTINS[_fn] = lambda r, x, y, _op=_op: compare_one(r, _op, x, y)
BUILTINS[operator.contains] = lambda r, xs, x: contains(r, x, xs)
BUILTINS[operator.not_] = lambda r, x: inverse(r.truth(x))
BUILTINS[operator.countOf] = lambda r, xs, x: r.call(r.getattr(r.call(list, [xs]), "count"), [x])


def identical(r: Reader, x: Any, y: Any) -> Any:
    """x is y: a bool, or a traced one.

    Python has one True and one False, and NumPy has one of each of its own, so the identity of bools of one kind is their
    equality. Other numbers of one type may or may not be one object in Python: that is no property of the program.
    """
    if type(x) is OneOf or type(y) is OneOf:
        return r.several().identical(r, x, y)
    if any(type(v) is Choice for v in (x, y)) and not any(type(v) is Varying for v in (x, y)):
        return same_option(x, y)
    if varies((x, y)):
        return split(r, (x, y), lambda a, b: identical(r, a, b))
    if isinstance(x, Nullable) or isinstance(y, Nullable):
        return nullable.identical(r, x, y)
    if x is y or (type(x) is Array and type(y) is Array and x.cell is y.cell and x.steps == y.steps):
        return True
    for a, b in ((x, y), (y, x)):
        if isinstance(a, Either) and isinstance(b, Array):
            return _one_of(r, a.cond, identical(r, a.left, b), identical(r, a.right, b))
    found = r.captures.identity(x, y)
    if found is not None:
        return found
    if is_mapped(x) and type(x) is type(y):
        return r.truth(r.call(r.getattr(x, "same_as"), [y]))
    if type(x) is type(y) and any(map(r.state.locked, (x, y))) and structure(x) is not None:
        raise r.locked_error(
            x,
            f"'is' of a {type(x).__name__} that is one of several, depending on data; compare what is in it, or keep a number that says which",
        )
    if not (isinstance(x, Arr) or isinstance(y, Arr)) or not (is_number(x) and is_number(y)):
        return False
    if any(isinstance(v, Arr) and v.mixed for v in (x, y)):
        raise UnsupportedError(
            "'is' of a number that is of one class on one path and of another class on the other; compare with =="
        )
    if class_of_number(x) is not class_of_number(y):
        return False
    if dtype_of(x) == "bool":
        same = r.truth(r.operator("eq", x, y))
        return Arr(same.value, True) if isinstance(same, Arr) else same
    if isinstance(x, Arr) and isinstance(y, Arr) and x.value is y.value:
        return True
    raise UnsupportedError("'is' of two numbers of one type: whether they are one object is Python's business; compare with ==")


def _one_of(r: Reader, cond: Arr, a: Any, b: Any) -> Any:
    return a if a is b else branch(r, cond, lambda: a, lambda: b)


def contains(r: Reader, x: Any, container: Any) -> Any:
    """x in container."""
    if varies((x, container)) and not isinstance(container, Array):
        return split(r, (x, container), lambda v, c: contains(r, v, c))
    method = special_method(r, container, "__contains__")
    if method is not None:
        return r.truth(r.call(method, [x]))
    if is_instance(container) and not is_container(container) and not isinstance(container, type):
        if any(python_method(container, name) is not None for name in ("__iter__", "__getitem__")):
            return made(r, _found_in, container, Native(lambda y: same_or_equal(r, y, x)))
    return plain_contains(r, container, x)


def _found_in(iterable: Any, is_it: Any) -> bool:
    """x in an object that has no `__contains__`; read as if it were the program's."""
    for y in iterable:
        if is_it(y):
            return True
    return False


def plain_contains(r: Reader, container: Any, x: Any) -> Any:
    """x in container, whatever `__contains__` its class has."""
    if isinstance(container, Array):
        hits = r.operator("eq", container, x)
        return r.truth(r.call(np.any, [hits]))
    if isinstance(container, Stands) and "__contains__" in container.METHODS:
        return container.call(r, "__contains__", (x,), {})
    for text in (container, x):
        if isinstance(text, Text) and isinstance(container, (str, Text)):
            if isinstance(container, str):
                return r.chosen_items().of_choice(r, text, lambda o: o in container)
            if isinstance(x, str):
                return r.chosen_items().of_choice(r, text, lambda o: x in o)
            raise text.unknown()
    if isinstance(container, (Seq, Generator, Stream)):
        return _among(r, x, container)
    if isinstance(container, (list, tuple, dict, set, frozenset, collections.deque)) and not has_run(container):
        known_apart(r, x, container)
    if isinstance(x, Text) and type(container) in (dict, set, frozenset) and choices_of(x.template) is not None:
        return r.chosen_items().of_choice(r, x, lambda o: plain_contains(r, container, o))
    if isinstance(x, Arr) and (keys := r.chosen_keys()).by_data(r, container, x):
        return keys.has(r, container, x)
    if isinstance(container, (dict, set, frozenset)) and (isinstance(container, dict) or not is_traced_deep(x)):
        key_of(r, x, container)
        r.captures.pin(x)
        if r.captures.opaque(container):
            r.captures.hand("'in'", container)
        return base_method(container, "__contains__")(x)
    if not any(is_traced_deep(v) or compares_itself(v) for v in (x, container)):
        r.captures.pin(x)
        if r.captures.opaque(container):
            r.captures.hand("'in'", container)
        return x in container
    if isinstance(container, range) and isinstance(x, Arr):
        return _in_range(r, x, container)
    if has_run(container):
        return Arr(any_of(lists.equal_to(r, container, x), axes=(0,)), True)
    if isinstance(container, (list, tuple, set, frozenset, collections.deque)):
        return _in_sequence(r, x, container)
    raise UnsupportedError(f"'in' on {describe(container)} with a traced number")


def _in_sequence(r: Reader, x: Any, container: Any) -> Any:
    """x in a sequence: elements are asked one after another until one is it, or equal to it."""
    out: Any = False
    own = compares_itself(x) or compares_itself(container)
    for y in base_items(container):
        if out is True:
            break
        out = (
            either(r, out, lambda y=y: same_or_equal(r, y, x))  # type: ignore[misc]
            if own and isinstance(out, Arr)
            else disjunction(out, same_or_equal(r, y, x))
        )
    return out


def _among(r: Reader, x: Any, it: Seq | Generator | Stream) -> Any:
    """x in an iterator, of which it is not known then how far it has gone."""
    if isinstance(it, Stream) or isinstance(it, Generator) and it.element is None:
        raise UnsupportedError("'in' on a generator: write any(y == x for y in g), or make a list of it first")
    out: Any = False
    for y in r.items(it):
        out = disjunction(out, same_or_equal(r, y, x))
    return out


def _in_range(r: Reader, x: Arr, c: range) -> Any:
    lo, hi = (c.start, c.stop) if c.step > 0 else (c[-1] if len(c) else 0, c.start + 1)
    inside = conjunction(r.operator("ge", x, lo), r.operator("lt", x, hi))
    hit = r.operator("eq", r.operator("mod", r.operator("sub", x, c.start), abs(c.step)), 0)
    return conjunction(inside, hit)


@expression(ast.BoolOp)
def logic(r: Reader, e: ast.BoolOp) -> Any:
    return _combined(r, e, r.perhaps)


def _combined(r: Reader, e: ast.BoolOp, part: Callable[[ast.expr], Any]) -> Any:
    """`and` or `or` of what `part` makes of the expressions, as far as they are evaluated."""
    combine = both if isinstance(e.op, ast.And) else either

    def go(k: int) -> Any:
        x = part(e.values[k])
        return x if k == len(e.values) - 1 else combine(r, x, lambda: go(k + 1))

    return go(0)


def condition(r: Reader, e: ast.expr) -> Any:
    """The truth of an expression that is a test. There `and`, `or` and `not` join truths, not values, which may be of two kinds."""
    if isinstance(e, ast.BoolOp):
        return _combined(r, e, lambda x: condition(r, x))
    if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
        t = condition(r, e.operand)
        return inverse(t)
    x = r.itself(e)
    r.at(e)
    return r.truth(x)


def both(r: Reader, x: Any, rest: Callable[[], Any]) -> Any:
    """x and rest(): the rest is evaluated only where x is true."""
    t = r.truth(x)
    if not isinstance(t, Arr):
        return rest() if t else x
    return _short_circuit(r, t, x, rest, True)


def either(r: Reader, x: Any, rest: Callable[[], Any]) -> Any:
    """x or rest(): the rest is evaluated only where x is false."""
    t = r.truth(x)
    if not isinstance(t, Arr):
        return x if t else rest()
    return _short_circuit(r, t, x, rest, False)


def _short_circuit(r: Reader, t: Arr, x: Any, rest: Callable[[], Any], when: bool) -> Any:
    """One operation where the right side is a bool that is cheap and safe to evaluate always, else a branch."""

    def given() -> Any:
        assume(r, t, when)
        return rest()

    side = run_region(r, given)
    y = side.result
    simple = isinstance(x, Arr) and x.name == "bool" and (isinstance(y, bool) or (isinstance(y, Arr) and y.name == "bool"))
    if simple and x.weak == (not isinstance(y, Arr) or y.weak) and _cheap(side):
        absorb(r, side)
        out = (conjunction if when else disjunction)(x, y)
        return Arr(out.value, x.weak) if isinstance(out, Arr) else out
    other = run_region(r, lambda: x)
    return finish(r, t, side, other) if when else finish(r, t, other, side)


def _cheap(side: Region) -> bool:
    nodes = side.nodes
    return not side.dead and not side.log.old and len(nodes) <= 24 and all(effects(n) == "none" and not n.regions for n in nodes)


@expression(ast.IfExp)
def conditional(r: Reader, e: ast.IfExp) -> Any:
    r.at(e.test)
    t = r.condition(e.test)
    if not isinstance(t, Arr):
        return r.perhaps(e.body if t else e.orelse)

    def side(node: ast.expr, holds: bool) -> Any:
        assume(r, t, holds)
        return r.perhaps(node)

    out = branch(r, t, lambda: side(e.body, True), lambda: side(e.orelse, False))
    if isinstance(out, Poison):
        raise out.error("", f"the value of this conditional expression {out.message.removeprefix('it ')}")
    return out


def truth(r: Reader, x: Any) -> Any:
    """bool(x) as Python takes it: a bool, or a traced one."""
    if isinstance(x, Poison):
        raise x.error("", f"the truth of what {x.message.removeprefix('it ')}")
    if type(x) is OneOf:
        return r.several().truth(r, x)
    if isinstance(x, (Arr, Array)):
        content = r.operand(x)
        return OPERATORS["bool"](content) if isinstance(content, Arr) else bool(content)
    if varies((x,)):
        return split(r, (x,), lambda y: truth(r, y))
    if isinstance(x, Nullable):
        return nullable.truth(r, x)
    if isinstance(x, Text):
        if (options := choices_of(x.template)) is not None:
            return r.truth(r.getitem([bool(o) for o in options], x.operands[0]))
        raise x.unknown()
    if isinstance(x, (Structured, Bytes)):
        raise UnsupportedError(f"the truth value of {describe(x)}; compare its fields")
    method = special_method(r, x, "__bool__", absent=True)
    if method is not None:
        found = r.call(method, [])
        if isinstance(found, Arr) and found.name == "bool" and found.mixed and not found.weak:
            raise UnsupportedError(_MIXED)
        if not (isinstance(found, (bool, Nullable, Poison)) or isinstance(found, Arr) and found.name == "bool" and found.weak):
            raise TypeError(f"__bool__ should return bool, returned {full_name(found)}")
        return r.truth(found)
    if special_method(r, x, "__len__", absent=True) is not None:
        return r.truth(r.call(len, [x]))
    if has_run(x):
        return r.truth(from_dim(length_of(x)))
    if r.captures.opaque(x) and not _always_true(x):
        r.captures.hand("a test", x)
    return bool(x)


_MIXED = (
    "__bool__ gives Python's bool on one path, and NumPy's on another, where Python raises TypeError: write `return bool(...)`, "
    "or make the numbers it compares float(...) on both"
)


def _always_true(x: Any) -> bool:
    return not any(is_in_class(type(x), name) for name in ("__bool__", "__len__"))
