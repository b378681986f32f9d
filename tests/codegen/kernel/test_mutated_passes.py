"""Each kernel pass, broken on purpose, is refused: by the checker where a read is left without its store, in memory mode where it leaves an
array or a part of a result, by translation validation where only numbers are wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.kernel import form as kf
from irad.codegen.transform import interchange, reserved
from irad.codegen.transform.manager import KERNEL_PIPELINE
from irad.core.lazy_dataclass import replace
from irad.errors import MemoryCheckError, VerifyError
from irad.validation.validate import StageDiffers, validate

COUNT = itertools.count(40)  # each program is another one: compiled code is kept


def covariance(m: Any) -> Any:
    """Its rows are centred in a scratch buffer."""
    d = m - m.mean(axis=1, keepdims=True)
    return d @ d.T / (m.shape[1] - 1)


def without_stores(body: list[kf.Stmt], buffers: set[str]) -> list[kf.Stmt]:
    """The statements but for stores to these buffers."""
    out: list[kf.Stmt] = []
    for s in body:
        if isinstance(s, kf.Store) and s.buf in buffers:
            continue
        parts = {n: without_stores(getattr(s, n), buffers) for n in ("body", "then", "orelse", "test") if hasattr(s, n)}
        out.append(replace(s, **parts) if parts else s)  # type: ignore[type-var]
    return out


def unfilled(kernel: kf.Kernel) -> kf.Kernel:
    buffers = {s.name for s in kf.walk(kernel.body) if isinstance(s, kf.Buffer) and not s.freed}
    return replace(kernel, body=without_stores(kernel.body, buffers))


@pytest.mark.plain
@pytest.mark.parametrize("name", KERNEL_PIPELINE)
def test_what_a_pass_leaves_unwritten_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = KERNEL_PIPELINE[name]
    run: Callable[..., Any] = lambda kernels, job: [unfilled(k) for k in row.run(kernels, job)]
    monkeypatch.setitem(KERNEL_PIPELINE, name, replace(row, run=run, wanted=lambda job: True))
    with pytest.raises(VerifyError, match="read before anything is stored to it"):
        irad.compile(covariance, check="memory")(np.ones((3, next(COUNT))))


# ---- blocks of rows ------------------------------------------------------------------------------------------------------------


def recurrence(x: Any) -> Any:
    y = x.copy()
    for j in range(1, x.shape[1]):
        y[:, j] = 0.3 * x[:, j] + 0.5 * y[:, j - 1]
    return y


def test_blocks_that_start_elsewhere_leave_the_array(monkeypatch: pytest.MonkeyPatch) -> None:
    one = interchange._one_block
    monkeypatch.setattr(interchange, "_one_block", lambda trips, first: one(trips, first - 1))
    with pytest.raises(MemoryCheckError, match="is outside of buffer"):
        irad.compile(recurrence, check="memory")(np.ones((130, next(COUNT))))


def test_rows_that_are_left_out_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interchange, "_rest", lambda trips, lo, hi: replace(trips, body=[]))
    x = np.random.default_rng(0).random((130, next(COUNT)))
    with pytest.raises(StageDiffers, match="interchanged"):
        validate(recurrence, [x], flags=False)


# ---- records of tapes ------------------------------------------------------------------------------------------------------------


def powers(x: Any) -> Any:
    for _ in range(40):
        x = np.sin(x) * x + 0.5
    return np.sum(x)


def broken(change: Callable[[kf.For, list[kf.Stmt]], Any]) -> Any:
    make = reserved._Tapes.at_known_places

    def at_known_places(self: Any, top: Any) -> Any:
        loop, before, after = make(self, top)
        return (*change(loop, before), after)

    return at_known_places


def test_too_little_room_is_found_in_memory_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    def less(loop: kf.For, before: list[kf.Stmt]) -> Any:
        return loop, [
            replace(s, expr=kf.Apply("add", (s.expr.args[0], kf.Const(8, "i64"))))
            if isinstance(s, kf.Let) and isinstance(s.expr, kf.Apply) and s.expr.op == "add" and s.name.startswith("need")
            else s
            for s in before
        ]

    monkeypatch.setattr(reserved._Tapes, "at_known_places", broken(less))
    with pytest.raises(MemoryCheckError, match="is outside of buffer `mem"):
        irad.grad(irad.compile(powers, check="memory"))(np.linspace(0.1, 0.4, next(COUNT)))


def test_records_at_other_places_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trip of the loop at the place of the one before it, from the second on: the numbers are wrong, and memory is in order."""

    def same(loop: kf.For, before: list[kf.Stmt]) -> Any:
        first = kf.Let("first", "i64", kf.Apply("minimum", (loop.var, kf.Const(0, "i64"))))
        moved = [first, *(reserved.substituted(s, {loop.var: kf.integer("first")}) for s in loop.body)]
        return replace(loop, body=moved), before

    monkeypatch.setattr(reserved._Tapes, "at_known_places", broken(same))
    with pytest.raises(StageDiffers, match="reserved"):
        validate(powers, [np.linspace(0.1, 0.4, next(COUNT))], argnums=0, flags=False)
