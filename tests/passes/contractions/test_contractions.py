"""Contractions: register-tile kernels, their epilogues, operands read or copied, batches, windows; values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest

import irad
from irad.call.stages import Stages
from irad.codegen.jit import WIDE, Registers
from irad.codegen.schedule.register_tile import REGISTERS, Room, choose_tile
from irad.core.interp import interpret
from irad.passes.contractions.fuse_dot import fuse_dot
from irad.passes.manager import run
from irad.pipeline import DIFFERENTIATE

sliding = np.lib.stride_tricks.sliding_window_view


def array(*shape: int, dtype: str = "f4", seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def close(got: Any, want: np.ndarray, terms: int = 1) -> None:
    """Equal up to the rounding of a sum of so many terms in any order; `want` may be more precise."""
    got = np.asarray(got)
    assert got.shape == want.shape
    eps = np.finfo(got.dtype).eps
    scale = np.max(np.abs(want), initial=1e-30)
    np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=0, atol=float(4 * eps * np.sqrt(terms + 8) * scale))


def tiles(f: Callable[..., Any], *args: np.ndarray, grad: bool = False) -> tuple[int, Stages]:
    """How many register tiles the native code has, and the stages."""
    lowered = irad.compile(f).lower(*args, grad=grad)
    return sum("shape=(" in line and "fold(add" in line for line in lowered.kernel.splitlines()), lowered


def check(f: Callable[..., Any], *args: np.ndarray, terms: int) -> Stages:
    """The native value is NumPy's, from a register tile."""
    count, lowered = tiles(f, *args)
    assert count, lowered.kernel
    close(irad.compile(f)(*args), f(*(a.astype("f8") if a.dtype.kind == "f" else a for a in args)), terms)
    return lowered


# ---- layouts and shapes ----------------------------------------------------------------------------------------------

LAYOUTS: dict[str, tuple[Callable[..., Any], Callable[[int, int, int], tuple[tuple[int, ...], tuple[int, ...]]]]] = {
    "ab": (lambda a, b: a @ b, lambda m, n, k: ((m, k), (k, n))),
    "atb": (lambda a, b: a.T @ b, lambda m, n, k: ((k, m), (k, n))),
    "abt": (lambda a, b: a @ b.T, lambda m, n, k: ((m, k), (n, k))),
    "atbt": (lambda a, b: a.T @ b.T, lambda m, n, k: ((k, m), (n, k))),
    "transposed result": (lambda a, b: (a @ b).T, lambda m, n, k: ((m, k), (k, n))),
    "slices": (lambda a, b: a[1:, 2:] @ b[2:, 3:-1], lambda m, n, k: ((m + 1, k + 2), (k + 2, n + 4))),
    "steps": (lambda a, b: a[:, ::2] @ b[::-1], lambda m, n, k: ((m, 2 * k), (k, n))),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("m, n, k", [(17, 19, 23), (64, 48, 33)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_layouts(layout: str, m: int, n: int, k: int, dtype: str) -> None:
    f, shapes = LAYOUTS[layout]
    a, b = (array(*s, dtype=dtype, seed=j) for j, s in enumerate(shapes(m, n, k)))
    check(f, a, b, terms=k)


@pytest.mark.parametrize("m, n, k", [(1000, 3, 5), (3, 1000, 5), (13, 13, 13), (5, 16, 1024), (31, 129, 7), (100, 256, 40)])
def test_shapes_with_rests(m: int, n: int, k: int) -> None:
    check(lambda a, b: a @ b, array(m, k), array(k, n, seed=1), terms=k)


def test_rows_a_power_of_two_apart_are_packed() -> None:
    a, b = array(200, 96), array(96, 512, seed=1)
    assert "panel" in check(lambda a, b: a @ b, a, b, terms=96).kernel


def test_batches_are_read_where_they_lie() -> None:
    """Heads of attention: (batch, time, head, feature), contracted per head without a copy of the first operand."""

    def scores(q: Any, k: Any) -> Any:
        q, k = (t.reshape(3, 20, 4, 16).transpose(0, 2, 1, 3) for t in (q, k))
        return q @ k.transpose(0, 1, 3, 2)

    q, k = array(3, 20, 64), array(3, 20, 64, seed=1)
    lowered = check(scores, q, k, terms=16)
    assert lowered.ir.count("loop[") == 3  # the transposed copy of k, the nest and its sum


def test_merged_result_is_stored_in_place() -> None:
    def heads(p: Any, v: Any) -> Any:
        return (p @ v).transpose(0, 2, 1, 3).reshape(3, 20, 64)

    lowered = check(heads, array(3, 4, 20, 20), array(3, 4, 20, 16, seed=1), terms=20)
    assert lowered.ir.count("loop[") == 2 and "copy" not in lowered.ir


@pytest.mark.parametrize("text, shapes", [
    ("ijk,jkl->il", ((9, 8, 7), (8, 7, 21))),
    ("ijk,lkj->li", ((12, 8, 7), (13, 7, 8))),
    ("bij,bjk->bki", ((5, 9, 17), (5, 17, 23))),
    ("aij,bjk->abik", ((3, 8, 16), (4, 16, 18))),
])  # fmt: skip
def test_einsum(text: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = (array(*s, dtype="f8", seed=k) for k, s in enumerate(shapes))
    check(lambda a, b: np.einsum(text, a, b), a, b, terms=64)


def test_a_large_product_goes_to_the_blas() -> None:
    a = array(640, 640)
    count, lowered = tiles(lambda a: a @ a, a)
    assert count == 0 and "gemm" in lowered.kernel
    close(irad.compile(lambda a: a @ a)(a), a.astype("f8") @ a, 640)


# ---- epilogues -------------------------------------------------------------------------------------------------------


@pytest.mark.plain  # sizes of the arena
def test_epilogue_is_in_the_nest() -> None:
    def layer(x: Any, w: Any, b: Any) -> Any:
        return np.maximum(x @ w + b, 0) * 2

    lowered = check(layer, array(40, 30), array(30, 50, seed=1), array(50, seed=2), terms=30)
    assert lowered.ir.count("loop[") == 2 and lowered.native.lowered.arena == 0


def test_long_epilogue_runs_over_the_tile() -> None:
    def layer(x: Any, w: Any) -> Any:
        z = x @ w
        y = np.tanh(z) * np.exp(-z * z) + np.sin(z) / (1 + z * z)
        return (
            y * np.cos(3 * z + 1) + np.sqrt(1 + z * z) * np.log1p(z * z) - np.arctan(z) / (2 + np.cos(z)) + np.cosh(z * 0.1) * z
        )

    lowered = check(layer, array(21, 30, dtype="f8"), array(30, 37, dtype="f8", seed=1), terms=60)
    assert "sums0" in lowered.kernel


def test_epilogue_keeps_what_else_is_read() -> None:
    def f(x: Any, w: Any) -> Any:
        z = x @ w
        y = np.tanh(z)
        return y + np.sum(z, axis=0) + np.sum(y)

    check(f, array(24, 30, dtype="f8"), array(30, 20, dtype="f8", seed=1), terms=2000)


def test_products_that_meet_share_a_tile() -> None:
    def f(x: Any, u: Any, h: Any, v: Any, b: Any) -> Any:
        return np.tanh(x @ u + h @ v + b)

    args = (array(16, 30), array(30, 16, seed=1), array(16, 20, seed=2), array(20, 16, seed=3), array(16, seed=4))
    check(f, *args, terms=60)
    assert tiles(f, *args)[0] == 1


@pytest.mark.plain  # sizes of the arena
def test_gates_meet_in_registers() -> None:
    """Slices of one product, as of an LSTM: one nest with an accumulator per gate."""

    def f(x: Any, w: Any, b: Any) -> Any:
        i, g = np.split(x @ w + b, 2, axis=1)
        return np.tanh(g) / (1 + np.exp(-i))

    lowered = check(f, array(16, 30), array(30, 64, seed=1), array(64, seed=2), terms=60)
    assert lowered.ir.count("loop[") == 3 and lowered.native.lowered.arena == 0


def test_overlapping_slices_are_left_alone() -> None:
    def f(x: Any, w: Any) -> Any:
        z = x @ w
        return z[:, :20] * z[:, 12:]

    check(f, array(16, 30, dtype="f8"), array(30, 32, dtype="f8", seed=1), terms=60)


def test_store_into_a_part() -> None:
    def f(x: Any, w: Any) -> Any:
        out = np.ones((40, 64), x.dtype)
        out[4:20, 16:48] = x @ w
        out[20:36, 16:48] += x @ w * 2
        return out

    check(f, array(16, 30), array(30, 32, seed=1), terms=60)


# ---- loops -----------------------------------------------------------------------------------------------------------


def recurrent(w: Any, x: Any) -> Any:
    h = np.zeros((8, 24), x.dtype)
    for t in range(5):
        h = np.tanh(x[t] + h @ w.T)
    return np.sum(h)


def test_weights_are_transposed_once() -> None:
    w, x = array(24, 24) / 5, array(5, 8, 24, seed=1)
    lowered = check(recurrent, w, x, terms=200)
    before, _, inside = lowered.ir.partition(" = for ")
    assert "loop[extents=(24,24)" in before and "loop[extents=(24,24)" not in inside


def test_weight_gradient_is_added_in_place() -> None:
    w, x = array(24, 24, dtype="f8") / 5, array(5, 8, 24, dtype="f8", seed=1)
    _, lowered = tiles(recurrent, w, x, grad=True)
    assert any("[extents=(24,24), outs=(add:" in line for line in lowered.ir.splitlines())
    got = irad.grad(recurrent)(w, x)
    rng = np.random.default_rng(3)
    d = rng.standard_normal(w.shape)
    step = 1e-6
    slope = (recurrent(w + step * d, x) - recurrent(w - step * d, x)) / (2 * step)
    np.testing.assert_allclose(np.sum(got * d), slope, rtol=1e-7)


# ---- gradients -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients(layout: str) -> None:
    f, shapes = LAYOUTS[layout]
    a, b = (array(*s, dtype="f8", seed=j) for j, s in enumerate(shapes(18, 22, 26)))
    c = array(*f(a, b).shape, dtype="f8", seed=7)
    got = irad.grad(lambda a, b: np.sum(np.sin(f(a, b)) * c), argnums=(0, 1))(a, b)
    outer = np.cos(f(a, b)) * c
    for k, (g, x) in enumerate(zip(got, (a, b))):
        d = array(*x.shape, dtype="f8", seed=9)
        slope = np.sum(outer * (f(d, b) if k == 0 else f(a, d)))  # the product is linear in each operand
        np.testing.assert_allclose(np.sum(g * d), slope, rtol=1e-11)


def test_relu_layers() -> None:
    """Masks of the forward are read in the epilogue of the backward."""

    def loss(u: Any, v: Any, x: Any) -> Any:
        return np.sum(np.maximum(np.maximum(x @ u, 0) @ v, 0) ** 2)

    u, v, x = array(20, 40, dtype="f8"), array(40, 24, dtype="f8", seed=1), array(32, 20, dtype="f8", seed=2)
    du, dv = irad.grad(loss, argnums=(0, 1))(u, v, x)
    z = x @ u
    h = np.maximum(z, 0)
    y = np.maximum(h @ v, 0)
    np.testing.assert_allclose(dv, h.T @ (2 * y), rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(du, x.T @ ((2 * y) @ v.T * (z > 0)), rtol=1e-11, atol=1e-9)


# ---- convolution -----------------------------------------------------------------------------------------------------


def convolution(x: Any, k: Any) -> Any:
    windows = sliding(x, k.shape[2:], axis=(2, 3))
    return np.einsum("bchwij,ocij->bohw", windows, k)


CASES = [
    ((2, 3, 20, 24), (5, 3, 3, 5)),
    ((3, 4, 9, 9), (8, 4, 4, 4)),
    ((2, 1, 40, 18), (6, 1, 5, 1)),
    ((1, 6, 12, 12), (20, 6, 3, 3)),
]


@pytest.mark.parametrize("x, k", CASES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_convolution(x: tuple[int, ...], k: tuple[int, ...], dtype: str) -> None:
    a, b = array(*x, dtype=dtype), array(*k, dtype=dtype, seed=1)
    lowered = check(convolution, a, b, terms=prod(k[1:]))
    assert lowered.native.lowered.arena < 2 * b.nbytes + 256  # no windows in memory, at most the kernel in another order


@pytest.mark.parametrize("x, k", CASES)
def test_convolution_gradients(x: tuple[int, ...], k: tuple[int, ...]) -> None:
    a, b = array(*x, dtype="f8"), array(*k, dtype="f8", seed=1)
    c = array(*convolution(a, b).shape, dtype="f8", seed=2)
    loss = lambda a, b: np.sum(convolution(a, b) * c)  # noqa: E731
    da, db = irad.grad(loss, argnums=(0, 1))(a, b)
    want = np.zeros_like(a)
    for i in range(k[2]):
        for j in range(k[3]):
            want[:, :, i : i + c.shape[2], j : j + c.shape[3]] += np.einsum("bohw,oc->bchw", c, b[:, :, i, j])
    np.testing.assert_allclose(da, want, rtol=0, atol=1e-11 * np.max(np.abs(want)))
    want_b = np.einsum("bohw,bchwij->ocij", c, sliding(a, k[2:], axis=(2, 3)))
    np.testing.assert_allclose(db, want_b, rtol=0, atol=1e-11 * np.max(np.abs(want_b)))


def test_input_gradient_makes_no_product_over_windows() -> None:
    x, k = (2, 3, 20, 24), (5, 3, 3, 5)
    a, b = array(*x), array(*k, seed=1)
    _, lowered = tiles(lambda a, b: np.sum(convolution(a, b) ** 2), a, b, grad=True)
    windows = 4 * 2 * 3 * 18 * 20 * 3 * 5  # bytes of the array that would be scattered
    assert lowered.native.lowered.arena < windows


def test_one_dimensional_convolution() -> None:
    f = lambda x, k: np.einsum("tci,oci->to", sliding(x, 4, axis=0), k)  # noqa: E731
    x, k = array(50, 6, dtype="f8"), array(7, 6, 4, dtype="f8", seed=1)
    check(f, x, k, terms=24)
    dx = irad.grad(lambda x, k: np.sum(f(x, k) ** 2))(x, k)
    d = array(50, 6, dtype="f8", seed=3)
    np.testing.assert_allclose(np.sum(dx * d), np.sum(2 * f(x, k) * f(d, k)), rtol=1e-11)


def test_padded_convolution_with_bias_and_pooling() -> None:
    def net(x: Any, k: Any, b: Any) -> Any:
        y = np.maximum(convolution(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), k) + b[:, None, None], 0)
        return np.sum(y.reshape(2, 5, 8, 2, 9, 2).max((3, 5)) ** 2)

    x, k, b = array(2, 3, 16, 18, dtype="f8"), array(5, 3, 3, 3, dtype="f8", seed=1), array(5, dtype="f8", seed=2)
    got = irad.grad(net, argnums=(0, 1, 2))(x, k, b)
    step = 1e-6
    for n, (g, v) in enumerate(zip(got, (x, k, b))):
        d = array(*v.shape, dtype="f8", seed=5)
        up, down = ([w + s * d if m == n else w for m, w in enumerate((x, k, b))] for s in (step, -step))
        np.testing.assert_allclose(np.sum(g * d), (net(*up) - net(*down)) / (2 * step), rtol=1e-6)


def test_pooling_gradient_goes_to_the_first_of_equals() -> None:
    x = np.array([[1.0, 1.0, 2.0, 0.0], [1.0, 0.0, 2.0, 2.0], [0.0, 3.0, -1.0, -1.0], [3.0, 3.0, -1.0, -2.0]])
    got = irad.grad(lambda x: np.sum(x.reshape(2, 2, 2, 2).max((1, 3)) * np.array([[1.0, 2.0], [3.0, 4.0]])))(x)
    np.testing.assert_array_equal(got, [[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 4, 0], [0, 0, 0, 0]])


# ---- the pass and the tiles by themselves ----------------------------------------------------------------------------


@pytest.mark.parametrize("f", [
    lambda a, b: np.maximum(a @ b.T + 1, 0),
    lambda a, b: np.split(a @ b.T, 2, axis=1)[0] * np.split(a @ b.T, 2, axis=1)[1],
    lambda a, b: np.einsum("iw,ow->oi", sliding(a[0], 9)[:13], b[:, :9]),
])  # fmt: skip
def test_nests_mean_what_the_products_mean(f: Callable[..., Any]) -> None:
    from irad.frontend.trace import trace

    a, b = array(14, 22, dtype="f8"), array(20, 22, dtype="f8", seed=1)
    program = run(trace(f, (a, b), {}).program, DIFFERENTIATE)
    nests = fuse_dot(program)
    assert any(n.op.name == "loop" for g in nests.values() for n in g.nodes)
    graph = next(iter(nests.values()))
    (got,) = interpret(graph, a, b) if len(graph.params) == 2 else interpret(graph, a)
    np.testing.assert_allclose(got, f(a, b), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rows", [(1,), (7,), (64,), (512,), (3, 5), (6, 5, 5), (100, 3)])
@pytest.mark.parametrize("columns", [1, 5, 16, 33, 100, 768])
@pytest.mark.parametrize("groups", [1, 4, 8])
def test_tiles_fit_the_registers(rows: tuple[int, ...], columns: int, groups: int) -> None:
    t = choose_tile(rows, columns, 16, groups, 1000, Room(WIDE, 4))
    assert prod(t.rows) * -(-t.columns // t.lanes) * groups <= max(REGISTERS, groups)
    assert all(1 <= h <= n for h, n in zip(t.rows, rows)) and 1 <= t.columns <= columns
    assert t.columns == columns or t.columns % t.lanes == 0


def test_a_common_tile() -> None:
    t = choose_tile((512,), 512, 16, 1, 512, Room(WIDE, 4))
    assert 16 <= prod(t.rows) * t.columns // t.lanes <= REGISTERS and t.lanes == 16


@pytest.mark.parametrize("registers", [Registers(256, 16), Registers(128, 16), Registers(128, 32)], ids=str)
@pytest.mark.parametrize("columns", [1, 5, 16, 33, 100, 768])
@pytest.mark.parametrize("groups", [1, 4, 8])
def test_tiles_fit_the_registers_of_any_machine(columns: int, groups: int, registers: Registers) -> None:
    """With the vectors that a step loads and a broadcast; sums of one row at least."""
    t = choose_tile((100, 7), columns, 16, groups, 1000, Room(registers, 4))
    vectors, width = -(-t.columns // t.lanes), registers.of(t.lanes, 4)
    assert prod(t.rows) * vectors * groups * width + vectors * width + 1 <= registers.count or prod(t.rows) * vectors == 1


def test_a_tile_for_sixteen_registers_of_four_numbers() -> None:
    """12 sums, 2 loads, 1 broadcast."""
    t = choose_tile((600,), 600, 8, 1, 600, Room(Registers(256, 16), 8))
    assert (t.rows, t.columns) == ((6,), 8)


@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_small_products_in_a_row_start_from_zero_each(n: int) -> None:
    """Two sums of one nest whose zeros are one constant."""
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(2, 3, n, n))
    f = lambda a, b: np.swapaxes(a, -1, -2) @ b @ a
    np.testing.assert_allclose(irad.compile(f)(a, b), f(a, b), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [8, 16, 33, 100])
def test_a_product_of_what_a_nest_makes(n: int) -> None:
    """A step of a recurrence reads the whole of the last state."""

    def f(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        for _ in range(3):
            x = x - 0.1 * (w @ x)
        return x

    a, w = array(n, n, dtype="f8"), array(n, n, dtype="f8", seed=1) / n
    close(irad.compile(f)(a, w), f(a, w), 3 * n)
    d = np.ones((n, n))
    for _ in range(3):
        d = d - 0.1 * (w.T @ d)
    close(irad.grad(lambda x, w: np.sum(f(x, w)))(a, w), d, 3 * n)


def test_halves_of_a_product_multiplied() -> None:
    """A gated layer: both cotangents of the halves are stored into one array."""

    def f(w: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        z = x @ w
        return np.sum((z[:, :32] * z[:, 32:]) @ u)

    w, x, u = array(32, 64, dtype="f8"), array(8, 32, dtype="f8", seed=1), array(32, 16, dtype="f8", seed=2)
    z, back = x @ w, np.ones((8, 16)) @ u.T
    close(irad.grad(f)(w, x, u), x.T @ np.hstack([back * z[:, 32:], back * z[:, :32]]), 8 * 64)


@pytest.mark.parametrize("n", [8, 17, 33])
def test_rows_folded_after_the_last_inner_loop(n: int) -> None:
    """The blocked nest ends with a product whose rows go into a sum: tanh of the rows makes it a block at a time."""

    def f(x: np.ndarray, v: np.ndarray, at: np.ndarray) -> Any:
        w = np.tanh(v)
        return np.sum(x * np.sin(x)[at]) + np.sum(w * v) + np.sum(v)

    x, v, at = array(n, n, dtype="f8"), array(n, dtype="f8", seed=1), np.arange(n)[::-1].copy()
    close(irad.compile(f)(x, v, at), np.asarray(f(x, v, at)), n * n)
