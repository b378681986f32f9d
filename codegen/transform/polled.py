"""Long loops listen for Ctrl-C: they run in chunks, between which a signal may stop them.

A loop of unknown or very large trip count is run in chunks, and between chunks `irad_poll` looks, if a thirtieth of a second has
passed since it last did, whether a signal has arrived. The chunks cost a loop nothing inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from irad.codegen import llvm_files
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.cost import UNPOLLED, work
from irad.codegen.kernel.form import POLL, Apply, Const, integer
from irad.core.lazy_dataclass import replace
from irad.core.notes import Notes

POLL_CALLS = ("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch")  # of Python's C interface

_INNER = 1e7  # ns; the same of loops in long trips
_CHUNK = 1 << 20  # ns of work between two polls of an outermost loop or a `while`
_INNER_CHUNK = 1 << 18  # of loops inside: the loop around them polls each few trips
_TRIPS = 16  # between two polls where a trip is of unknown length, of which its own loops poll


def polled(kernel: kf.Kernel, notes: Notes | None = None) -> kf.Kernel:
    """The kernel with its long loops, and every `while` of data-dependent length, in chunks.

    Loops inside are cut where one trip around them may be long: those of unknown length, as the parts of a checkpointed loop.
    """
    return replace(kernel, body=_Chunks().block(kernel.body, UNPOLLED))


class _Chunks:
    count = 0

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"poll_{hint}_{self.count}"

    def block(self, body: Sequence[kf.Stmt], limit: float) -> list[kf.Stmt]:
        """`limit`: ns of work from which on loops are cut."""
        return [t for s in body for t in self.statement(s, limit)]

    def statement(self, s: kf.Stmt, limit: float) -> list[kf.Stmt]:
        if isinstance(s, kf.While):
            inside = _INNER if work([*s.test, *s.body]) > _CHUNK else inf
            return self.while_loop(replace(s, test=self.block(s.test, inside), body=self.block(s.body, inside)))
        if isinstance(s, kf.For) and s.kind in ("seq", "par"):
            long = s.step > 0 and work([s]) > limit and not (s.kind == "par" and _folds_outside(s))
            deep = long and s.kind == "seq" and work(s.body) > _CHUNK
            inner = replace(s, body=self.block(s.body, _INNER if deep else inf))
            return self.counted(inner, _chunk(s.body, _CHUNK if limit == UNPOLLED else _INNER_CHUNK)) if long else [inner]
        return [s if isinstance(s, kf.For) else kf.with_blocks(s, lambda block: self.block(block, limit))]

    def poll_if(self, cond: str) -> kf.Stmt:
        return kf.If(cond, [kf.Call(POLL, (), ("i64",), self.fresh("status"), "i64", check=True)])

    def counted(self, s: kf.For, trips: int) -> list[kf.Stmt]:
        """for chunk: for i in the chunk of so many trips; poll."""
        step = trips * s.step
        start, end, stop, more = (self.fresh(h) for h in ("from", "end", "to", "more"))
        hi = integer(s.hi)
        chunk: list[kf.Stmt] = [
            kf.Let(end, "i64", Apply("add", (integer(start), Const(step, "i64")))),
            kf.Let(stop, "i64", Apply("minimum", (end, hi))),
            replace(s, lo=start, hi=stop),
            kf.Let(more, "bool", Apply("lt", (end, hi))),
            self.poll_if(more),
        ]
        return [kf.For(start, "seq", s.lo, s.hi, chunk, step=step)]

    def while_loop(self, s: kf.While) -> list[kf.Stmt]:
        """while run: k = 0; while k < chunk and test: body, k += 1; run = k == chunk; poll if run."""
        run, k, go, more = (self.fresh(h) for h in ("run", "k", "go", "more"))
        limit = Const(_chunk([*s.test, *s.body], _CHUNK), "i64")
        test: list[kf.Stmt] = [
            kf.Let(more, "bool", Apply("lt", (k, limit))),
            kf.If(more, [*s.test, kf.Assign(go, s.cond)], [kf.Assign(go, Const(False, "bool"))]),
        ]
        after = self.fresh("k")
        body = [*s.body, kf.Let(after, "i64", Apply("add", (k, Const(1, "i64")))), kf.Assign(k, after)]
        again = self.fresh("again")
        outer: list[kf.Stmt] = [
            kf.Var(k, "i64", Const(0, "i64")),
            kf.Var(go, "bool", Const(True, "bool")),
            kf.While(test, go, body),
            kf.Let(again, "bool", Apply("ge", (k, limit))),
            kf.Assign(run, again),
            self.poll_if(again),
        ]
        return [kf.Var(run, "bool", Const(True, "bool")), kf.While([], run, outer)]


def _folds_outside(s: kf.For) -> bool:
    """Does a loop combine into folds declared outside of it?"""
    inside = list(kf.walk(s.body))
    return bool({c.fold for c in inside if isinstance(c, kf.Combine)} - {f.name for f in inside if isinstance(f, kf.Fold)})


def _chunk(body: Sequence[kf.Stmt], ns: int) -> int:
    """Iterations between two polls."""
    inside = work(body)
    return _TRIPS if inside == inf else max(1, int(ns // max(1.0, inside)))


def poll_text(clock: int) -> str:
    """`irad_poll() -> 0 or INTERRUPTED`, by clock number `clock`, for a module whose kernels call it."""
    return llvm_files.read("transform", "poll").replace("@clock_gettime(i32 1,", f"@clock_gettime(i32 {clock},")
