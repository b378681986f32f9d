"""A method that changes one of several containers, which data choose: `clusters[k].append(x)`, `(a if c else b).append(x)`."""

from __future__ import annotations

import ast
import collections
from collections.abc import Sequence
from typing import Any

from irad.frontend.control.flow import branch
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.callables import Native
from irad.frontend.values.choices import OneOf

_KINDS = (list, set, dict, collections.deque)


def changed_by_data(r: Reader, func: ast.Attribute) -> Any:
    """The method, called on each of the containers where it is the one; None where the expression before it is of another form."""
    if isinstance(func.value, ast.IfExp):
        return _of_two(r, func, func.value)
    assert isinstance(func.value, ast.Subscript)
    if isinstance(func.value.slice, (ast.Slice, ast.Constant)):
        return None
    of, key = r.expr(func.value.value, True), r.expr(func.value.slice)
    r.at(func)
    one = r.several().item(r, of, key) if type(of) is OneOf else r.several().chosen(r, of, key, True)
    if one is None:
        one = r.getitem(of, key)
        if type(of) is list:
            r.of_lists[id(one)] = one, of
    return r.getattr(one, func.attr)


def _of_two(r: Reader, func: ast.Attribute, e: ast.IfExp) -> Any:
    """The method of one of two containers that variables hold."""
    if not all(isinstance(side, (ast.Name, ast.Attribute)) for side in (e.body, e.orelse)):
        return None
    cond = r.condition(e.test)
    if not isinstance(cond, Arr):
        return r.getattr(r.expr(e.body if cond else e.orelse), func.attr)
    sides = [r.expr(e.body), r.expr(e.orelse)]
    r.at(func)
    if not _containers(sides):
        return r.getattr(branch(r, cond, lambda: sides[0], lambda: sides[1]), func.attr)

    def call(*args: Any, **kwargs: Any) -> None:
        one = lambda x: lambda: r.call(r.getattr(x, func.attr), list(args), kwargs) and None
        branch(r, cond, one(sides[0]), one(sides[1]))

    return Native(call)


def _containers(xs: Sequence[Any]) -> bool:
    return all(isinstance(x, _KINDS) for x in xs) and len(set(map(id, xs))) == len(xs)
