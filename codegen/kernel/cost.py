"""How long a kernel runs, roughly, from its text: whether threads share it, whether it listens for signals, whether it lets other
threads of Python run."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const
from irad.ops.core import cost_of

UNPOLLED = 5e7  # ns; loops known to be shorter do not listen for signals
LONG = 20e3  # ns; kernels above it let other Python threads run meanwhile

_FLOP = 0.03  # ns, in a product of BLAS
_ADDITION = 0.5  # ns, of a vector of eight


def work(body: Sequence[kf.Stmt]) -> float:
    """Nanoseconds, within a factor of some three; `inf` where a trip count is known at run time only."""
    return sum(_cost(s) for s in body)


def _cost(s: kf.Stmt) -> float:
    if isinstance(s, kf.Let):
        return _ADDITION * (max(1.0, cost_of(s.expr.op)) if isinstance(s.expr, Apply) else 1.0)
    if isinstance(s, kf.For):
        trips = _trips(s)
        vectors = max(1, s.lanes // 8)
        return trips * (work(s.body) * vectors + 0.5) if trips else 0.0
    if isinstance(s, kf.While):
        return inf
    if isinstance(s, kf.If):
        return max(work(s.then), work(s.orelse))
    return _call(s) if isinstance(s, kf.Call) else 0.5


def _call(s: kf.Call) -> float:
    if s.symbol.startswith("irad_mpi_"):  # it waits for other processes
        return 2 * LONG
    mnk = [a.value for a in s.args[3:6] if isinstance(a, Const)] if s.symbol.partition("cblas_")[2][1:5] == "gemm" else []
    return 20.0 + (2 * _FLOP * prod(map(float, mnk)) if len(mnk) == 3 else 0.0)


def _trips(s: kf.For) -> float:
    trips = kf.most_trips(s)
    return trips if s.kind != "vec" or trips == inf else -(-trips // s.lanes)
