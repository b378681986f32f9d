"""`par` loops become kernels of their own, called for ranges of iterations by the pool (irad.codegen.libraries.pool).

    for i in par(0, n): body      ->      def k_par0(buffers, scalars, from, to):      parallel(k_par0, n, chunk, buffers, scalars)
                                              for i in seq(from, to): body

Where the body combines into folds declared outside, each iteration (a block, see irad.codegen.transform.parallel) has folds of
its own, whose parts go to an array; they are combined in order after the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.cost import work
from irad.codegen.kernel.form import integer
from irad.codegen.kernel.mentions import used
from irad.codegen.schedule.loops import identity
from irad.core.affine import symbols
from irad.core.lazy_dataclass import replace

CHUNK = 25e3  # ns of work that a thread takes at once
CHUNKS = 16  # chunks that there should be, for threads of unequal speed


def outlined(kernels: Sequence[kf.Kernel], threads: int) -> list[kf.Kernel]:
    """The kernels, with one more for each parallel loop. `threads`: how many may run a loop."""
    out: list[kf.Kernel] = []
    for k in kernels:
        if any(isinstance(s, kf.For) and s.kind == "par" for s in kf.walk(k.body)):
            o = _Outliner(k, threads)
            out += [replace(k, body=o.block(k.body, o.params)), *o.made]
        else:
            out.append(k)
    return out


class _Outliner:
    def __init__(self, kernel: kf.Kernel, threads: int):
        self.kernel, self.threads = kernel, threads
        self.params: dict[str, Any] = {p.name: p.dtype if p.shape is None else p for p in kernel.params}
        self.made: list[kf.Kernel] = []

    def block(self, body: Sequence[kf.Stmt], outside: Mapping[str, Any]) -> list[kf.Stmt]:
        """`outside`: the names in scope: the dtype of a number, the statement that declares a buffer or a fold."""
        scope = dict(outside)
        out: list[kf.Stmt] = []
        for s in body:
            if isinstance(s, kf.For) and s.kind == "par":
                out += self.loop(s, scope)
            else:
                inside = partial(self.block, outside={**scope, s.var: "i64"} if isinstance(s, kf.For) else scope)
                out.append(kf.with_blocks(s, inside))
            _declare(s, scope)
        return out

    def loop(self, s: kf.For, scope: Mapping[str, Any]) -> list[kf.Stmt]:
        """The call that runs the loop, between the arrays for its folds' parts and the loop that combines them."""
        n = len(self.made)
        name, tag = f"{self.kernel.name}_par{n}", f"par{n}"
        start, end, trip = f"{tag}_from", f"{tag}_to", f"{tag}_trip"
        lo = integer(s.lo)
        trips = self.trips(s, f"{tag}_trips")
        folds = sorted({c.fold for c in kf.walk(s.body) if isinstance(c, kf.Combine) and isinstance(scope.get(c.fold), kf.Fold)})
        before: list[kf.Stmt] = list(trips[:-1])
        after: list[kf.Stmt] = []
        if folds:
            before, after, inside = self._folds(before, [scope[f] for f in folds], s, trip, tag)
            once = replace(s, kind="seq", lo=lo + integer(trip) * s.step, hi=lo + integer(trip) * s.step + s.step, body=s.body)
            body: list[kf.Stmt] = [kf.For(trip, "seq", start, end, [*inside[0], once, *inside[1]])]  # type: ignore[misc]
        else:
            body = [replace(s, kind="seq", lo=lo + integer(start) * s.step, hi=lo + integer(end) * s.step)]
        known = {**scope, **{b.name: b for b in before if isinstance(b, kf.Buffer)}}
        free = [f for f in dict.fromkeys(used(body)) if f in known and f not in folds]
        free += [f for f in dict.fromkeys(x for f in free for x in _extents(known[f])) if f not in free]
        params = [_param(f, known[f]) for f in free]
        numbers = [kf.Param(start, "i64", None), kf.Param(end, "i64", None)]
        self.made.append(kf.Kernel(name, [*params, *numbers], body, polled=False))
        writes = tuple(sorted(_written(body) & set(free)))
        count = trips[-1]
        call = kf.Parallel(
            name, tuple(free), tuple((p.dtype, p.shape is not None) for p in params), count, self.chunk(s), self.threads, writes
        )  # type: ignore[arg-type]
        return [*before, call, *after]

    def trips(self, s: kf.For, name: str) -> list[Any]:
        """Statements that compute the trip count, and it."""
        span = integer(s.hi) - integer(s.lo)
        if isinstance(span, int):
            return [max(0, -(-span // s.step))]
        if s.step == 1:
            return [span]
        return [kf.Let(name, "i64", kf.Apply("floor_divide", (span + (s.step - 1), kf.Const(s.step, "i64")))), name]

    def chunk(self, s: kf.For) -> int:
        """Iterations that a thread takes at once."""
        most = max(1.0, kf.most_trips(s) / CHUNKS)
        return int(max(1, min(CHUNK // max(1.0, min(work(s.body), CHUNK)), most)))

    def _folds(self, before: list[kf.Stmt], folds: Sequence[kf.Fold], s: kf.For, trip: str, tag: str) -> tuple[Any, Any, Any]:
        """Arrays for parts; the loop that combines them; what stands before and after the body of an iteration."""
        count, most = integer(s.hi) - integer(s.lo), int(kf.most_trips(s))
        head: list[kf.Stmt] = []
        tail: list[kf.Stmt] = []
        merge: list[kf.Stmt] = []
        again = f"{tag}_merge"
        for f in folds:
            start = tuple(kf.Const(x, d) for x, d in zip(identity(f.comb, f.dtypes[0]), f.dtypes))
            head.append(replace(f, init=start))
            loaded = []
            for k, d in enumerate(f.dtypes):
                parts, part = f"{tag}_{f.name}_{k}", f"{tag}_{f.name}_{k}_part"
                before.append(kf.Buffer(parts, d, (most,)))
                tail += [kf.Let(part, d, kf.Part(f.name, k)), kf.Store(parts, (trip,), part)]
                merge.append(kf.Let(f"{part}_m", d, kf.Load(parts, (again,))))
                loaded.append(f"{part}_m")
            merge.append(kf.Combine(f.name, tuple(loaded)))
        return before, [kf.For(again, "seq", 0, count, merge)], (head, tail)


def _declare(s: kf.Stmt, scope: dict[str, Any]) -> None:
    if isinstance(s, (kf.Let, kf.Var)):
        scope[s.name] = s.dtype
    elif isinstance(s, kf.Call) and s.name:
        scope[s.name] = s.dtype or "i64"
    elif isinstance(s, (kf.Buffer, kf.Deref, kf.Fold)):
        scope[s.name] = s
    elif isinstance(s, kf.View):
        base = scope[s.buf]
        scope[s.name] = s if s.dtype else replace(s, dtype=base.dtype)


def _param(name: str, what: Any) -> kf.Param:
    if isinstance(what, str):
        return kf.Param(name, what, None)
    return kf.Param(name, what.dtype, (kf.ANY,) if isinstance(what, kf.Deref) else what.shape)


def _extents(what: Any) -> Iterator[str]:
    for n in () if isinstance(what, (str, kf.Deref)) else what.shape:
        yield from symbols(integer(n))


def _written(body: Iterable[kf.Stmt]) -> set[str]:
    out = {s.buf for s in kf.walk(body) if isinstance(s, kf.Store)}
    out |= {b for s in kf.walk(body) if isinstance(s, kf.Call) for b in s.writes}
    return out | {s.buf for s in kf.walk(body) if isinstance(s, kf.View) and s.name in out}
