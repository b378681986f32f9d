"""What is cut or made anew where a loop is left (`h = h[:i]; break`), after the loop: so all trips begin with the whole of it.

Between such a statement and the end of the loop nothing else happens, so what follows it up to the `break` can stand behind the loop,
under a condition: the variables hold there what they held.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import TypeVar

Function = TypeVar("Function", bound=ast.AST)
_LOOPS = (ast.For, ast.While)
_JUMPS = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await)


def with_cuts_after_loops(function: Function) -> Function:
    """A function in which nothing is cut right before a `break`."""
    if not any(_first(block) for node in ast.walk(function) if isinstance(node, _LOOPS) for block in _left(node.body)):
        return function
    out = copy.deepcopy(function)
    number = 0
    for node in ast.walk(out):
        for field in ("body", "orelse", "finalbody"):
            found = getattr(node, field, None)
            stmts: list[ast.stmt] = found if isinstance(found, list) else []
            for k in reversed(range(len(stmts))):
                if isinstance(loop := stmts[k], _LOOPS):
                    before, after = _moved(loop, number)
                    stmts[k : k + 1] = [*before, loop, *after]
                    number += len(after)
    return out


def _moved(loop: ast.For | ast.While, number: int) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What comes before and after a loop, instead of what was moved out of it."""
    before: list[ast.stmt] = []
    after: list[ast.stmt] = []
    for block in _left(loop.body):
        if (found := _first(block)) is not None:
            k, end = found
            name, tail = f".left{number + len(after)}", block[k:end]
            flag = lambda value: ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))  # noqa: B023
            block[k:end] = [_at(tail[0], flag(True))]
            before.append(_at(loop, flag(False)))
            after.append(_at(tail[0], ast.If(ast.Name(name, ast.Load()), tail, [])))
    return before, after


def _at(place: ast.stmt, s: ast.stmt) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(s, place))


def _left(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """The blocks in a loop, but for those of loops in it, that a `break` ends."""
    for s in body:
        if isinstance(s, ast.Break):
            yield body
        elif isinstance(s, ast.If):
            yield from _left(s.body)
            yield from _left(s.orelse)


def _first(block: list[ast.stmt]) -> tuple[int, int] | None:
    """The first statement that cuts something, and the `break`; None if there is none, or a jump between them."""
    end = next(k for k, s in enumerate(block) if isinstance(s, ast.Break))
    k = next((k for k in range(end) if _cuts(block[k])), end)
    jumps = any(isinstance(n, _JUMPS) for s in block[k:end] for n in ast.walk(s))
    return None if k == end or jumps else (k, end)


def _cuts(s: ast.stmt) -> bool:
    """Is it `x = x[a:b]`, or `o.x = f(o.x)`?"""
    if not isinstance(s, ast.Assign) or len(s.targets) != 1 or not isinstance(s.targets[0], (ast.Name, ast.Attribute)):
        return False
    target = ast.unparse(s.targets[0])
    if isinstance(s.value, ast.Call):
        return any(ast.unparse(a) == target for a in s.value.args)
    sliced = isinstance(s.value, ast.Subscript) and any(isinstance(n, ast.Slice) for n in ast.walk(s.value.slice))
    return sliced and ast.unparse(s.value.value) == target  # type: ignore[attr-defined]
