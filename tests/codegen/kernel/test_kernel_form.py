"""Kernel form as text, its verifier, and whole kernels (tests/golden/kernel/*.kf) against NumPy; the BLAS calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irad.codegen import jit
from irad.codegen.emit.kernels import emit
from irad.codegen.kernel.check import verify
from irad.codegen.kernel.form import Apply, Call, Const, Kernel, Let, Param, Store, integer
from irad.codegen.kernel.interp import run
from irad.codegen.kernel.parse import parse
from irad.codegen.kernel.show import show
from irad.codegen.libraries import blas
from irad.core.types import DTYPES
from irad.errors import ParseError, VerifyError
from tests.support import ROOT
from tests.support.native import native, normal

GOLDEN = ROOT / "tests" / "golden" / "kernel"
rng = np.random.default_rng(0)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.kf")), ids=lambda p: p.stem)
def test_golden_kernels_round_trip(path: Path) -> None:
    text = path.read_text()
    kernels = parse(text)
    comments = "".join(l for l in text.splitlines(keepends=True) if l.startswith("#"))
    assert comments + show(kernels) == text
    assert normal(parse(show(kernels))) == normal(kernels)


def load(name: str) -> Callable[..., None]:
    """A golden kernel as a Python function, lowered by the rules of the compiler."""
    (kernel,) = parse((GOLDEN / f"{name}.kf").read_text())
    lib = jit.load(emit([kernel], vector_bits=jit.vector_bits()), [kernel.name])
    types = [ctypes.c_void_p if p.shape is not None else ctypes.c_int64 for p in kernel.params]
    f = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(lib.address(kernel.name))

    def call(*args: Any) -> None:
        assert lib and f(*[a.ctypes.data if isinstance(a, np.ndarray) else a for a in args]) == 0

    return call


def test_logreg() -> None:
    X, w, y = rng.standard_normal((96, 20), "f4"), rng.standard_normal(20, "f4"), rng.integers(0, 2, 96).astype("f4")
    gw, loss = np.zeros(20, "f4"), np.zeros(1)
    load("blocks_of_rows_in_one_pass")(w, X, y, gw, loss)
    z = X.astype("f8") @ w
    assert np.allclose(loss, np.mean(np.logaddexp(0, z) - y * z), 1e-6)
    assert np.allclose(gw, X.T.astype("f8") @ (1 / (1 + np.exp(-z)) - y) / 96, 1e-5, 1e-6)


def test_lane_variable() -> None:
    x, c, y = rng.standard_normal(4), rng.uniform(0, 1, 100), np.zeros(4)
    load("vector_in_a_variable")(x, c, 100, y)
    assert np.allclose(y, x * np.prod(c[c < 0.5]), 1e-12, 0)
    (kernel,) = parse((GOLDEN / "vector_in_a_variable.kf").read_text())
    again = np.zeros(4)
    assert run(kernel, x, c, np.int64(100), again) == 0
    assert np.array_equal(again, y)
    text = (
        (GOLDEN / "vector_in_a_variable.kf")
        .read_text()
        .replace("y[i_2] = state", "y[0] = state")
        .replace("vec(0, 4, W=4, full=1):\n        y", "seq(0, 4):\n        y")
    )
    with pytest.raises(VerifyError, match="`state` has 4 lanes"):
        verify(parse(text)[0])


@pytest.mark.parametrize("n, m", [(5, 1), (7, 33), (3, 100), (0, 4)])
def test_softmax(n: int, m: int) -> None:
    X, label = (4 * rng.standard_normal((n, m))).astype("f4"), rng.integers(0, m, n)
    G, loss = np.zeros((n, m), "f4"), np.zeros(1)
    load("passes_over_a_cached_row")(n, m, X, label, G, loss)
    z = X.astype("f8") - X.max(1, keepdims=True, initial=-np.inf)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    assert np.allclose(loss, -np.log(p[np.arange(n), label]).sum(), 1e-5)
    p[np.arange(n), label] -= 1
    assert np.allclose(G, p, 1e-5, 1e-6)


def test_kmeans() -> None:
    X, C = rng.standard_normal((96, 4)), rng.standard_normal((5, 4))
    C[3] = C[1]  # a tie: the first centroid wins
    G, at, loss = np.zeros((5, 4)), np.zeros(96, "i8"), np.zeros(1)
    load("argmin_in_a_register_tile")(X, C, G, at, loss)
    d = ((X[:, None] - C) ** 2).sum(-1)
    expect = np.zeros((5, 4))
    np.add.at(expect, d.argmin(1), 2 * (C[d.argmin(1)] - X))
    assert np.array_equal(at, d.argmin(1)) and np.allclose(loss, d.min(1).sum()) and np.allclose(G, expect)


def test_chain() -> None:
    f = load("wide_vectors_with_a_masked_tail")
    for n in (0, 1, 31, 32, 100):
        x, g, total = rng.standard_normal(n), np.zeros(n), np.zeros(1)
        f(n, x, g, total)
        t = np.tanh(np.exp(np.sin(x)))
        assert np.allclose(total, t.sum(), 1e-13) and np.allclose(g, (1 - t * t) * np.exp(np.sin(x)) * np.cos(x), 1e-12)


def test_heat_is_numpy_bit_for_bit() -> None:
    f = load("swapped_buffers")
    for steps in (0, 1, 6):
        u = rng.standard_normal((20, 20))
        v, out, expect = u.copy(), np.zeros_like(u), u.copy()
        f(steps, u.copy(), v, out)
        for _ in range(steps):
            c = expect[1:-1, 1:-1]
            lap = ((expect[:-2, 1:-1] + expect[2:, 1:-1]) + (expect[1:-1, :-2] + expect[1:-1, 2:])) - c * 4.0
            expect[1:-1, 1:-1] = c + lap * 0.1
        assert np.array_equal(out, expect)


def test_lstm() -> None:
    T, B, D, H = 5, 4, 8, 16
    Wx, Wh, b = (rng.standard_normal(s).astype("f4") for s in ((D, 4 * H), (H, 4 * H), (4 * H,)))
    X, h, c, total = rng.standard_normal((T, B, D), "f4"), np.zeros((B, H)), np.zeros((B, H)), np.zeros(1)
    state = [np.full((B, H), np.nan, "f4") for _ in range(3)]
    load("register_tile_with_epilogue")(Wx.copy(), Wh.copy(), b, X, *state, total)
    expect = 0.0
    for t in range(T):
        g = (X[t].astype("f8") @ Wx + h @ Wh + b).reshape(B, 4, H)
        i, f, o = (1 / (1 + np.exp(-g[:, k])) for k in (0, 1, 3))
        c = f * c + i * np.tanh(g[:, 2])
        h = o * np.tanh(c)
        expect += h.sum()
    assert np.allclose(total, expect, 1e-4, 1e-4)


def test_seidel_skewed_rows_are_the_plain_loops_bit_for_bit() -> None:
    A = rng.standard_normal((12, 12))
    B = A.copy()
    load("rows_in_a_wavefront")(A)
    for i in range(1, 11):
        for j in range(1, 11):
            s = B[i - 1, j - 1] + B[i - 1, j] + B[i - 1, j + 1] + B[i, j - 1] + B[i, j] + B[i, j + 1]
            B[i, j] = (s + B[i + 1, j - 1] + B[i + 1, j] + B[i + 1, j + 1]) / 9.0
    assert np.array_equal(A, B)


# ---- text -------------------------------------------------------------------------------------------------------

EVERYTHING = """\
def inner(n: i64, x: f64[n], err: i64[2]):
    pass

def all(n: i64, flag: bool, x: f64[n, 3], y: f64[n, 3], r: f64[()], table: i64[4], err: i64[2]):
    t = buf(f32, 4, 2)
    v = view(x[3], (2*n-2, 1))
    w = view(t[0], (8,), u8)
    d = deref(table[2], f64)
    c = var(-0.0, f64)
    m = fold(argmax, (-inf, -1), (f64, i64), shape=(4, 16), lanes=16)
    s = fold(add, 1.5, f64, lanes=8, copies=2)
    k: i64 = n * 2
    q: bool = k >= 5
    z: f32 = cast(2*n-1)
    u: f64 = contract(1.0 - nan)
    raise_if(q, 3, k, f32(0.25), True)
    for i in seq(n-1, -1, -1):
        if flag:
            c = 2.0
        else:
            swap(x, y)
        while True:
            go: bool = k < i
            if not go:
                break
            x[i, 0] += c
    for j in unroll(0, 4, mix=1):
        for l in vec(0, 16, W=16, U=2, full=1):
            m[j, l] += ordered(u, l)
            a: f64 = linscan(c, 0.5, u)
            prefetch(d[l+64])
    e: i64 = part(m[0, 3], 1)
    g: i64 = call("inner", "i64(i64, ptr, ptr)", n, v, err, writes=(v, err), check=1)
    call("srand", "void(i32)", i32(7))
    o: f64 = part(s)
    r[()] = o
"""


def test_every_form_prints_and_parses() -> None:
    kernels = parse(EVERYTHING)
    assert show(kernels) == EVERYTHING and normal(parse(show(kernels))) == normal(kernels)


def test_affine_operands_print_so_that_precedence_survives() -> None:
    k = Kernel(
        "f", [], [Let("a", "i64", Apply("mul", (integer("x") * 2, "y"))), Let("b", "i64", Apply("sub", ("x", Const(-1, "i64"))))]
    )
    assert show(k).splitlines()[1:] == ["    a: i64 = mul(2*x, y)", "    b: i64 = x - -1"]
    assert normal(parse(show(k))) == normal([k])


BAD_TEXT = [
    ("x = 1", 1, "expected `def name"),
    ("def f(:", 1, "not kernel form"),
    ("def f(n):\n    pass", 1, "name: dtype"),
    ("def f(n: f65):\n    pass", 1, "expected a dtype"),
    ("def f():\n    for i in range(3):\n        pass", 2, "expected one of seq"),
    ("def f():\n    y = buf(i64, 3, fred=1)", 2, "it has no fred"),
    ("def f():\n    for i in vec(0, 3, V=8):\n        pass", 2, "it has no V"),
    ("def f():\n    while True:\n        pass", 2, "if not"),
    ("def f():\n    a: f64 = b", 2, "expected an operation"),
    ("def f(x: f64[1]):\n    x[0] -= 1.0", 2, "expected `"),
    ("def f():\n    import os", 2, "expected a statement"),
    ("def f(x: f64[1]):\n    x[0/2] = 1.0", 2, "integer made of names"),
]


@pytest.mark.parametrize("text, line, message", BAD_TEXT, ids=[m for *_, m in BAD_TEXT])
def test_bad_text_names_the_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as e:
        parse(text)
    assert e.value.loc is not None and e.value.loc.line == line


# ---- the verifier -----------------------------------------------------------------------------------------------

BAD = [
    ("x[q] = 0.0", "`q` is not in scope"),
    ("y[0] = 0.0", "`y` is not in scope"),
    ("x[0, 0] = 0.0", "has 1 axes but is indexed by 2"),
    ("x[c] = 0.0", "must be an integer"),
    ("x[0] = 1", "`x` has dtype f64 but gets a value of dtype i64"),
    ("a: f32 = x[0]", "`a` has dtype f32"),
    ("a: f64 = x[0]\n    a: f64 = x[1]", "`a` is bound twice"),
    ("for i in seq(0, 3):\n        a: f64 = x[i]\n    x[0] = a", "`a` is not in scope"),
    ("a: f64 = x[0]\n    a = 1.0", "`a` is not a var"),
    ("v = var(0.0, f64)\n    v = 1", "`v` has dtype f64"),
    ("s = fold(add, 0, f64)", "gets a value of dtype i64"),
    ("s = fold(argmax, 0.0, f64)", "cannot have 1 components"),
    ("s = fold(add, 0.0, f64)\n    s += (c, 1)", "combined with 2 values"),
    ("s = fold(add, 0.0, f64)\n    a: f64 = part(s, 1)", "there is no part 1"),
    ("s = fold(add, 0.0, f64, shape=(4,))\n    s += c", "has 1 axes but is indexed by 0"),
    ("for i in vec(0, 8, W=8):\n        for j in vec(0, 8, W=8):\n            x[j] = c", "lies inside vec loop `i`"),
    ("v = var(0.0, f64)\n    for i in vec(0, 8, W=8):\n        v = c", "carry only folds"),
    ("s = fold(add, 0.0, f64)\n    for i in vec(0, 8, W=8):\n        s += c\n        a: f64 = part(s)", "read it after the loop"),
    ("for i in vec(0, n, W=8, full=1):\n        x[i] = c", "must be a constant"),
    ("for i in unroll(0, n):\n        x[i] = c", "must be a constant"),
    ("for i in seq(0, 8, 0):\n        x[i] = c", "has step 0"),
    ("y = buf(f64, 3, freed=1)", "holds an address"),
    ("for i in seq(0, 2):\n        y = buf(i64, 3, freed=1)", "in no inner block"),
    ("for i in vec(0, 9, W=4, twice=1):\n        y: f64 = x[i+1]\n        x[i] = y", "change what they read"),
    ("for i in vec(0, 9, W=4, twice=1):\n        x[i] += c", "change what they read"),
    ("for i in vec(0, 8, W=4, U=2, mix=1):\n        x[i] += c", "read-modify-write"),
    ("z = buf(f64, 3)\n    swap(x, z)", "must have one dtype and shape"),
    ("z = buf(f64, 3)\n    y = buf(f64, 3)\n    v = view(y[0], (1,))\n    swap(y, z)\n    v[0] = c", "`v` is not in scope"),
    (
        "z = buf(f64, 3)\n    y = buf(f64, 3)\n    v = view(y[0], (1,))\n    for i in seq(0, 2):\n        v[0] = c\n        swap(y, z)",
        "`v` is not in scope",
    ),
    ("raise_if(c, 1)", "must be bool|has dtype bool"),
    ("raise_if(True, 1, c)", "`err` is not in scope"),
    ("if c:\n        x[0] = c", "has dtype bool"),
    ('call("f", "void(i64)", n, n)', "2 arguments"),
    ('call("f", "void(i64)", n, writes=(c,))', "is not a param"),
]


@pytest.mark.parametrize("body, message", BAD, ids=[m for _, m in BAD])
def test_the_verifier_rejects(body: str, message: str) -> None:
    (k,) = parse(f"def f(n: i64, c: f64, x: f64[n]):\n    {body}\n")
    with pytest.raises(VerifyError, match=message):
        verify(k)


# ---- BLAS -------------------------------------------------------------------------------------------------------


def found() -> blas.Blas:
    b = blas.find()
    if b is None:
        pytest.skip("NumPy has no BLAS that can be looked up")
    return b


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("trans", [(False, False), (True, False), (False, True), (True, True)])
def test_gemm_and_gemv(dtype: str, trans: tuple[bool, bool]) -> None:
    """From generated code, sizes known at run time; the thread count is what it was."""
    b, (m, n, k) = found(), (7, 5, 9)
    A, B = (rng.integers(-4, 5, s).astype(DTYPES[dtype]) for s in ((m, k), (k, n)))
    C, x, y = np.ones((m, n), A.dtype), np.arange(k).astype(A.dtype), np.zeros(m, A.dtype)
    stored = [np.ascontiguousarray(M.T if t else M) for M, t in zip((A, B), trans)]
    ld = ("m" if trans[0] else "k", "k" if trans[1] else "n", "n")
    body = b.gemm(dtype, "A", "B", "C", ("m", "n", "k"), ld, trans=trans, alpha=2.0, beta=3.0, name="g")
    rows, cols = ("k", "m") if trans[0] else ("m", "k")
    body += b.gemv(dtype, "A", "x", "y", (rows, cols), cols, trans=trans[0], name="h")
    sizes = [Param(s, "i64", None) for s in "mnk"]
    f = native(Kernel("f", [*sizes, *[Param(p, dtype, (1,)) for p in ("A", "B", "C", "x", "y")]], body), symbols=b.symbols)
    threads = b.symbols.get(b.symbol("openblas_get_num_threads"))
    before = ctypes.CFUNCTYPE(ctypes.c_int)(threads)() if threads else 0
    f(m, n, k, *stored, C, x, y)
    assert np.array_equal(C, 2 * (A @ B) + 3) and np.array_equal(y, A @ x)
    assert not threads or ctypes.CFUNCTYPE(ctypes.c_int)(threads)() == before


def test_a_blas_with_32_bit_integers_gets_them() -> None:
    b = blas.Blas("{}", "i32", {})
    body = b.gemm("f64", "A", "B", "C", (3, "n", 4), (4, "n", "n"))
    k = Kernel("f", [Param("n", "i64", None), *[Param(p, "f64", (1,)) for p in "ABC"]], body)
    verify(k)
    (call,) = [s for s in body if isinstance(s, Call)]
    assert call.symbol == "cblas_dgemm" and call.signature[4:7] == ("i32", "i32", "i32") and call.args[3] == Const(3, "i32")


def test_emission_refuses_what_the_verifier_refuses() -> None:
    with pytest.raises(VerifyError, match="not in scope"):
        emit([Kernel("f", [], [Store("x", (0,), Const(0.0, "f64"))])])
