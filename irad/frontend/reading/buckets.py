"""A method that changes one of several containers in a list, which data choose: `clusters[k].append(x)`."""

from __future__ import annotations

import ast
import collections
from collections.abc import Sequence
from typing import Any

from irad.frontend.control.flow import branch
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.callables import Native
from irad.frontend.values.objects import python_method
from irad.frontend.values.positions import position_of
from irad.frontend.values.runs import has_run
from irad.ops.elementwise import eq

_MOST = 16  # containers; each gets a branch


def changed_by_data(r: Reader, func: ast.Attribute) -> Any:
    """The method, called on each of the containers where it is the one; None where data do not choose among them."""
    assert isinstance(func.value, ast.Subscript)
    if not isinstance(func.value.value, (ast.Name, ast.Attribute)) or isinstance(func.value.slice, (ast.Slice, ast.Constant)):
        return None
    of, key = r.expr(func.value.value), r.expr(func.value.slice)
    r.at(func)
    if not (isinstance(key, Arr) and not key.shape and key.name[0] in "iu" and _buckets(of)):
        return r.getattr(r.getitem(of, key), func.attr)
    at = position_of(key.value, len(of), f"{type(of).__name__} index out of range")

    def call(*args: Any, **kwargs: Any) -> None:
        for k, x in enumerate(of):
            change = lambda x=x: r.call(r.getattr(x, func.attr), list(args), kwargs) and None
            branch(r, Arr(eq(at, k), True), change, lambda: None)

    return Native(call)


def _buckets(xs: Any) -> bool:
    return isinstance(xs, (list, tuple)) and not has_run(xs) and 1 < len(xs) <= _MOST and _containers(xs)


def _containers(xs: Sequence[Any]) -> bool:
    kinds = (list, set, dict, collections.deque)
    return python_method(xs, "__getitem__") is None and all(isinstance(x, kinds) for x in xs) and len(set(map(id, xs))) == len(xs)
