"""A change of one of several containers, which data choose: `clusters[k].append(x)`, `clusters[k] += [x]`, `(a if c else b).append(x)`."""

from __future__ import annotations

import ast
import collections
from collections.abc import Callable, Sequence
from typing import Any

from irad.frontend.control import chosen_keys
from irad.frontend.control.flow import branch
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.callables import Native
from irad.frontend.values.objects import python_method
from irad.frontend.values.positions import position_of
from irad.frontend.values.runs import has_run
from irad.ops.elementwise import eq

_MOST = 16  # containers; each gets a branch
_KINDS = (list, set, dict, collections.deque)


def changed_by_data(r: Reader, func: ast.Attribute) -> Any:
    """The method, called on each of the containers where it is the one; None where the expression before it is of another form."""
    if isinstance(func.value, ast.IfExp):
        return _of_two(r, func, func.value)
    assert isinstance(func.value, ast.Subscript)
    if not isinstance(func.value.value, (ast.Name, ast.Attribute)) or isinstance(func.value.slice, (ast.Slice, ast.Constant)):
        return None
    of, key = r.expr(func.value.value), r.expr(func.value.slice)
    r.at(func)
    found = one_of(r, of, key)
    if found is None:
        return r.getattr(r.getitem(of, key), func.attr)
    return Native(lambda *args, **kwargs: found(lambda x: r.call(r.getattr(x, func.attr), list(args), kwargs)))


def one_of(r: Reader, of: Any, key: Any) -> Callable[[Callable[[Any], Any]], None] | None:
    """What runs a change on the container of[key], which data choose among those in a list or dict; None where they do not."""
    if not isinstance(key, Arr) or key.shape or not 1 < (len(of) if isinstance(of, (list, tuple, dict)) else 0) <= _MOST:
        return None
    if chosen_keys.by_data(r, of, key) and _containers(list(of.values())):
        place, names = chosen_keys.checked(r, of, key), [*of]
    elif key.name[0] in "iu" and isinstance(of, (list, tuple)) and not has_run(of) and _containers(of):
        if python_method(of, "__getitem__") is not None:
            return None
        place, names = position_of(key.value, len(of), f"{type(of).__name__} index out of range"), [*range(len(of))]
    else:
        return None

    def run(change: Callable[[Any], Any]) -> None:
        for k, name in enumerate(names):
            branch(r, Arr(eq(place, k), True), lambda x=of[name]: change(x) and None, lambda: None)  # type: ignore[misc]

    return run


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
