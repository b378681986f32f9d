"""What a body of statements changes: variables, folds and buffers that are declared outside of it."""

from __future__ import annotations

from irad.codegen.kernel.form import (
    Assign,
    Call,
    Combine,
    Deref,
    Fold,
    For,
    If,
    Let,
    LinScan,
    Parallel,
    Stmt,
    Store,
    Swap,
    Var,
    View,
    While,
)

Changed = tuple[frozenset[str], frozenset[str]]  # cells (variables, folds, swapped buffers) and buffers


class Effects:
    """What the bodies of one kernel change; each is looked at once."""

    def __init__(self) -> None:
        self._found: dict[int, Changed] = {}

    def of(self, body: list[Stmt]) -> Changed:
        """What a body changes."""
        e = self._found.get(id(body))
        if e is None:
            e = self._found[id(body)] = self._find(body)
        return e

    def _find(self, body: list[Stmt]) -> Changed:
        local, cells, bufs, views = set(), set(), set(), {}
        for s in body:
            if isinstance(s, (Var, Fold)):
                local.add(s.name)
            elif isinstance(s, View) and s.dtype is None:
                views[s.name] = s.buf
            elif isinstance(s, Deref):
                views[s.name] = deref_family(s)
            elif isinstance(s, (Assign, Combine)):
                cells.add(s.name if isinstance(s, Assign) else s.fold)
            elif isinstance(s, Let) and isinstance(s.expr, LinScan):
                cells.add(s.expr.var)
            elif isinstance(s, Store):
                bufs.add(s.buf)
            elif isinstance(s, (Call, Parallel)):
                bufs.update(s.writes)
            elif isinstance(s, Swap):
                cells.update((s.a, s.b))
                bufs.update((s.a, s.b))
            for inner in _bodies(s):
                c, b = self.of(inner)
                cells |= c
                bufs |= b
        for name, base in reversed(views.items()):
            if name in bufs:
                bufs.add(base)
        return frozenset(cells - local), frozenset(bufs)


def deref_family(s: Deref) -> str:
    """Memory reached through one address overlaps itself, whatever it is called."""
    return f"*{s.buf}[{s.idx}]"


def _bodies(s: Stmt) -> list[list[Stmt]]:
    if isinstance(s, For):
        return [s.body]
    if isinstance(s, If):
        return [s.then, s.orelse]
    return [s.test, s.body] if isinstance(s, While) else []
