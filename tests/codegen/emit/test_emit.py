"""Kernel form to native code: lanes, tails, folds, gathers, branches, dtypes; against NumPy."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np
import pytest

from irad.codegen import jit
from irad.codegen.emit.kernels import emit
from irad.codegen.kernel import parse as kparse
from irad.codegen.kernel.form import (
    Apply,
    Assign,
    Buffer,
    Call,
    Combine,
    Const,
    Deref,
    Fold,
    For,
    If,
    Kernel,
    Let,
    LinScan,
    Load,
    Param,
    Part,
    Prefetch,
    Raise,
    Store,
    Swap,
    Var,
    View,
    While,
    integer,
)
from irad.codegen.math import rare as poly_rare
from irad.core.types import DTYPES, NATIVE
from irad.errors import IradError
from tests.support.native import RULES, let, native

LANES = (1, 2, 4, 8, 16, 32)
rng = np.random.default_rng(0)
n, i, j = integer("n"), integer("i"), integer("j")


def f64(x: float) -> Const:
    return Const(x, "f64")


def i64(x: int) -> Const:
    return Const(x, "i64")


def zero_fold(name: str, dtype: str = "f64", **kw: Any) -> Fold:
    return Fold(name, "add", (dtype,), (Const(0, dtype),), **kw)


# ---- lanes, copies and tails ------------------------------------------------------------------------------------


def mixed_kernel(extent: int | str, **loop: Any) -> Kernel:
    """Contiguous and reversed accesses, a colliding scatter, sum, max and argmin of x*y."""
    e = integer(extent)
    size = (extent,)
    body = [
        Let("a", "f32", Load("x", ("i",))),
        let("b", "f64", "cast", "a"),
        Let("c", "f64", Load("y", ("i",))),
        let("v", "f64", "mul", "b", "c"),
        Combine("s", ("v",)),
        Combine("m", ("v",)),
        Combine("am", ("v", "i")),
        Store("out", (e - 1 - i,), "v"),
        Let("k", "i64", Load("ix", ("i",))),
        Store("h", ("k",), "c", add=True),
    ]
    return Kernel(
        "mixed",
        [Param("n", "i64", None), Param("x", "f32", size), Param("y", "f64", size), Param("ix", "i64", size),
         Param("h", "f64", (8,)), Param("out", "f64", size), Param("r", "f64", (3,)), Param("at", "i64", ())],
        [
            zero_fold("s"),
            Fold("m", "maximum", ("f64",), (f64(-np.inf),)),
            Fold("am", "argmin", ("f64", "i64"), (f64(np.inf), i64(-1))),
            For("i", "vec", 0, extent, body, **loop),
            Let("s1", "f64", Part("s")), Let("m1", "f64", Part("m")), Let("v1", "f64", Part("am")), Let("i1", "i64", Part("am", 1)),
            Store("r", (0,), "s1"), Store("r", (1,), "m1"), Store("r", (2,), "v1"), Store("at", (), "i1"),
        ],
    )  # fmt: skip


def check_mixed(f: Any, size: int) -> None:
    x = rng.integers(-3, 4, size).astype("f4")
    y = rng.integers(-4, 5, size).astype("f8")  # many ties; sums are exact in any order
    ix = rng.integers(0, 8, size)
    h, out, r, at = np.zeros(8), np.full(size + 3, 7.0), np.zeros(3), np.zeros(1, "i8")
    assert f(size, x, y, ix, h, out, r, at) == 0
    v, expect = x * y, np.zeros(8)
    np.add.at(expect, ix, y)
    assert np.array_equal(out[:size], v[::-1]) and (out[size:] == 7).all()
    assert np.array_equal(h, expect)
    if size:
        assert (r[0], r[1], r[2], at[0]) == (v.sum(), v.max(), v.min(), v.argmin())
    else:
        assert (r[0], r[1], r[2], at[0]) == (0, -np.inf, np.inf, -1)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("loop", [{}, {"unroll": 2}, {"unroll": 3}], ids=str)
def test_run_time_extents(lanes: int, loop: dict[str, int]) -> None:
    f = native(mixed_kernel("n", lanes=lanes, **loop))
    for size in [*range(41), 67, 255]:
        check_mixed(f, size)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("size", [0, 1, 7, 16, 33, 40])
def test_constant_extents(lanes: int, size: int) -> None:
    check_mixed(native(mixed_kernel(size, lanes=lanes, unroll=2)), size)
    check_mixed(native(mixed_kernel(size, lanes=lanes, full=True)), size)


def test_negative_run_time_extent_is_empty() -> None:
    f = native(Kernel("f", [Param("n", "i64", None), Param("x", "f64", (4,))],
                      [For("i", "vec", 0, "n", [Store("x", ("i",), f64(1.0))], lanes=4, unroll=2)]))  # fmt: skip
    x = np.zeros(4)
    for size in (-1, -5, -8, -100):
        f(size, x)
    assert not x.any()


def test_rows_with_strides_known_at_run_time() -> None:
    """z = X w, g = X' z: a seq fold inside lanes, lanes along rows and down columns, a bound that is a value."""
    body = [
        For("i", "par", 0, "n", [
            zero_fold("t"),
            For("j", "vec", 0, "m", [
                Let("a", "f64", Load("X", ("i", "j"))), Let("b", "f64", Load("w", ("j",))), let("p", "f64", "mul", "a", "b"),
                Combine("t", ("p",)),
            ], lanes=4, unroll=2),
            Let("z1", "f64", Part("t")), Store("z", ("i",), "z1"),
        ]),
        For("j", "vec", 0, "m", [
            zero_fold("u"),
            For("i", "seq", 0, "n", [
                Let("a", "f64", Load("X", ("i", "j"))), Let("b", "f64", Load("z", ("i",))), let("p", "f64", "mul", "a", "b"),
                Combine("u", ("p",)),
            ]),
            Let("g1", "f64", Part("u")), Store("g", ("j",), "g1"),
        ], lanes=8),
        For("i", "vec", 0, "n", [Let("a", "f64", Load("X", ("i", 0))), Store("c", ("i",), "a")], lanes=4),
    ]  # fmt: skip
    params = [Param("n", "i64", None), Param("m", "i64", None), Param("X", "f64", ("n", "m")), Param("w", "f64", ("m",)),
              Param("z", "f64", ("n",)), Param("g", "f64", ("m",)), Param("c", "f64", ("n",))]  # fmt: skip
    f = native(Kernel("rows", params, body))
    for rows, cols in ((0, 5), (3, 1), (5, 7), (9, 33), (4, 64), (13, 8)):
        X, w = rng.standard_normal((rows, cols)), rng.standard_normal(cols)
        z, g, c = np.zeros(rows), np.full(cols + 2, 7.0), np.zeros(rows)
        f(rows, cols, X, w, z, g, c)
        assert np.allclose(z, X @ w, 1e-13) and np.allclose(g[:cols], X.T @ (X @ w), 1e-12) and (g[cols:] == 7).all()
        assert np.array_equal(c, X[:, 0])


# ---- folds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("comb", ["argmax", "argmin"])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_arg_folds_as_numpy(comb: str, ordered: bool, lanes: int) -> None:
    k = Kernel("f", [Param("n", "i64", None), Param("x", "f64", ("n",)), Param("v", "f64", ()), Param("at", "i64", ())], [
        Fold("b", comb, ("f64", "i64"), (f64(-np.inf if comb == "argmax" else np.inf), i64(-1)), lanes=lanes, copies=2),
        For("i", "vec", 0, "n", [Let("a", "f64", Load("x", ("i",))), Combine("b", ("a", "i"), ordered=ordered)], lanes=lanes, unroll=2),
        Let("v1", "f64", Part("b")), Let("i1", "i64", Part("b", 1)), Store("v", (), "v1"), Store("at", (), "i1"),
    ])  # fmt: skip
    f, v, at = native(k), np.zeros(1), np.zeros(1, "i8")
    nan, inf = np.nan, np.inf
    cases = [
        [],
        [1.0],
        [inf] * 40,
        [-inf] * 40,
        [3, 1, 3, 1, 3.0] * 9,
        [0.0, -0.0] * 20,
        [1.0] * 30 + [nan] + [5.0] * 3 + [nan] * 4,
        [nan] * 37,
    ]
    cases += [list(rng.integers(0, 5, k) * 1.0) for k in range(40)]
    for x in map(np.array, cases):
        f(len(x), x.astype("f8"), v, at)
        assert at[0] == (getattr(np, comb)(x) if len(x) else -1), (x, at)
        if len(x):
            assert np.array_equal(v[0], x[at[0]], equal_nan=True)


def test_arg_folds_of_integers_and_bools() -> None:
    for dtype, low in (("i32", -(1 << 31)), ("u8", 0), ("bool", False), ("u64", 0)):
        k = Kernel("f", [Param("n", "i64", None), Param("x", dtype, ("n",)), Param("at", "i64", ())], [
            Fold("b", "argmax", (dtype, "i64"), (Const(low, dtype), i64(-1))),
            For("i", "vec", 0, "n", [Let("a", dtype, Load("x", ("i",))), Combine("b", ("a", "i"))], lanes=8),
            Let("i1", "i64", Part("b", 1)), Store("at", (), "i1"),
        ])  # fmt: skip
        f, at = native(k), np.zeros(1, "i8")
        for size in (1, 8, 13, 40):
            x = rng.integers(0, 200, size).astype(DTYPES[dtype])
            if dtype == "u64":
                x += np.uint64(1 << 63)
            f(size, x, at)
            assert at[0] == x.argmax()


def test_start_values_and_combining_outside_of_the_loop() -> None:
    """A wide fold takes its start, scalars combined outside and two vec loops of different lanes."""

    def loop(lanes: int) -> For:
        return For(
            "i", "vec", 0, "n", [Let("a", "f64", Load("x", ("i",))), Combine("s", ("a",)), Combine("p", ("a",))], lanes=lanes
        )

    k = Kernel("f", [Param("n", "i64", None), Param("x", "f64", ("n",)), Param("r", "f64", (2,))], [
        Fold("s", "add", ("f64",), (f64(1000.0),), lanes=8, copies=2), Fold("p", "mul", ("f64",), (f64(3.0),), lanes=8),
        loop(8), Combine("s", (f64(0.5),)), loop(4), Combine("p", (f64(2.0),)),
        Let("s1", "f64", Part("s")), Let("p1", "f64", Part("p")), Store("r", (0,), "s1"), Store("r", (1,), "p1"),
    ])  # fmt: skip
    f, r = native(k), np.zeros(2)
    for size in (0, 1, 5, 8, 19):
        x = rng.integers(1, 3, size).astype("f8")
        f(size, x, r)
        assert r[0] == 1000.5 + 2 * x.sum() and r[1] == 6.0 * x.prod() ** 2


def test_the_sign_of_an_empty_and_a_negative_zero_sum() -> None:
    k = Kernel("f", [Param("n", "i64", None), Param("x", "f64", ("n",)), Param("r", "f64", ())], [
        Fold("s", "add", ("f64",), (f64(-0.0),)),
        For("i", "vec", 0, "n", [Let("a", "f64", Load("x", ("i",))), Combine("s", ("a",))], lanes=8, unroll=2),
        Let("s1", "f64", Part("s")), Store("r", (), "s1"),
    ])  # fmt: skip
    f, r = native(k), np.zeros(1)
    f(5, np.full(5, -0.0), r)
    assert np.signbit(r[0])


def test_register_tile_is_a_matmul() -> None:
    """C[4,24] in registers over k, the last vector of a row partly used; then read element by element."""
    tile = Fold("c", "add", ("f64",), (f64(0.0),), shape=(4, 24), lanes=16)
    vec = dict(lanes=16, full=True)
    k = Kernel("f", [Param("A", "f64", (4, 9)), Param("B", "f64", (9, 24)), Param("C", "f64", (4, 24)), Param("d", "f64", (2,))], [
        tile,
        For("k", "seq", 0, 9, [For("r", "unroll", 0, 4, [For("j", "vec", 0, 24, [
            Let("a", "f64", Load("A", ("r", "k"))), Let("b", "f64", Load("B", ("k", "j"))), let("p", "f64", "mul", "a", "b", contract=True),
            Combine("c", ("p",), ("r", "j")),
        ], **vec)])]),
        For("r", "unroll", 0, 4, [For("j", "vec", 0, 24, [Let("v", "f64", Part("c", 0, ("r", "j"))), Store("C", ("r", "j"), "v")], **vec)]),
        Let("x", "f64", Part("c", 0, (2, 3))), Let("y", "f64", Part("c", 0, (3, 17))), Store("d", (0,), "x"), Store("d", (1,), "y"),
    ])  # fmt: skip
    A, B, C, d = rng.standard_normal((4, 9)), rng.standard_normal((9, 24)), np.zeros((4, 24)), np.zeros(2)
    native(k)(A, B, C, d)
    assert np.allclose(C, A @ B, 1e-13) and d[0] == C[2, 3] and d[1] == C[3, 17]


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("factor", [f64(0.5), "k"])
def test_linscan(lanes: int, constant: bool, factor: Any) -> None:
    for size in (1, 4, 8, 21):
        e = size if constant else "n"
        k = Kernel("f", [Param("n", "i64", None), Param("k", "f64", None), Param("x", "f64", ("n",)), Param("y", "f64", ("n",))], [
            Var("c", "f64", f64(2.0)),
            For("i", "vec", 0, e, [Let("a", "f64", Load("x", ("i",))), Let("b", "f64", LinScan("c", factor, "a")), Store("y", ("i",), "b")],
                lanes=lanes, unroll=2),
            Store("y", (n,), "c"),
        ])  # fmt: skip
        x, y, expect, c = rng.standard_normal(size), np.zeros(size + 1), [], 2.0
        native(k)(size, 0.5, x, y)
        for v in x:
            c = 0.5 * c + v
            expect.append(c)
        assert np.allclose(y, [*expect, c], 1e-13)


# ---- memory -----------------------------------------------------------------------------------------------------


def test_gathers_and_scatters_of_every_kind() -> None:
    """Stride 3, a vector of indices in the first and in the last axis, sums of the two, i32 and u8 indices, shifts of a gather."""
    k = Kernel("f", [Param("n", "i64", None), Param("x", "f64", ("n", 3)), Param("p", "i64", ("n",)), Param("q", "u8", ("n",)),
                     Param("y", "f64", (5, "n")), Param("z", "f64", ("n", 3))], [
        For("i", "vec", 0, "n", [
            Let("a", "f64", Load("x", ("i", 1))), Store("y", (0, "i"), "a"),
            Let("pi", "i64", Load("p", ("i",))), Let("b", "f64", Load("x", ("pi", 2))), Store("y", (1, "i"), "b"),
            Let("qi", "u8", Load("q", ("i",))), Let("c", "f64", Load("x", ("i", "qi"))), Store("y", (2, "i"), "c"),
            Let("d", "f64", Load("x", ("pi", "qi"))), Store("y", (3, "i"), "d"),
            let("pn", "i64", "sub", "p_last", "pi"), Let("e", "f64", Load("x", ("pn", 0))), Store("y", (4, "i"), "e"),
            Store("z", ("pi", "qi"), "a"),
        ], lanes=8),
    ])  # fmt: skip
    k.body.insert(0, let("p_last", "i64", "sub", "n", 1))
    f = native(k)
    for size in (1, 8, 13):
        x, p, q = rng.standard_normal((size, 3)), rng.permutation(size), rng.integers(0, 3, size).astype("u1")
        y, z, w = np.zeros((5, size)), np.zeros((size, 3)), np.zeros((size, 3))
        f(size, x, p, q, y, z)
        w[p, q] = x[:, 1]
        assert np.array_equal(y, [x[:, 1], x[p, 2], x[np.arange(size), q], x[p, q], x[size - 1 - p, 0]]) and np.array_equal(z, w)


def test_products_of_lanes_and_run_time_strides() -> None:
    k = Kernel("f", [Param("n", "i64", None), Param("m", "i64", None), Param("x", "f64", ("n", "m")), Param("y", "f64", ("m", "n"))],
               [For("j", "seq", 0, "m", [For("i", "vec", 0, "n", [Let("a", "f64", Load("x", ("i", "j"))), Store("y", ("j", "i"), "a")], lanes=4)])])  # fmt: skip
    x, y = rng.standard_normal((7, 5)), np.zeros((5, 7))
    native(k)(7, 5, x, y)
    assert np.array_equal(y, x.T)


def test_the_index_as_data() -> None:
    k = Kernel("f", [Param("n", "i64", None), Param("y", "i64", ("n",)), Param("z", "f64", ("n",))], [For("i", "vec", 0, "n", [
        let("a", "i64", "mul", "i", 3), let("b", "i64", "add", "a", "n"), Store("y", ("i",), "b"),
        let("c", "f64", "cast", i * 2 + 1), Store("z", ("i",), "c"),
    ], lanes=4)])  # fmt: skip
    y, z = np.zeros(11, "i8"), np.zeros(11)
    native(k)(11, y, z)
    assert np.array_equal(y, 3 * np.arange(11) + 11) and np.array_equal(z, 2.0 * np.arange(11) + 1)


def test_sums_into_one_element_from_all_lanes() -> None:
    k = Kernel("f", [Param("n", "i64", None), Param("x", "f64", ("n",)), Param("h", "f64", (2,))], [For("i", "vec", 0, "n", [
        Let("a", "f64", Load("x", ("i",))), Store("h", (1,), "a", add=True), Store("h", (0,), f64(1.0), add=True),
    ], lanes=4, unroll=2)])  # fmt: skip
    for size in (0, 3, 8, 13):
        x, h = np.arange(size) + 1.0, np.zeros(2)
        native(k)(size, x, h)
        assert list(h) == [size, x.sum()]


def test_loads_see_the_stores_before_them() -> None:
    """In a loop, after it, and through views without a dtype."""
    k = Kernel("f", [Param("x", "f64", (4,)), Param("r", "f64", (4,))], [
        Let("a", "f64", Load("x", (0,))), Store("r", (0,), "a"),
        View("v", "x", (2, 2)),
        For("i", "seq", 0, 3, [
            Let("b", "f64", Load("x", (0,))), let("c", "f64", "add", "b", 1.0), Store("v", (0, 0), "c"), Let("d", "f64", Load("x", (0,))),
            Store("r", (1,), "d"),
        ]),
        Let("e", "f64", Load("x", (0,))), Store("r", (2,), "e"),
        View("w", "x", (3,), 1),
        Store("w", (0,), f64(9.0)), Let("g", "f64", Load("x", (1,))), Store("r", (3,), "g"),
    ])  # fmt: skip
    x, r = np.array([1.0, 2, 3, 4]), np.zeros(4)
    native(k)(x, r)
    assert list(r) == [1, 4, 4, 9] and list(x) == [4, 9, 3, 4]


@pytest.mark.parametrize("lanes, unroll", [(4, 1), (8, 1), (4, 2), (1, 3), (8, 3)])
@pytest.mark.parametrize("lo", [0, "m"])
def test_a_last_vector_overlaps(lanes: int, unroll: int, lo: int | str) -> None:
    """Whole vectors only: nothing behind the last element is read or written, and no vector is masked."""
    for trip in (1, 3, 8, 9, 23, 24, 25, 31, 100):
        at = integer(lo)
        k = Kernel("f", [Param("m", "i64", None), Param("x", "f64", (at + trip,)), Param("y", "f64", (at + trip,))], [
            For("i", "vec", lo, at + trip, [
                Let("a", "f64", Load("x", ("i",))), let("b", "f64", "mul", "a", "a"), Store("y", (at * 2 + (trip - 1) - i,), "b"),
            ], lanes=lanes, unroll=unroll, twice=True),
        ])  # fmt: skip
        start = 5 if lo == "m" else 0
        x, y = np.arange(start + trip, dtype=float), np.full(2 * start + trip + 2, -1.0)
        native(k)(5, x, y)
        assert list(y[start : start + trip]) == list(x[start:][::-1] ** 2), (trip, lanes, unroll)
        assert (y[:start] == -1).all() and (y[start + trip :] == -1).all()
        if trip > lanes * unroll and lanes > 1:
            assert "masked" not in emit([k], rules=RULES)


@pytest.mark.parametrize("size", [100, 8192, 8193, 50_000])
def test_large_copies(size: int) -> None:
    k = Kernel("f", [Param("x", "f64", (2 * size,)), Param("y", "f64", (size + 3,)), Param("r", "f64", ())], [
        For("i", "vec", 0, size, [Let("a", "f64", Load("x", (integer("i") + 7,))), Store("y", (integer("i") + 1,), "a")], lanes=8),
        Let("b", "f64", Load("y", (size,))), Store("r", (), "b"),
    ])  # fmt: skip
    x, y, r = np.random.default_rng(0).normal(size=2 * size), np.zeros(size + 3), np.zeros(())
    native(k)(x, y, r)
    assert (y[1:-2] == x[7 : 7 + size]).all() and y[0] == 0 and (y[-2:] == 0).all() and r == x[6 + size]
    assert ("memcpy" in emit([k], rules=RULES)) == (size >= 8192)


@pytest.mark.parametrize("offset", [1, 3, 64])
def test_a_copy_within_a_buffer_is_a_loop(offset: int) -> None:
    """As the statements say, element by element in order of the vectors: source and target overlap."""
    n = 20_000
    k = Kernel("f", [Param("x", "f64", (n + offset,))], [
        For("i", "vec", 0, n, [Let("a", "f64", Load("x", (integer("i") + offset,))), Store("x", ("i",), "a")], lanes=8),
    ])  # fmt: skip
    x = np.random.default_rng(0).normal(size=n + offset)
    want = np.concatenate([x[offset:], x[-offset:]])
    native(k)(x)
    assert (x == want).all() and "memcpy" not in emit([k], rules=RULES)


@pytest.mark.parametrize("trip", [1, 16, 37])
@pytest.mark.parametrize("loop", [{"lanes": 8}, {"lanes": 8, "unroll": 2}, {"lanes": 4, "unroll": 2, "mix": True}, {"lanes": 1}])
def test_long_bodies_are_cut_into_blocks(trip: int, loop: dict[str, Any]) -> None:
    """Values, masks and folds cross the cuts; copies that are interleaved are left whole."""
    n = 700
    body: list[Any] = [Let("v0", "f64", Load("x", ("i",)))]
    body += [let(f"v{k + 1}", "f64", "add" if k % 3 else "mul", f"v{k}", f"v{k // 2}" if k % 3 else 0.75) for k in range(n)]
    k = Kernel("f", [Param("n", "i64", None), Param("x", "f64", ("n",)), Param("y", "f64", ("n",)), Param("r", "f64", ())], [
        zero_fold("s"), For("i", "vec", 0, trip, [*body, Store("y", ("i",), f"v{n}"), Combine("s", (f"v{n}",))], **loop),
        Let("t", "f64", Part("s")), Store("r", (), "t"),
    ])  # fmt: skip
    x, y, r = np.random.default_rng(1).uniform(0, 1e-60, trip), np.zeros(trip), np.zeros(())
    native(k)(trip, x, y, r)
    want = [x]
    for j in range(n):
        want.append(want[j] + want[j // 2] if j % 3 else want[j] * 0.75)
    np.testing.assert_array_equal(y, want[-1])
    np.testing.assert_allclose(r, np.sum(want[-1]), rtol=1e-13)
    assert ("never:" in emit([k], rules=RULES)) == (not loop.get("mix"))


@pytest.mark.parametrize("status", [0, 2, 3])
def test_memory_goes_back_however_a_kernel_is_left(status: int) -> None:
    """At the end, by what it raises (2) and by what a kernel that it calls raises (3)."""
    given: list[int] = []
    free = ctypes.CFUNCTYPE(None, ctypes.c_int64)(given.append)
    err = Param("err", "i64", (8,))
    called = Kernel("g", [Param("k", "i64", None), err], [Let("c", "bool", Apply("eq", ("k", i64(3)))), Raise("c", 3)])
    f = Kernel("f", [Param("k", "i64", None), err], [
        Buffer("t", "i64", (3,), freed=True), Store("t", (0,), i64(0)), Buffer("u", "i64", (1,), freed=True), Store("u", (0,), i64(40)),
        Let("c", "bool", Apply("eq", ("k", i64(2)))), Store("t", (0,), i64(77)), Raise("c", 2),
        Call("g", ("k", "err"), ("i64", "i64", "ptr"), "s", "i64", check=True),
    ])  # fmt: skip
    address = ctypes.cast(free, ctypes.c_void_p).value or 0
    assert native(f, called, symbols={"free": address})(status, np.zeros(8, np.int64)) == status
    assert sorted(given) == [40, 77]


def test_two_arrays_in_one_place() -> None:
    """At different times; a load of the second is not a load of the first, though address and number of stores are the same."""
    f = Kernel("f", [Param("arena", "u8", (64,)), Param("r", "f64", (2,))], [
        View("a", "arena", (4,), 0, "f64"), Store("a", (1,), f64(2.0)), Let("x", "f64", Load("a", (1,))), Store("r", (0,), "x"),
        View("b", "arena", (4,), 1, "f64"), Store("b", (0,), f64(3.0)), Let("y", "f64", Load("b", (0,))), Store("r", (1,), "y"),
    ])  # fmt: skip
    r = np.zeros(2)
    native(f)(np.zeros(64, np.uint8), r)
    assert list(r) == [2, 3]


def test_swapped_buffers() -> None:
    k = Kernel("f", [Param("x", "f64", (2,)), Param("y", "f64", (2,)), Param("r", "f64", (3,))], [
        Let("a", "f64", Load("x", (0,))), Store("r", (0,), "a"),
        Swap("x", "y"), Let("b", "f64", Load("x", (0,))), Store("r", (1,), "b"), Store("x", (1,), f64(5.0)),
        Let("c", "f64", Load("y", (1,))), Store("r", (2,), "c"),
    ])  # fmt: skip
    x, y, r = np.array([1.0, 2]), np.array([10.0, 20]), np.zeros(3)
    native(k)(x, y, r)
    assert list(r) == [1, 10, 2] and list(x) == [1, 2] and list(y) == [10, 5]


def test_ping_pong_in_a_loop() -> None:
    """Swap in a run-time loop: the addresses are carried."""
    k = Kernel("f", [Param("n", "i64", None), Param("u", "f64", (8,)), Param("v", "f64", (8,)), Param("r", "f64", (8,))], [
        For("t", "seq", 0, "n", [
            For("i", "vec", 0, 8, [Let("a", "f64", Load("u", ("i",))), let("b", "f64", "add", "a", 1.0), Store("v", ("i",), "b")], lanes=4),
            Swap("u", "v"),
        ]),
        For("i", "vec", 0, 8, [Let("a", "f64", Load("u", ("i",))), Store("r", ("i",), "a")], lanes=8),
    ])  # fmt: skip
    f = native(k)
    for t in (0, 1, 2, 7):
        u, v, r = np.arange(8.0), np.zeros(8), np.zeros(8)
        f(t, u, v, r)
        assert np.array_equal(r, np.arange(8) + t)


def test_memory_behind_addresses() -> None:
    """Two names for one address overlap, in and after loops, and are read anew when a call changes the address."""
    grown = np.arange(10.0)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def grow(table: Any) -> None:
        ctypes.cast(table, ctypes.POINTER(ctypes.c_int64))[1] = grown.ctypes.data

    k = Kernel("f", [Param("table", "i64", (3,)), Param("r", "f64", (4,))], [
        For("i", "seq", 0, 3, [
            Deref("a", "table", 1, "f64"), Let("x", "f64", Load("a", (0,))), let("y", "f64", "add", "x", 1.0),
            Deref("b", "table", 1, "f64"), Store("b", (0,), "y"), Let("z", "f64", Load("a", (0,))), Store("r", (0,), "z"),
        ]),
        Deref("c", "table", 1, "f64"), Let("u", "f64", Load("c", (0,))), Store("r", (1,), "u"),
        Call("grow", ("table",), ("void", "ptr"), writes=("table",)),
        Deref("d", "table", 1, "f64"), Let("v", "f64", Load("d", (7,))), Store("r", (2,), "v"),
        Deref("e", "table", 2, "u8"), Let("w", "u8", Load("e", (1,))), let("w1", "f64", "cast", "w"), Store("r", (3,), "w1"),
    ])  # fmt: skip
    first, last, r = np.array([5.0]), np.array([3, 250], "u1"), np.zeros(4)
    table = np.array([0, first.ctypes.data, last.ctypes.data])
    native(k, symbols={"grow": ctypes.cast(grow, ctypes.c_void_p).value or 0})(table, r)
    assert list(r) == [8, 8, 7, 250] and first[0] == 8


def test_scratch_slots_and_prefetch() -> None:
    """Scratch in the frame, slots of a byte arena with dtypes of their own."""
    k = Kernel("f", [Param("arena", "u8", (256,)), Param("x", "f64", (8,)), Param("r", "f64", (8,))], [
        Buffer("t", "f64", (8,)), View("a", "arena", (8,), 8, "f64"), View("b", "arena", (8,), 0, "f32"),
        For("i", "vec", 0, 8, [
            Prefetch("x", (i + 8,)), Let("v", "f64", Load("x", ("i",))), let("w", "f32", "cast", "v"),
            Store("t", (7 - i,), "v"), Store("a", ("i",), "v"), Store("b", ("i",), "w"),
        ], lanes=8),
        For("i", "seq", 0, 8, [
            Let("p", "f64", Load("t", ("i",))), Let("q", "f64", Load("a", ("i",))), Let("s", "f32", Load("b", ("i",))), let("s1", "f64", "cast", "s"),
            let("m", "f64", "mul", "p", "q"), let("o", "f64", "add", "m", "s1"), Store("r", ("i",), "o"),
        ]),
    ])  # fmt: skip
    x, r = np.arange(8.0) + 1, np.zeros(8)
    native(k)(np.zeros(256, "u1"), x, r)
    assert np.array_equal(r, x * x[::-1] + x)


# ---- control flow -----------------------------------------------------------------------------------------------


def test_while_if_and_variables() -> None:
    """Length and largest member of a Collatz sequence."""
    step = [
        Let("h", "i64", Apply("floor_divide", ("v", i64(2)))), let("h2", "i64", "mul", "h", 2), let("odd", "bool", "ne", "h2", "v"),
        If("odd", [let("a", "i64", "mul", "v", 3), let("b", "i64", "add", "a", 1), Assign("v", "b")], [Assign("v", "h")]),
        let("more", "bool", "gt", "v", "top"), If("more", [Assign("top", "v")]),
        let("l1", "i64", "add", "len", 1), Assign("len", "l1"),
    ]  # fmt: skip
    k = Kernel("f", [Param("n", "i64", None), Param("r", "i64", (2,))], [
        Var("v", "i64", "n"), Var("top", "i64", "n"), Var("len", "i64", i64(0)),
        While([Let("go", "bool", Apply("ne", ("v", i64(1))))], "go", step),
        Store("r", (0,), "len"), Store("r", (1,), "top"),
    ])  # fmt: skip
    f = native(k)
    for start in (1, 2, 7, 27):
        r, v, length, top = np.zeros(2, "i8"), start, 0, start
        f(start, r)
        while v != 1:
            v = v * 3 + 1 if v % 2 else v // 2
            length, top = length + 1, max(top, v)
        assert list(r) == [length, top]


def test_while_in_for_carries_through_both() -> None:
    k = Kernel("f", [Param("n", "i64", None), Param("r", "f64", ())], [
        Var("s", "f64", f64(0.0)),
        For("i", "seq", 0, "n", [
            Var("c", "i64", i64(0)),
            While([Let("go", "bool", Apply("lt", ("c", "i")))], "go", [
                let("a", "f64", "add", "s", 1.0), Assign("s", "a"), let("c1", "i64", "add", "c", 1), Assign("c", "c1"),
            ]),
        ]),
        Store("r", (), "s"),
    ])  # fmt: skip
    f, r = native(k), np.zeros(1)
    for size in (0, 1, 6):
        f(size, r)
        assert r[0] == size * (size - 1) / 2


@pytest.mark.parametrize("step", [1, 3, -1, -2])
def test_seq_steps_and_run_time_bounds(step: int) -> None:
    body = [Let("a", "f64", Load("x", (i * 2 + 1,))), Store("y", ("i",), "a")]
    params = [Param("n", "i64", None), Param("m", "i64", None), Param("x", "f64", (50,)), Param("y", "f64", (25,))]
    run_time = native(Kernel("f", params, [For("i", "seq", "n", "m", body, step=step)]))
    for lo, hi in ((0, 20), (3, 17), (20, 0), (17, 2), (5, 5)):
        constant = native(Kernel("f", params, [For("i", "seq", lo, hi, body, step=step)]))
        for f in (run_time, constant):
            x, y, expect = np.arange(50.0), np.zeros(25), np.zeros(25)
            f(lo, hi, x, y)
            expect[list(range(lo, hi, step))] = x[[2 * k + 1 for k in range(lo, hi, step)]]
            assert np.array_equal(y, expect)


def test_if_in_a_vec_loop_needs_a_uniform_condition() -> None:
    def kernel(cond: str) -> Kernel:
        return Kernel("f", [Param("c", "bool", None), Param("x", "f64", (8,))], [For("i", "vec", 0, 8, [
            Let("a", "f64", Load("x", ("i",))), let("neg", "bool", "lt", "a", f64(0.0)), If(cond, [Store("x", ("i",), f64(1.0))]),
        ], lanes=8)])  # fmt: skip

    f, x = native(kernel("c")), np.zeros(8)
    f(0, x)
    assert not x.any()
    f(2, x)  # a loaded or passed bool is true if it is not 0
    assert x.all()
    with pytest.raises(IradError, match="differs between the lanes"):
        emit([kernel("neg")], rules=RULES)


@pytest.mark.parametrize("lanes", [1, 8, 32, 64])
def test_raise_reports_the_first_failing_lane(lanes: int) -> None:
    """Stores before it stay; the record has the values of that lane; a load below it is not moved above it."""
    k = Kernel("f", [Param("n", "i64", None), Param("ix", "i32", ("n",)), Param("x", "f64", (10,)), Param("y", "f64", ("n",)), Param("err", "i64", (3,))], [
        For("i", "vec", 0, "n", [
            Let("k", "i32", Load("ix", ("i",))), let("big", "bool", "ge", "k", Const(10, "i32")),
            Raise("big", 7, ("k", "i", f64(0.25))),
            Let("a", "f64", Load("x", ("k",))), Store("y", ("i",), "a"),
        ], lanes=lanes),
    ])  # fmt: skip
    f, x = native(k), rng.standard_normal(10)
    for size in (0, 5, 40, 67):
        for bad in (None, 0, size // 2, size - 1):
            ix = rng.integers(0, 10, size).astype("i4")
            if size and bad is not None:
                ix[bad:] = 10 + np.arange(size - bad)
            y, err = np.zeros(size), np.zeros(3, "i8")
            code = f(size, ix, x, y, err)
            if size and bad is not None:
                assert code == 7 and list(err[:2]) == [10, bad] and err[2:].view("f8")[0] == 0.25
            else:
                assert code == 0 and np.array_equal(y, x[ix])


def test_a_check_guards_loads_after_it_in_loops() -> None:
    """x[k] does not depend on the loop, but must not be read before the check inside of it, nor after the checking loop."""
    k = Kernel("f", [Param("k", "i64", None), Param("x", "f64", (1,)), Param("r", "f64", ()), Param("err", "i64", (1,))], [
        Var("s", "f64", f64(0.0)),
        For("t", "seq", 0, 2, [
            For("i", "seq", 0, 3, [Let("bad", "bool", Apply("gt", ("k", i64(0)))), Raise("bad", 3, ("k",))]),
            Let("a", "f64", Load("x", ("k",))), let("b", "f64", "add", "s", "a"), Assign("s", "b"),
        ]),
        Store("r", (), "s"),
    ])  # fmt: skip
    f, r, err = native(k), np.zeros(1), np.zeros(1, "i8")
    assert f(0, np.ones(1), r, err) == 0 and r[0] == 2
    assert f(1 << 50, np.ones(1), r, err) == 3 and err[0] == 1 << 50


def test_a_branch_guards_its_loads_and_keeps_its_costly_work() -> None:
    k = Kernel("f", [Param("k", "i64", None), Param("x", "f64", (1,)), Param("r", "f64", ())], [
        Let("ok", "bool", Apply("eq", ("k", i64(0)))), Var("s", "f64", f64(5.0)), Let("c", "f64", Load("r", ())),
        For("i", "seq", 0, 3, [If("ok", [Let("a", "f64", Load("x", ("k",))), let("b", "f64", "sqrt", "c"), let("d", "f64", "add", "a", "b"), Assign("s", "d")])]),
        Store("r", (), "s"),
    ])  # fmt: skip
    f, r = native(k), np.full(1, 9.0)
    f(1 << 50, np.ones(1), r)
    assert r[0] == 5
    r[0] = 9
    f(0, np.ones(1), r)
    assert r[0] == 4
    text = emit([k], rules=RULES)
    assert text.index("llvm.sqrt") > text.index("phi")  # not above the loop's branch


def test_calls_of_outside_functions_and_of_kernels() -> None:
    """libm by address, another kernel with its status handed on."""
    double = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda v: 2 * v)
    inner = Kernel("inner", [Param("n", "i64", None), Param("x", "f64", ("n",)), Param("err", "i64", (1,))], [
        For("i", "seq", 0, "n", [
            Let("a", "f64", Load("x", ("i",))), let("neg", "bool", "lt", "a", f64(0.0)), Raise("neg", 4, ("i",)),
            let("b", "f64", "add", "a", 1.0), Store("x", ("i",), "b"),
        ]),
    ])  # fmt: skip
    outer = Kernel("outer", [Param("x", "f64", (3,)), Param("r", "f64", (2,)), Param("err", "i64", (1,))], [
        Let("a", "f64", Load("x", (0,))),
        Call("inner", (i64(3), "x", "err"), ("i64", "i64", "ptr", "ptr"), "status", "i64", writes=("x", "err"), check=True),
        Let("b", "f64", Load("x", (0,))), let("c", "f64", "add", "a", "b"),
        Call("twice", ("c",), ("double", "double"), "d", "f64"), Store("r", (0,), "d"),
    ])  # fmt: skip
    f = native(outer, inner, symbols={"twice": ctypes.cast(double, ctypes.c_void_p).value or 0})
    x, r, err = np.array([1.0, 2, 3]), np.zeros(2), np.zeros(1, "i8")
    assert f(x, r, err) == 0 and r[0] == 6 and list(x) == [2, 3, 4]
    x[1], r[0] = -1, 0
    assert f(x, r, err) == 4 and err[0] == 1 and r[0] == 0


# ---- dtypes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", sorted(NATIVE))
@pytest.mark.parametrize("lanes", [1, 8])
def test_every_dtype_in_memory(dtype: str, lanes: int) -> None:
    """Contiguous, reversed and strided accesses, full and masked; the largest and smallest values survive."""
    k = Kernel("f", [Param("n", "i64", None), Param("x", dtype, ("n",)), Param("y", dtype, (3, "n"))], [
        For("i", "vec", 0, "n", [
            Let("a", dtype, Load("x", ("i",))), Store("y", (0, "i"), "a"), Store("y", (1, n - 1 - integer("i")), "a"),
            Let("b", dtype, Load("x", (n - 1 - integer("i"),))), Store("y", (2, "i"), "b"),
        ], lanes=lanes),
        For("i", "vec", 0, 2, [Let("a", dtype, Load("x", (i * 3,))), Store("y", (0, i * 2), "a")], lanes=lanes),
    ])  # fmt: skip
    f, np_dtype = native(k), DTYPES[dtype]
    for size in (5, 8, 21):
        x = (
            rng.integers(0, 256, size * np_dtype.itemsize, "u1").view(np_dtype)
            if dtype != "bool"
            else rng.integers(0, 2, size).astype("?")
        )
        y = np.zeros((3, size), np_dtype)
        f(size, x, y)
        expect = np.array([x, x[::-1], x[::-1]])
        expect[0, [0, 2]] = x[[0, 3]]
        assert y.tobytes() == expect.tobytes()


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "i64", "i8", "u16", "bool"])
@pytest.mark.parametrize("live", range(1, 16))
def test_what_is_left_of_a_row_is_stored_without_masks(dtype: str, live: int) -> None:
    """Up to three plain accesses; beside them nothing is touched, read forwards or backwards, stored or added."""
    a, last = Let("a", dtype, Load("x", (i + 1,))), live + 1
    b = [Store("y", (1, last - i - 1), "a"), Store("y", (2, i + 1), "a"), Store("y", (2, i + 1), "a", add=True)]
    body = [a, Store("y", (0, i + 1), "a"), *b, Let("c", dtype, Load("x", (last - i - 1,))), Store("y", (3, i + 1), "c")]
    k = Kernel("f", [Param("x", dtype, (18,)), Param("y", dtype, (4, 18))], [For("i", "vec", 0, live, body, lanes=16)])
    x = (np.arange(18) % 2 if dtype == "bool" else np.arange(1, 19)).astype(DTYPES[dtype])
    y = np.ones((4, 18), x.dtype)
    native(k)(x, y)
    expect, row = np.ones((4, 18), x.dtype), x[1:last]
    expect[:, 1:last] = [row, row[::-1], row + row, row[::-1]]
    assert y.tobytes() == expect.tobytes()
    text = emit([k], rules=RULES)
    assert ("masked.store" in text) == (live.bit_count() > 3)


def test_any_nonzero_byte_is_true() -> None:
    k = Kernel("f", [Param("x", "bool", (9,)), Param("y", "bool", (9,))],
               [For("i", "vec", 0, 9, [Let("a", "bool", Load("x", ("i",))), Store("y", ("i",), "a")], lanes=4)])  # fmt: skip
    x, y = np.array([0, 1, 2, 255, 0, 16, 0, 0, 3], "u1"), np.zeros(9, "u1")
    native(k)(x, y)
    assert list(y) == list((x != 0).astype("u1"))


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64", "u16", "u64"])
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_division_in_masked_lanes_does_not_trap(dtype: str, lanes: int) -> None:
    """Lanes past the end load 0 as divisor."""
    k = Kernel("f", [Param("n", "i64", None), Param("x", dtype, ("n",)), Param("y", dtype, ("n",)), Param("z", dtype, ("n",))], [
        For("i", "vec", 0, "n", [
            Let("a", dtype, Load("x", ("i",))), Let("b", dtype, Load("y", ("i",))),
            Let("q", dtype, Apply("floor_divide", ("a", "b"))), Store("z", ("i",), "q"),
        ], lanes=lanes, unroll=2),
    ])  # fmt: skip
    f = native(k)
    for size in (0, 1, 3, 16, 37):
        x, y = rng.integers(0, 100, size).astype(DTYPES[dtype]), rng.integers(1, 9, size).astype(DTYPES[dtype])
        z = np.zeros_like(x)
        f(size, x, y, z)
        assert np.array_equal(z, x // y)


CASTS = [("f64", "f16"), ("f64", "f32"), ("f32", "f16"), ("f16", "f64"), ("f16", "f32"), ("i64", "f64"), ("u64", "f32"), ("u8", "i64"),
         ("i64", "i8"), ("i8", "u64"), ("bool", "f32"), ("bool", "i64"), ("f64", "bool"), ("i32", "bool"), ("u32", "f64")]  # fmt: skip


@pytest.mark.parametrize("src, dst", CASTS)
def test_conversions_as_numpy(src: str, dst: str) -> None:
    """f64 to f16 rounds once: values just beside the middle of two halfs."""
    k = Kernel("f", [Param("x", src, (64,)), Param("y", dst, (64,))], [
        For("i", "vec", 0, 61, [Let("a", src, Load("x", ("i",))), let("b", dst, "cast", "a"), Store("y", ("i",), "b")], lanes=8),
    ])  # fmt: skip
    if src[0] == "f":
        x = np.concatenate([rng.standard_normal(40), [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-7, 65519.99999999, 65520.0, 1e300, 6e-8, 2.98e-8, 1e-320],
                            1 + 2.0**-11 + np.array([0, 1, -1, 2]) * 2.0**-40, -1 - 3 * 2.0**-11 + np.array([0, 1, -1, 3]) * 2.0**-50,
                            [2049.0, 2051.0, 5e-324, 3.0]])  # fmt: skip
    else:
        x = rng.integers(0, 256, 64 * 8, "u1").view("i8") if src != "bool" else rng.integers(0, 2, 64)
    with np.errstate(all="ignore"):
        x = np.ascontiguousarray(x.astype(DTYPES[src])[:64])
        expect = x.astype(DTYPES[dst])
    y = np.zeros(64, DTYPES[dst])
    native(k)(x, y)
    assert np.array_equal(y[:61], expect[:61], equal_nan=dst[0] == "f") and not y[61:].any()


def test_unsigned_comparisons_and_large_constants() -> None:
    top = (1 << 64) - 1
    k = Kernel("f", [Param("x", "u64", (8,)), Param("y", "bool", (8,)), Param("z", "u64", (8,))], [
        For("i", "vec", 0, 8, [
            Let("a", "u64", Load("x", ("i",))), Let("b", "bool", Apply("gt", ("a", Const(1 << 63, "u64")))), Store("y", ("i",), "b"),
            Let("c", "u64", Apply("bitwise_xor", ("a", Const(top, "u64")))), Store("z", ("i",), "c"),
        ], lanes=8),
    ])  # fmt: skip
    x, y, z = np.array([0, 1, 1 << 63, (1 << 63) + 1, top, 5, 6, 7], "u8"), np.zeros(8, "?"), np.zeros(8, "u8")
    native(k)(x, y, z)
    assert np.array_equal(y, x > np.uint64(1 << 63)) and np.array_equal(z, ~x)


# ---- text -------------------------------------------------------------------------------------------------------


def test_arithmetic_is_not_contracted_unless_asked() -> None:
    def kernel(contract: bool) -> Kernel:
        return Kernel("f", [Param("x", "f64", (3,)), Param("r", "f64", ())], [
            *[Let(v, "f64", Load("x", (k,))) for k, v in enumerate("abc")],
            let("p", "f64", "mul", "a", "b", contract=contract), let("s", "f64", "add", "p", "c", contract=contract), Store("r", (), "s"),
        ])  # fmt: skip

    e = 2.0**-30
    x, r = np.array([1 + e, 1 - e, -1.0]), np.zeros(1)
    native(kernel(False))(x, r)
    assert r[0] == 0
    native(kernel(True))(x, r)
    assert r[0] in (0, -e * e)  # fused where the machine has fma
    assert "contract" in emit([kernel(True)], rules=RULES) and "contract" not in emit([kernel(False)], rules=RULES)


def test_invariant_work_is_hoisted_and_shared() -> None:
    k = Kernel("f", [Param("x", "f64", (8, 8)), Param("y", "f64", (8, 8))], [
        For("i", "seq", 0, 8, [For("j", "seq", 0, 8, [
            Let("a", "f64", Load("x", ("i", 0))), let("b", "f64", "sqrt", "a"), let("c", "f64", "sqrt", "a"), let("d", "f64", "add", "b", "c"),
            Store("y", ("i", "j"), "d"),
        ])]),
    ])  # fmt: skip
    lines = emit([k], rules=RULES).splitlines()
    heads = [at for at, l in enumerate(lines) if " = phi " in l]
    root = [at for at, l in enumerate(lines) if "call double @llvm.sqrt" in l]
    assert len(root) == 1 and heads[0] < root[0] < heads[-1]


def test_mixed_copies_interleave_and_keep_their_meaning() -> None:
    def kernel(mix: bool) -> Kernel:
        return Kernel("f", [Param("x", "f64", (5,)), Param("y", "f64", (5,))], [For("k", "unroll", 1, 5, [
            Let("a", "f64", Load("x", ("k",))), let("b", "f64", "sqrt", "a"), let("c", "f64", "mul", "b", "a"), Store("y", ("k",), "c"),
        ], mix=mix)])  # fmt: skip

    x, y, z = rng.random(5), np.zeros(5), np.zeros(5)
    native(kernel(True))(x, y)
    native(kernel(False))(x, z)
    assert np.array_equal(y, z)
    ops = [l for l in emit([kernel(True)], rules=RULES).splitlines() if "sqrt" in l or "fmul" in l][:8]
    assert ["sqrt" in l for l in ops] == [True] * 4 + [False] * 4


@pytest.mark.parametrize("cpu", ["haswell", "x86-64-v2", "skylake-avx512"])
@pytest.mark.parametrize("lanes", [1, 8, 32])
def test_other_machines_compile(cpu: str, lanes: int) -> None:
    target = jit.Target(cpu)
    text = emit([mixed_kernel("n", lanes=lanes, unroll=2)], rules=RULES, vector_bits=jit.vector_bits(target))
    asm = jit.assembly(text, target)
    assert "mixed:" in asm and ("zmm" in asm) == (cpu == "skylake-avx512" and lanes > 1)


def rare_kernel(lanes: int) -> Kernel:
    return Kernel("f", [Param("n", "i64", None), Param("x", "f64", ("n",)), Param("y", "f64", ("n",))], [
        For("i", "vec", 0, "n", [Let("a", "f64", Load("x", ("i",))), Let("b", "f64", Apply("patched", ("a",))), Store("y", ("i",), "b")], lanes=lanes, unroll=2),
    ])  # fmt: skip


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_rare_branches_call_out_for_the_lanes_that_need_it(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    @ctypes.CFUNCTYPE(
        None, ctypes.POINTER(ctypes.c_uint8), ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double), ctypes.c_int64
    )
    def slow(cond: Any, x: Any, out: Any, count: int) -> None:
        calls.append(count)
        for k in range(count):
            if cond[k]:
                out[k] = -x[k]

    def patched(E: Any, a: Any, dtype: str) -> Any:
        return E.rare(E.cmp("gt", a[0], E.const(100.0, dtype)), "slow", [a[0]], [E.add(a[0], E.const(1.0, dtype))])[0]

    monkeypatch.setitem(poly_rare.TEXT, "slow", ("declare void @slow(ptr, ptr, ptr, i64)",))
    text = emit([rare_kernel(lanes)], rules={**RULES, "patched": patched})
    lib = jit.load(text, ["f"], {"slow": ctypes.cast(slow, ctypes.c_void_p).value or 0})
    f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(lib.address("f"))
    for size in (0, 3, 16, 37):
        x, y = rng.integers(0, 100, size) * 1.0, np.zeros(size)
        calls.clear()
        f(size, x.ctypes.data, y.ctypes.data)
        assert np.array_equal(y, x + 1) and not calls
        if size:
            x[size - 1] = 1000.0
            f(size, x.ctypes.data, y.ctypes.data)
            assert y[size - 1] == -1000 and np.array_equal(y[:-1], x[:-1] + 1) and calls == [lanes]


def test_a_rare_branch_is_hoisted_with_its_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies in the guarded preheader of the inner loop, whose block it splits."""
    calls = []

    @ctypes.CFUNCTYPE(
        None, ctypes.POINTER(ctypes.c_uint8), ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double), ctypes.c_int64
    )
    def slow(cond: Any, x: Any, out: Any, count: int) -> None:
        calls.append(count)
        out[0] = -x[0]

    def patched(E: Any, a: Any, dtype: str) -> Any:
        return E.rare(E.cmp("gt", a[0], E.const(100.0, dtype)), "slow", [a[0]], [a[0]])[0]

    k = Kernel("f", [Param("n", "i64", None), Param("x", "f64", ("n",)), Param("y", "f64", ("n",))], [
        For("i", "seq", 0, "n", [
            Var("s", "f64", f64(0.0)),
            For("j", "seq", 0, "i", [
                Let("a", "f64", Load("x", ("i",))), Let("b", "f64", Apply("patched", ("a",))), let("c", "f64", "add", "s", "b"), Assign("s", "c"),
            ]),
            Store("y", ("i",), "s"),
        ]),
    ])  # fmt: skip
    monkeypatch.setitem(poly_rare.TEXT, "slow", ("declare void @slow(ptr, ptr, ptr, i64)",))
    lib = jit.load(emit([k], rules={**RULES, "patched": patched}), ["f"], {"slow": ctypes.cast(slow, ctypes.c_void_p).value or 0})
    x, y = np.array([500.0, 1, 200, 3]), np.zeros(4)
    ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(lib.address("f"))(
        4, x.ctypes.data, y.ctypes.data
    )
    assert list(y) == [0, 1, -400, 9] and calls == [1]


# ---- errors -----------------------------------------------------------------------------------------------------

BAD = [
    ([Let("a", "f64", Apply("frobnicate", ()))], "no rule to lower `frobnicate`"),
    ([Let("a", "f64", Apply("lt", (f64(0.0), f64(1.0))))], "declared f64"),
    ([For("i", "vec", 0, 8, [Let("a", "f64", Load("x", ("i",))), Store("x", (0,), "a")], lanes=8)], "one element"),
    (
        [Fold("s", "power", ("f64",), (f64(0.0),)), For("i", "vec", 0, 8, [Combine("s", (f64(1.0),))], lanes=8)],
        "no neutral element",
    ),
    (
        [Fold("t", "add", ("f64",), (f64(0.0),), shape=(2,)), For("i", "seq", 0, 2, [Combine("t", (f64(1.0),), ("i",))])],
        "after unrolling",
    ),
    ([Fold("t", "add", ("f64",), (f64(0.0),), shape=(2,)), Combine("t", (f64(1.0),), (2,))], "below 2"),
    ([Let("a", "f64", Apply("add", (f64(0.0), Const(1, "i64"))))], "must have one type"),
    ([Call("f", (f64(0.0),), ("void", "i64"))], "argument of type double"),
]


@pytest.mark.parametrize("body, message", BAD, ids=[m for _, m in BAD])
def test_bad_kernels_are_errors(body: list[Any], message: str) -> None:
    with pytest.raises(IradError, match=message):
        emit([Kernel("bad", [Param("n", "i64", None), Param("x", "f64", (8,))], body)], rules=RULES)


def test_a_malformed_module_and_a_missing_symbol_are_exceptions() -> None:
    with pytest.raises(jit.JitError, match="rejects"):
        jit.load("define i64 @f() { ret i32 0 }", ["f"])
    with pytest.raises(jit.JitError, match="rejects"):
        jit.load("define i64 @f() {\nentry:\n br label %a\na:\n ret i64 %b\n %b = add i64 1, 1\n}", ["f"])
    with pytest.raises(jit.JitError, match="irad_no_such_function"):
        jit.load(
            "declare void @irad_no_such_function()\ndefine i64 @f() {\n call void @irad_no_such_function()\n ret i64 0\n}", ["f"]
        )


def test_objects_can_be_loaded_again_and_code_dies_with_its_library() -> None:
    data = jit.compile_object(emit([mixed_kernel("n", lanes=8)], rules=RULES))
    a, b = jit.load_object(data, ["mixed"]), jit.load_object(data, ["mixed"])
    assert a.address("mixed") != b.address("mixed")
    alive = weakref.ref(a._tracker)
    del a
    assert alive() is None
    check_mixed(_function(b), 21)


def _function(lib: jit.Library) -> Any:
    f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, *[ctypes.c_void_p] * 7)(lib.address("mixed"))
    return lambda size, *arrays: f(size, *[x.ctypes.data for x in arrays])


def test_functions_used_often_are_called() -> None:
    """The same bits, inlined or called; the text of a function is there once for each number of lanes."""

    def kernel(n: int) -> str:
        lines = [f"        x{k + 1}: f64 = sin(x{k})" for k in range(n)]
        head = "def f(a: f64[40], b: f64[40]):\n    for i in vec(0, 40, W=8):\n        x0: f64 = a[i]\n"
        return head + "\n".join([*lines, f"        b[i] = x{n}", ""])

    few, many = (emit(kparse.parse(kernel(n))) for n in (20, 60))
    assert "@irad.sin_" not in few
    assert many.count("define internal <8 x double> @irad.sin_f64_f64_8(") == 1
    assert many.count("call <8 x double> @irad.sin_f64_f64_8(") == 60
    library = jit.load(many, ["f"])
    a, b = np.linspace(-3.0, 3.0, 40), np.zeros(40)
    address = library.address("f")
    ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)(a.ctypes.data, b.ctypes.data)
    want, one = a.copy(), np.zeros(40)
    single = jit.load(emit(kparse.parse(kernel(1))), ["f"])
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(single.address("f"))
    for _ in range(60):
        call(want.ctypes.data, one.ctypes.data)
        want = one.copy()
    np.testing.assert_array_equal(b, want)


def test_one_row_is_left_to_vectors_of_two_lengths() -> None:
    """LLVM 22 on AVX-512 made the last element of each row that of the one before, where lanes that are not used were copies of it."""
    text = """def f(x: f64[320], k: i64[32], y: f64[320], r: f64[10]):
    for i in seq(0, 32):
        acc = fold(add, 0.0, f64)
        for j in vec(0, 10, W=16, full=1):
            a: f64 = x[10*i+j]
            acc += a
        s: f64 = part(acc)
        for j_1 in vec(0, 10, W=8, full=1):
            b: i64 = k[i]
            v: bool = b == j_1
            c: f64 = x[10*i+j_1]
            d: f64 = c + s
            e: f64 = select(v, d, c)
            y[10*i+j_1] = e
            r[j_1] += e
"""
    rng = np.random.default_rng(0)
    x, k = rng.integers(-9, 9, (32, 10)).astype(float), rng.integers(0, 10, 32)
    y, r = np.zeros((32, 10)), np.zeros(10)
    native(kparse.parse(text)[0])(x.ravel(), k, y.reshape(-1), r)
    expect = x + (k[:, None] == np.arange(10)) * x.sum(axis=1)[:, None]
    assert np.array_equal(y, expect) and np.array_equal(r, expect.sum(axis=0))
