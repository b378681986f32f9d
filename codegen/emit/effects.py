"""What a body of statements changes: variables, folds and buffers that are declared outside of it."""

from __future__ import annotations

from irad.codegen.kernel import form as kf

Changed = tuple[frozenset[str], frozenset[str]]  # cells (variables, folds, swapped buffers) and buffers


class Effects:
    """What the bodies of one kernel change; each is looked at once."""

    def __init__(self) -> None:
        self._found: dict[int, Changed] = {}

    def of(self, body: list[kf.Stmt]) -> Changed:
        """What a body changes."""
        e = self._found.get(id(body))
        if e is None:
            e = self._found[id(body)] = self._find(body)
        return e

    def _find(self, body: list[kf.Stmt]) -> Changed:
        local, cells, bufs, views = set(), set(), set(), {}
        for s in body:
            if isinstance(s, (kf.Var, kf.Fold)):
                local.add(s.name)
            elif isinstance(s, kf.View) and s.dtype is None:
                views[s.name] = s.buf
            elif isinstance(s, kf.Deref):
                views[s.name] = s.family
            elif isinstance(s, (kf.Assign, kf.Combine)):
                cells.add(s.name if isinstance(s, kf.Assign) else s.fold)
            elif isinstance(s, kf.Let) and isinstance(s.expr, kf.LinScan):
                cells.add(s.expr.var)
            elif isinstance(s, kf.Store):
                bufs.add(s.buf)
            elif isinstance(s, (kf.Call, kf.Parallel)):
                bufs.update(s.writes)
            elif isinstance(s, kf.Swap):
                cells.update((s.a, s.b))
                bufs.update((s.a, s.b))
            for inner in kf.blocks(s):
                c, b = self.of(inner)
                cells |= c
                bufs |= b
        for name, base in reversed(views.items()):
            if name in bufs:
                bufs.add(base)
        return frozenset(cells - local), frozenset(bufs)
