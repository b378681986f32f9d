"""Does a statement hold values that no variable has, while code that it calls is running?"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

_PASSIVE = (ast.Name, ast.Constant, ast.Lambda, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_ALONE = (ast.BoolOp, ast.IfExp)  # which drop the value of one part before they go on to the next
_MANY = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Yield, ast.YieldFrom, ast.Await)
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def holds(s: ast.stmt, safe: Callable[[str], bool]) -> bool:
    """Of a running statement (of a compound one its head): may it have worked out a value that it still needs while another part of it
    runs code? `safe(name)`: is a variable's value known by that variable until the statement ends?"""
    if isinstance(s, ast.AugAssign):
        return _together((s.target, s.value), safe)
    if isinstance(s, (ast.Assign, ast.AnnAssign)):
        targets = s.targets if isinstance(s, ast.Assign) else [s.target]
        if any(isinstance(n, ast.Call) for t in targets for n in ast.walk(t)):
            return True
        return s.value is not None and _holds(s.value, safe)
    parts = [x for name, x in ast.iter_fields(s) if name not in _BODIES]
    return _together([x for p in parts for x in (p if isinstance(p, list) else [p]) if isinstance(x, ast.AST)], safe)


def _together(parts: Iterable[ast.AST], safe: Callable[[str], bool]) -> bool:
    """The same of parts whose values are needed together, in their order."""
    held = False
    for p in parts:
        if isinstance(p, _PASSIVE):
            held = held or (isinstance(p, ast.Name) and not safe(p.id))
        elif held or _holds(p, safe):
            return True
        else:
            held = True
    return False


def _holds(x: ast.AST, safe: Callable[[str], bool]) -> bool:
    if isinstance(x, _PASSIVE):
        return False
    if isinstance(x, _MANY):
        return True
    if isinstance(x, _ALONE):
        return any(_holds(p, safe) for p in ast.iter_child_nodes(x))
    if isinstance(x, ast.Call):
        f = x.func
        owner = [f.value] if isinstance(f, ast.Attribute) else [] if isinstance(f, ast.Name) else [f]
        if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name):
            owner = []  # an object or module that the variable has, or what is called knows
        return _together([*owner, *x.args, *(k.value for k in x.keywords)], safe)
    return _together(ast.iter_child_nodes(x), safe)
