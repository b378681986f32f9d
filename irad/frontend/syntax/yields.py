"""Yields inside of expressions (`v = v * (yield v)`), as statements of their own before those."""

from __future__ import annotations

import ast
import copy
from typing import TypeVar

Function = TypeVar("Function", bound=ast.AST)
_SENT = ".sent"  # no name of the program
_HOLDS = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)


def with_yields_apart(function: Function) -> Function:
    """A generator function in which each yield is all of what a statement assigns or drops, where nothing is computed before it."""
    if not any(_inner(s) for s in ast.walk(function)):
        return function
    out = copy.deepcopy(function)
    for node in ast.walk(out):
        for field in ("body", "orelse", "finalbody"):
            stmts = getattr(node, field, None)
            if isinstance(stmts, list):
                setattr(node, field, [t for s in stmts for t in _apart(s)])
    return out


def _apart(s: ast.stmt) -> list[ast.stmt]:
    found = _inner(s)
    if found is None:
        return [s]
    assert isinstance(s, _HOLDS) and s.value is not None
    first = ast.Assign([ast.copy_location(ast.Name(_SENT, ast.Store()), found)], found)
    s.value = _Replaced(found).visit(s.value)
    return [ast.fix_missing_locations(ast.copy_location(first, found)), s]


class _Replaced(ast.NodeTransformer):
    def __init__(self, found: ast.Yield):
        self.found = found

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        return ast.copy_location(ast.Name(_SENT, ast.Load()), node) if node is self.found else node


def _inner(s: ast.AST) -> ast.Yield | None:
    """The only yield in what a statement computes, unless it is all of that, or anything but names and constants comes before it."""
    if (
        not isinstance(s, _HOLDS)
        or s.value is None
        or (isinstance(s.value, ast.Yield) and not isinstance(s, (ast.AugAssign, ast.Return)))
    ):
        return None
    if isinstance(s, ast.AugAssign) and not isinstance(s.target, ast.Name):
        return None
    yields = [n for n in ast.walk(s.value) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    if len(yields) != 1 or not isinstance(yields[0], ast.Yield):
        return None
    return yields[0] if _comes_first(s.value, yields[0]) else None


def _comes_first(e: ast.AST, found: ast.Yield) -> bool:
    """Is nothing computed in an expression before a yield in it?"""
    while e is not found:
        if not isinstance(e, (ast.BinOp, ast.UnaryOp, ast.Call, ast.Tuple, ast.List, ast.Compare, ast.Starred, ast.keyword)):
            return False
        for part in ast.iter_child_nodes(e):
            if any(n is found for n in ast.walk(part)):
                e = part
                break
            if not isinstance(part, (ast.Name, ast.Constant, ast.operator, ast.unaryop, ast.cmpop)):
                return False
    return True
