"""Bounds of the whole numbers that a loop changes: a position that only goes up is never below where it starts, and the test of a
`while` loop holds when a trip begins. So slices between such positions have lengths that are known, or bounded."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from irad.core.affine import terms
from irad.core.ir import Value
from irad.core.types import Dim
from irad.frontend.control.regions import run_region
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.state import Name
from irad.ops.elementwise import ge, gt, le, logical_and, lt
from irad.ops.intervals import affine_of, bound, definition, dim_interval, interval, ordered

_ORDER = {
    lt: (1, 1),
    le: (1, 0),
    gt: (-1, 1),
    ge: (-1, 0),
}  # the difference of the sides, times the first, is at most minus the second
_PLAIN = (
    ast.Compare, ast.BoolOp, ast.And, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.UnaryOp, ast.USub, ast.Name, ast.Constant, ast.Load,
    ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Attribute, ast.Subscript,
)  # fmt: skip


@functools.cache
def _changes(loop: ast.AST, function: ast.AST) -> dict[str, tuple[list[int], list[str]] | None]:
    """What a loop assigns to names: the constants they are set to, and the names that are added to them; None where it is anything else."""
    found: dict[str, tuple[list[int], list[str]] | None] = {}
    for name, value, added in _assignments(loop):
        constants, names = found.setdefault(name, ([], [])) or (None, None)
        if constants is None or names is None:
            continue
        if isinstance(value, ast.Constant) and type(value.value) is int and value.value >= 0:
            constants += [] if added else [value.value]
        elif isinstance(value, ast.Name) and added:
            names.append(value.id)
        else:
            found[name] = None
    for n in ast.walk(function):
        if isinstance(n, (ast.Nonlocal, ast.Global)):
            found |= dict.fromkeys(n.names)
    return found


def _assignments(loop: ast.AST) -> Iterator[tuple[str, ast.expr | None, bool]]:
    """(name, value, is it added?) of each; None for the value where it is not one of one name."""
    for n in ast.walk(loop):
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
            yield n.target.id, n.value if isinstance(n.op, ast.Add) else None, True
        elif isinstance(n, ast.Assign):
            for t in n.targets:
                if isinstance(t, ast.Name):
                    yield t.id, *_sum(t.id, n.value)
                else:
                    yield from (
                        (m.id, None, False) for m in ast.walk(t) if isinstance(m, ast.Name) and isinstance(m.ctx, ast.Store)
                    )
        elif isinstance(n, (ast.AnnAssign, ast.NamedExpr, ast.For, ast.comprehension)):
            yield from ((m.id, None, False) for m in ast.walk(n.target) if isinstance(m, ast.Name))
        elif isinstance(n, ast.With):
            yield from (
                (m.id, None, False)
                for i in n.items
                if i.optional_vars
                for m in ast.walk(i.optional_vars)
                if isinstance(m, ast.Name)
            )
        elif isinstance(n, (ast.FunctionDef, ast.ClassDef)):
            yield n.name, None, False
        elif isinstance(n, ast.Delete):
            yield from ((t.id, None, False) for t in n.targets if isinstance(t, ast.Name))
        elif isinstance(n, ast.ExceptHandler) and n.name:
            yield n.name, None, False
        elif isinstance(n, (ast.MatchAs, ast.MatchStar)) and n.name:
            yield n.name, None, False


def _sum(name: str, value: ast.expr) -> tuple[ast.expr | None, bool]:
    """`x = x + 1` adds 1; else the value."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        for a, b in ((value.left, value.right), (value.right, value.left)):
            if isinstance(a, ast.Name) and a.id == name:
                return b, True
    return value, False


def bound_numbers(r: Reader, loop: object, carries: Iterable[Any], test: Callable[[], Any] | None) -> None:
    """Note what is known of the whole numbers that a loop carries, where a trip begins. `test`: that of a while loop, which holds then.

    A loop that stands nowhere in the program (of `any`, over a generator) says nothing of what the functions called in it assign.
    """
    if not isinstance(loop, ast.AST):
        return
    for c in carries:
        if isinstance(c.place, Name) and c.place.owner is r.frame.env:
            x = c.place.get()
            if isinstance(x, Arr) and x.weak and x.name == "i64" and not x.shape:
                _from_below(r, loop, c.place.name, c.init, x.value)
    if test is not None and isinstance(loop, ast.While) and all(map(_is_plain, ast.walk(loop.test))):
        for symbol, sign, end, most in run_region(r, lambda: _note(test())).result or ():
            bound(symbol, *((-math.inf, most) if sign > 0 else (-most, math.inf)))
            ordered(symbol, sign, end)


def _from_below(r: Reader, loop: ast.AST, name: str, start: Any, now: Value) -> None:
    """A variable of the running function that a loop carries, a whole number: it is not below the least that it is set to, if all that
    is added to it is not below 0."""
    changes = _changes(loop, r.frame.liveness.node).get(name)
    if changes is None:
        return
    constants, names = changes
    for other in names:
        x = r.frame.env.names.get(other)
        if name == other or other in _changes(loop, r.frame.liveness.node) or _least(x) < 0:
            return
    least = min([_least(start), *constants])
    if least > -math.inf:
        bound(now, least, math.inf)


def _least(x: Any) -> float:
    if isinstance(x, Arr):
        return interval(x.value)[0] if x.weak and x.name == "i64" and not x.shape else -math.inf
    return x if type(x) is int else -math.inf


def _is_plain(n: ast.AST) -> bool:
    """Is it read twice without harm?"""
    return (
        isinstance(n, _PLAIN)
        or isinstance(n, ast.Call)
        and isinstance(n.func, ast.Name)
        and n.func.id in ("len", "min", "max", "abs")
    )


def _note(held: Any) -> list[tuple[Value, int, Dim, float]]:
    """What bounds the values whose comparison, or conjunction of comparisons, holds: sign * value <= end, which is at most a number."""
    return list(_bounds(held.value)) if isinstance(held, Arr) else []


def _bounds(v: Value) -> Iterator[tuple[Value, int, Dim, float]]:
    node = definition(v)
    if node is None:
        return
    if node.op is logical_and:
        for x in node.inputs:
            yield from _bounds(x)
    elif node.op in _ORDER and all(x.type.dtype == "i64" and not x.type.shape for x in node.inputs):
        sign, strict = _ORDER[node.op]
        a, b = (affine_of(x) for x in node.inputs)
        rest: Dim = (a - b) * sign + strict  # at most 0
        for symbol, factor in terms(rest):
            if isinstance(symbol, Value) and abs(factor) == 1:
                end = affine_of(symbol) * factor - rest
                yield symbol, factor, end, dim_interval(end)[1]
