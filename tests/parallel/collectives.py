"""What each process of test_mpi.py runs: collectives in compiled code, their derivatives, and training on a shard each."""

from __future__ import annotations

import runpy
import traceback
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import irad

RANK, SIZE, WORLD = irad.mpi.rank(), irad.mpi.size(), MPI.COMM_WORLD
X, S = np.arange(3.0) + RANK, 2.0 + RANK


def everything(x: Any, s: Any) -> Any:
    gathered = irad.mpi.allgather(x)
    part = irad.mpi.reduce_scatter(gathered * gathered)
    shared = irad.mpi.broadcast(x, root=SIZE - 1) + irad.mpi.reduce(x, root=0)
    ends = irad.mpi.allreduce(x, op="max") + irad.mpi.allreduce({"k": (s, x)}, op="min")["k"][0]
    return np.sum(part * shared * ends) + irad.mpi.rank()


def values() -> None:
    want = SIZE * np.arange(3.0) + SIZE * (SIZE - 1) / 2
    assert np.array_equal(irad.compile(lambda x: irad.mpi.allreduce(x))(X), want)
    np.testing.assert_allclose(irad.compile(everything)(X, S), everything(X, S), rtol=1e-14)  # through mpi4py
    for dtype in (np.float32, np.int64, np.int32, np.uint8):
        w = np.arange(4).astype(dtype) + dtype(RANK)
        out = irad.compile(lambda w: irad.mpi.allreduce(w, op="max"))(w)
        assert out.dtype == dtype and np.array_equal(out, np.arange(4) + SIZE - 1)
    half = WORLD.Split(RANK % 2)
    assert np.array_equal(irad.compile(lambda x: irad.mpi.allreduce(x, comm=half))(X), half.allreduce(X))
    number = irad.compile(lambda s: irad.mpi.allreduce(s))
    assert type(number(S)) is float and number(S) == SIZE * 2 + SIZE * (SIZE - 1) / 2


def derivatives() -> None:
    """Those of the sum of all processes' results, by differences."""
    total = lambda x, s: WORLD.allreduce(float(everything(x, s)))
    by_x, by_s = irad.grad(everything, argnums=(0, 1))(X, S)
    h = 1e-6
    for owner in range(SIZE):
        for k in range(3):
            d = np.zeros(3)
            d[k] = h * (owner == RANK)
            slope = (total(X + d, S) - total(X - d, S)) / (2 * h)
            assert owner != RANK or np.isclose(by_x[k], slope, rtol=1e-5)
        d = h * (owner == RANK)
        slope = (total(X, S + d) - total(X, S - d)) / (2 * h)
        assert owner != RANK or np.isclose(by_s, slope, rtol=1e-5)
    _, tangent = irad.jvp(everything, (X, S), (np.cos(X), 0.5))
    along = float(np.sum(by_x * np.cos(X)) + by_s * 0.5)
    assert np.isclose(WORLD.allreduce(float(tangent)), WORLD.allreduce(along), rtol=1e-12)


def loops() -> None:
    """In a loop, in a loop of unknown length, and under vmap."""

    def relaxed(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x - 0.1 * irad.mpi.allreduce(np.sin(x)) / irad.mpi.size()
        return np.sum(x)

    x, h = X / 3, 1e-6
    slope = irad.grad(relaxed)(x, 4)
    total = lambda x: WORLD.allreduce(float(irad.compile(relaxed)(x, 4)))
    for owner in range(SIZE):
        d = np.array([0.0, h, 0.0]) * (owner == RANK)
        found = (total(x + d) - total(x - d)) / (2 * h)
        assert owner != RANK or np.isclose(slope[1], found, rtol=1e-5)
    rows = np.arange(6.0).reshape(2, 3) * (RANK + 1)
    sums = irad.compile(irad.vmap(lambda r: irad.mpi.allreduce(np.sum(r * r))))(rows)
    np.testing.assert_allclose(sums, WORLD.allreduce(np.sum(rows * rows, axis=1)), rtol=1e-14)


def errors() -> None:
    for wrong, text in (
        (lambda x: irad.mpi.allreduce(x, op="mean"), "op is one of"),
        (lambda x: irad.mpi.broadcast(x, root=SIZE), "root is a rank from 0"),
        (lambda x: irad.mpi.reduce_scatter(x, comm=3), "comm is a communicator"),
        (lambda x: irad.mpi.reduce_scatter(np.zeros((SIZE + 1, 2)) * x[0]), "a part for each of"),
        (lambda x: irad.mpi.allreduce(x + 1j), "real numbers"),
        (lambda x: irad.mpi.allreduce(x > 1), "real numbers"),
    ):
        for f in (wrong, irad.compile(wrong)):
            try:
                f(X)
            except irad.IradError as e:
                assert text in str(e), e
            else:
                raise AssertionError(text)


def one_direction() -> None:
    """Directions that all processes would take at once are refused."""
    f = lambda x: np.sum(irad.mpi.allreduce(x) ** 2)
    for wrong in (irad.jacobian(f), irad.hessian(f), irad.grad(f, mode="forward")):
        try:
            wrong(X)
        except irad.UnsupportedError as e:
            assert "all processes at once" in str(e)
        else:
            raise AssertionError
    v = np.cos(X)
    product = irad.hvp(f)(X, v)  # of the sum over all processes
    np.testing.assert_allclose(product, 2 * SIZE * WORLD.allreduce(v), rtol=1e-12)


def training(example: str) -> None:
    """All processes on their shards, as one process on the whole batch."""
    module = runpy.run_path(example)
    together = module["train"](steps=12)
    alone = module["train"](steps=12, alone=True)
    for k in alone:
        np.testing.assert_allclose(together[k], alone[k], rtol=1e-9, atol=1e-12)


def main() -> None:
    values()
    derivatives()
    loops()
    errors()
    one_direction()
    training(str(Path(__file__).parents[2] / "docs" / "examples" / "mpi_digits.py"))
    print(f"{RANK} of {SIZE} is right", flush=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001  (the others would wait for ever)
        traceback.print_exc()
        WORLD.Abort(1)
