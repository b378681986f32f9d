"""Displays of tuples, lists, sets and dicts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from irad.frontend.reader import Reader, expression
from irad.frontend.values.arr import static_value


@expression(ast.Tuple)
def tuple_(r: Reader, e: ast.Tuple) -> Any:
    return tuple(elements(r, e.elts, r.perhaps))


@expression(ast.List)
def list_(r: Reader, e: ast.List) -> Any:
    return r.state.made(elements(r, e.elts, r.perhaps))


@expression(ast.Set)
def set_(r: Reader, e: ast.Set) -> Any:
    items = elements(r, e.elts, r.expr)
    static_value([r.operand(x) for x in items], "an element of a set")
    return r.state.made(set(items))


def elements(r: Reader, nodes: list[ast.expr], evaluated: Callable[[ast.expr], Any]) -> list[Any]:
    """Evaluate the elements of a display or the arguments of a call, stars unpacked."""
    out: list[Any] = []
    for n in nodes:
        if isinstance(n, ast.Starred):
            out += r.items(r.expr(n.value))
        else:
            out.append(evaluated(n))
    return out


@expression(ast.Dict)
def dict_(r: Reader, e: ast.Dict) -> Any:
    out: dict[Any, Any] = {}
    for k, v in zip(e.keys, e.values):
        if k is None:
            out.update(r.expr(v))
        else:
            key = r.expr(k)
            out[static_value(key, "a key of a dict")] = r.perhaps(v)
    return r.state.made(out)
