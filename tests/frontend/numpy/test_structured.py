"""Structured arrays, recarrays and records: value, changed arguments, gradients, errors, and calls without Python code."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib import recfunctions

import irad
from irad.call.runtime import cache_for
from irad.core.tree import flatten
from irad.frontend.trace import trace
from tests.support.derivatives import difference

PACKED = [
    ("x", "f8"), ("v", "f8"), ("n", "i4"), ("name", "S5"), ("pos", "f8", (3,)), ("state", [("q", "f4"), ("on", "?")]), ("tag", "U3")
]  # fmt: skip
DTYPES = [np.dtype(PACKED), np.dtype(PACKED, align=True)]


def particles(dtype: Any = DTYPES[0], n: int = 5) -> np.ndarray:
    rng = np.random.default_rng(0)
    p = np.zeros(n, dtype)
    p["x"], p["v"], p["pos"] = rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, 3))
    p["n"], p["name"] = np.arange(n) % 3, np.resize([b"sun", b"gas", b"abcde"], n)
    p["state"]["q"], p["state"]["on"], p["tag"] = rng.normal(size=n), np.arange(n) % 2, "ab"
    return p


def identical(got: Any, want: Any) -> None:
    """Same class, dtype, shape and bits up to rounding, all the way down."""
    assert type(got) is type(want), (got, want)
    if isinstance(want, dict):
        got, want = list(got.items()), list(want.items())
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            identical(g, w)
    elif isinstance(want, (np.ndarray, np.void)) and want.dtype.names:
        assert got.dtype == want.dtype and got.shape == want.shape
        for name in want.dtype.names:
            identical(np.asarray(got[name]), np.asarray(want[name]))
    elif isinstance(want, np.ndarray) and want.dtype.kind in "fc":
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-12) if isinstance(want, (float, np.floating)) else np.testing.assert_equal(
            got, want
        )


def agrees(fn: Callable[..., Any], *args: Any) -> None:
    """Four calls (in Python, then without) give what NumPy gives, and leave the arguments as NumPy leaves them."""
    want_args = copy.deepcopy(args)
    want = fn(*want_args)
    compiled = irad.compile(fn)
    for _ in range(4):
        got_args = copy.deepcopy(args)
        got = compiled(*got_args)
        identical(got, want)
        identical(got_args, want_args)
        if isinstance(want, np.ndarray):
            assert [got is g for g in got_args] == [want is w for w in want_args]


def slope(f: Callable[..., float], p: np.ndarray, direction: np.ndarray) -> float:
    """The derivative of f at p along the floats of a structured array, by differences."""
    return float(difference(lambda t: np.array([f(moved(p, direction, t))]), 1e-3)[0])


def moved(p: np.ndarray, direction: np.ndarray, t: float) -> np.ndarray:
    out = p.copy()
    for a, d in zip(flatten(out)[0], flatten(direction)[0]):
        if a.dtype.kind in "fc":
            a += t * d
    return out


def random_like(p: np.ndarray, seed: int = 1) -> np.ndarray:
    rng, out = np.random.default_rng(seed), np.zeros_like(p)
    for a in flatten(out)[0]:
        if a.dtype.kind in "fc":
            a[...] = rng.normal(size=a.shape)
    return out


def dot(a: np.ndarray, b: np.ndarray) -> float:
    return float(sum(np.sum(x * y) for x, y in zip(flatten(a)[0], flatten(b)[0]) if x.dtype.kind in "fc"))


# ---- value ------------------------------------------------------------------------------------------------------------


def kick(p, h):
    p["x"] += h * p["v"]
    p["pos"][:, 0] *= 1 + h
    return p


def stores(p):
    p["x"][p["n"] > 1] = 0
    p[1]["x"] = 7.0
    p["x"][2] += 3
    p[0]["pos"][1] = p["pos"][2, 2]
    p[-1]["state"]["q"] *= 2
    p["state"]["on"][0] = True
    p["n"] += 1
    p[1:]["v"] = p["v"][:-1]
    p[["x", "n"]][0] = (2.0, 5)
    return p["x"].sum()


def whole_records(p):
    p[[0, 1]] = p[[1, 0]]
    p[2] = (1.0, 2.0, 3, b"q", [1, 2, 3], (1.0, True), "xyz")
    p[3] = p[0]
    q = np.zeros(2, dtype=[("x", "f8"), ("n", "i4")])
    q[:] = [(1.0, 2), (p["x"][4], 4)]
    q[0] = (q["x"][1] + 1, 7)
    r = q.copy()
    r[:] = 3
    r.fill(4)
    return q, r, np.concatenate([q, r])


def copies(p):
    q = p.copy()
    q["x"] = 0
    z = np.zeros_like(p)
    z["v"] = p["v"]
    e = np.empty(3, dtype=p.dtype)
    e[:] = p[:3]
    return q, z, e, p[1:], p[p["x"] > 0], p[[0, 2]], p[0], p["state"], p[["x", "pos"]], np.where(p["x"] > 0, p, z)


def questions(p):
    names = [name for name in p.dtype.names if name not in ("name", "tag", "state")]
    total = sum(p[name].sum() for name in names)
    return total, len(p), p.shape, p.ndim, p.size, len(p[0]), p.dtype["pos"].shape, isinstance(p, np.ndarray), np.shape(p)


def loops(p):
    s = 0.0
    for i in range(len(p)):
        q = p[i]
        s += q["x"] * q["v"] + q[2]
        p[i]["x"] = s
    for k, rec in enumerate(p):
        s += k * rec["x"] + rec["pos"].sum()
        rec["v"] = s
    i = 0
    while i < 3 and p[i]["x"] > -1e9:
        p["v"][i] += p[i]["state"]["q"]
        i += 1
    x, v = p[["x", "v"]][1]
    return s, x + v, i


def strings(p):
    sun = p["name"] == b"sun"
    p["x"][sun] *= 2
    p["name"][0] = b"new"
    p["tag"] = "q"
    some = p["name"] == np.array([b"new", b"toolong", b"gas", b"abcde", b"gas"])
    return sun, p["name"] != b"gas", some, p[1]["name"] == b"gas", p["tag"], p["name"][1:], p["name"].shape


def equal(p):
    q = p.copy()
    q["pos"][1, 2] += 1
    q["state"]["on"][3] = not q["state"]["on"][3]
    return p == q, p != q, p[0] == q[0], p == p


def views(p):
    p["state"]["q"] += 1
    p[0]["state"]["q"] *= 2
    p["state"][1]["on"] = True
    p[["x", "v"]][1]["x"] = 4
    a = p["state"]
    a["q"][2] = 8
    for name in ("x", "v"):
        p[name] *= 2
    for name in p["state"].dtype.names:
        p["state"][name][0] = 1
    if p["x"][3] > 0:
        q = p[3]
    else:
        q = p[4]
    q["v"] = 9
    p["x"] = p["x"][::-1]
    p["x"], p["v"] = p["v"], p["x"]
    return {"a": p["state"], "b": (p[0]["x"], p["pos"][0]), "c": [p[0], p[1]]}


def python(p):
    def total(i):
        return p[i]["x"] if i < 1 else total(i - 1) + p[i]["v"]

    best = max(p, key=lambda q: q["x"])
    order = p[np.argsort(p["x"])]
    return total(3), best["v"], order["name"], sum(q["x"] for q in p), [q["x"] for q in p], p[-1]["x"], p[-2:]["v"]


FUNCTIONS = [views, python, stores, whole_records, copies, questions, loops, strings, equal]


@pytest.mark.parametrize("dtype", DTYPES, ids=["packed", "aligned"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_value(f: Any, dtype: np.dtype) -> None:
    agrees(f, particles(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=["packed", "aligned"])
def test_the_array_itself_comes_back(dtype: np.dtype) -> None:
    agrees(kick, particles(dtype), 0.1)


def test_views_of_the_array_as_arguments() -> None:
    p = particles(n=9)
    for view in (p[::2], p[::-1], p[3:4]):
        want, got = view.copy(), p.copy()
        mine = got[::2] if view.base is not None and view.shape == (5,) else got[::-1] if len(view) == 9 else got[3:4]
        compiled = irad.compile(kick)
        for _ in range(3):
            kick(want, 0.1)
            assert compiled(mine, 0.1) is mine
        identical(mine.copy(), want)


def grid() -> np.ndarray:
    d = np.zeros((2, 3), [("a", "f8"), ("b", "f8", (2,)), ("c", [("d", "f8")], (2,))])
    d["a"], d["b"], d["c"]["d"] = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(2, 3, 2), 1.0
    return d


def test_more_axes() -> None:
    def f(d):
        d[0]["b"][1] = 9
        d[:, 1]["a"] = d[1, 2]["a"]
        d[..., 0]["b"][:, 0] += 1
        d[d["a"] > 3]["b"] = 0  # a copy: nothing happens
        d["b"][d["a"] > 3] = 0
        d[1, 1] = (5, [6, 7], 8)
        d[0] = d[1]
        d["c"][0, 0]["d"] = 3
        d["c"][1]["d"][:, 1] = 4
        return (
            d[:, [0, 2]],
            d[None].shape,
            d.reshape(3, 2)["b"],
            d.T["a"],
            d.ravel()[1:],
            d.reshape(-1)[0]["c"]["d"],
            d["c"][1, 0, 1],
        )

    agrees(f, grid())
    agrees(lambda d: (d[["a", "b"]].tolist(), d[["a"]][0, 1].item()), grid())


def test_made_inside() -> None:
    def f(x, n):
        p = np.zeros(n, dtype=[("x", "f8"), ("k", "i4"), ("s", "U2"), ("in", [("y", "f4", (2,))])])
        p["x"] = x
        p["in"]["y"][:, 1] = 2 * x
        p["s"] = "ab"
        one = np.array((x[0], 3), dtype=[("a", "f8"), ("b", "i8")])
        two = np.array([(x[0], 3), (x[1], 4)], dtype=one.dtype)
        big = np.zeros(3000, dtype=one.dtype)
        big["a"][7] = x[1]
        return p, one, two, big, np.ones(2, one.dtype), recfunctions.structured_to_unstructured(two)

    agrees(f, np.array([1.5, 2.5, 3.5]), 3)


def test_branches() -> None:
    def f(p, q, s):
        w = p if s > 0 else q
        w["x"][0] = 100
        if s > 1:
            r = p.copy()
        else:
            r = np.zeros_like(p)
        r["v"][1] = s
        for _ in range(3):
            t = r.copy()
            t["x"] = r["x"] + 1
            r = t
        return w["x"].sum(), w["name"] == b"gas", r

    for s in (-1.0, 0.5, 2.0):
        agrees(f, particles(), particles(DTYPES[0])[::-1].copy(), s)


def test_one_array_given_twice_and_an_overlapping_view() -> None:
    def f(p, q):
        p["x"] += 1
        return q["x"] * 2

    compiled = irad.compile(f)
    for _ in range(3):
        p = particles()
        want = (p["x"] + 1) * 2
        np.testing.assert_array_equal(compiled(p, p), want)
    for _ in range(3):
        p = particles()
        q, before = p[::-1], p["x"].copy()
        np.testing.assert_array_equal(compiled(p, q), (before[::-1] + 1) * 2)


# ---- recarrays, records, captured arrays -----------------------------------------------------------------------------


def test_recarray() -> None:
    def f(r):
        r.x += 1
        r.v = r.x * 2
        r["n"][0] = 4
        r[0].x = 5
        r[1:].state.q[0] = 3
        return r.v.sum(), r[r.x > 0], r[1], r.state, r.copy(), r.view(np.ndarray)

    agrees(f, particles().view(np.recarray))
    g = irad.grad(lambda r: np.sum(r.x**2 * r.v))(particles().view(np.recarray))
    assert type(g) is np.recarray
    np.testing.assert_allclose(g.x, 2 * particles()["x"] * particles()["v"])


def test_a_record_and_a_zero_dimensional_array() -> None:
    f = lambda v: (v["x"] * v["pos"], v["state"]["q"], v)
    agrees(f, particles()[1])
    agrees(f, particles().view(np.recarray)[1])
    agrees(lambda v: (v["x"] + 1, v[()]["x"], v["pos"]), np.array(particles()[2]))
    g = irad.grad(lambda v: v["x"] ** 2 * v["pos"][1])(particles()[1])
    assert isinstance(g, np.void)
    np.testing.assert_allclose(g["x"], 2 * particles()["x"][1] * particles()["pos"][1, 1])
    with pytest.raises(NotImplementedError, match="pass the array and the index"):
        irad.compile(_store)(particles()[1])


def _store(v):
    v["x"] = 3.0


held = particles()


def test_captured_arrays_are_read_and_changed_at_each_call() -> None:
    global held

    def f(h):
        held["x"] += h
        return held["x"] * held["n"], held

    compiled = irad.compile(f)
    for k in range(4):
        got = compiled(1.0)
        np.testing.assert_allclose(held["x"], particles()["x"] + k + 1)
        np.testing.assert_allclose(got[0], held["x"] * held["n"])
        assert got[1] is held
    held = particles(DTYPES[1])
    assert compiled(2.0)[1] is held
    np.testing.assert_allclose(held["x"], particles()["x"] + 2)
    v, g = irad.value_and_grad(lambda s: np.sum(held["x"]) * s)(2.0)
    np.testing.assert_allclose(g, held["x"].sum())
    held = particles()


class Simulation:
    def __init__(self) -> None:
        self.p, self.h = particles(), 0.1

    def step(self, i):
        self.p["x"] += self.h * self.p["v"]
        s = 0.0
        while i > 0:
            i -= 1
            s += self.p[i]["x"] * self.p["state"][i]["q"]
        return s


def test_an_attribute_and_indices_that_depend_on_data() -> None:
    a, b = Simulation(), Simulation()
    step = irad.compile(Simulation.step)
    for _ in range(4):
        np.testing.assert_allclose(step(a, 3), b.step(3))
        identical(a.p, b.p)


def test_custom_rules_and_checkpoint() -> None:
    @irad.custom_vjp
    def f(p):
        return np.sum(p["x"] ** 2)

    def backward(p, ct):
        g = np.zeros_like(p)
        g["x"] = 20 * p["x"] * ct
        return (g,)

    f.defvjp(lambda p: (np.sum(p["x"] ** 2), p), backward)
    p = particles()
    np.testing.assert_allclose(irad.grad(lambda p: f(p) * 2)(p)["x"], 40 * p["x"])
    np.testing.assert_allclose(irad.grad(irad.checkpoint(lambda p: np.sum(p["x"] ** 2)))(p)["x"], 2 * p["x"])
    irad.check_grads(lambda p: np.sum(p["x"] ** 2 * p["n"]), (p,))


# ---- memory ------------------------------------------------------------------------------------------------------------


def test_byte_order_alignment_and_padding() -> None:
    swapped = np.zeros(4, [("x", ">f8"), ("n", ">i2"), ("s", ">U2")])
    swapped["x"], swapped["n"], swapped["s"] = np.arange(4.0), [4, 3, 2, 1], "ab"

    def f(p):
        p["x"] = p["x"] * 2 + p["n"]
        p["n"][1] = 300
        return p["x"].sum(), p, p.copy(), p["s"] == "ab"

    agrees(f, swapped)
    np.testing.assert_allclose(irad.grad(lambda p: np.sum(p["x"] ** 2))(swapped)["x"], 2 * np.arange(4.0))
    gaps = np.dtype({"names": ["b", "a"], "formats": ["f8", "i1"], "offsets": [3, 1], "itemsize": 19})
    odd = np.zeros(6, gaps)
    odd["b"], odd["a"] = np.arange(6.0), 2
    agrees(lambda p: (np.sum(np.sin(p["b"]) * p["a"]), p[1:]), odd)
    agrees(lambda p: np.sum(np.sin(p["b"])), odd[2:3])


def test_data_that_is_only_carried_along() -> None:
    p = np.zeros(2, [("x", "f8"), ("t", "M8[s]"), ("wide", "g"), ("raw", "V3")])
    p["t"][1], p["wide"], p["raw"] = np.datetime64("2020-01-01"), 2, b"abc"
    agrees(lambda p: (p[::-1], p.copy(), p["x"]), p)
    with pytest.raises(NotImplementedError, match="carried along"):
        irad.compile(lambda p: p["t"] == p["t"])(p)


@pytest.mark.plain
def test_thousands_of_calls_use_one_program() -> None:
    f = lambda p, h: kick(p, h)
    compiled = irad.compile(f)
    p = particles()
    for k in range(3000):
        compiled(p, 1e-3)
        if k % 1000 == 0:
            p = particles()  # another array of the same kind
    cache = cache_for(f)
    assert sum(map(len, cache.entries.values())) == 1
    assert all(program is not None for program in cache.programs.values())
    compiled(particles(DTYPES[1]), 1e-3)
    assert sum(map(len, cache.entries.values())) == 2  # the dtype is part of the key


@pytest.mark.plain
@pytest.mark.parametrize("dtype", DTYPES, ids=["packed", "aligned"])
def test_fields_as_arguments_of_their_own_are_not_taken_for_overlapping(dtype: np.dtype) -> None:
    def f(x, v):
        x += v
        v *= 2

    compiled = irad.compile(f)
    p, q = particles(dtype), particles(dtype)
    for _ in range(4):
        f(p["x"], p["v"])
        compiled(q["x"], q["v"])
        identical(q, p)
    assert all(program is not None for program in cache_for(f).programs.values())
    x, y = np.arange(8.0), np.arange(8.0)
    f(x[::2], x[1::2]), compiled(y[::2], y[1::2])
    f(x[::2], x[::-2]), compiled(y[::2], y[::-2])
    f(x[:-2:2], x[2::2]), compiled(y[:-2:2], y[2::2])
    np.testing.assert_array_equal(x, y)


# ---- gradients -----------------------------------------------------------------------------------------------------------


def energy(p):
    q = p.copy()
    for _ in range(4):
        q["v"] -= 0.1 * np.sin(q["x"]) * (1 + q["n"])
        q["x"] += 0.1 * q["v"]
        q["pos"][:, 1] += q["x"]
    for i in range(1, len(q)):
        q[i]["x"] += q[i - 1]["x"] * q["pos"][i, 0]
    q["x"][q["name"] == b"gas"] *= 2
    near = q[p["n"]]
    return np.sum(q["x"] ** 2) + np.sum(q["pos"] ** 2) * q["state"]["q"][1] + near["v"].sum() * near[1]["x"] + q["x"][p["n"][2]]


def squares(p: np.ndarray) -> float:
    """What `energy` multiplies p["state"]["q"][1] with."""
    x, v, pos = p["x"].copy(), p["v"].copy(), p["pos"].copy()
    for _ in range(4):
        v -= 0.1 * np.sin(x) * (1 + p["n"])
        x += 0.1 * v
        pos[:, 1] += x
    return float(np.sum(pos**2))


@pytest.mark.parametrize("dtype", DTYPES, ids=["packed", "aligned"])
def test_gradient(dtype: np.dtype) -> None:
    p = particles(dtype)
    direction = random_like(p)
    direction["state"]["q"] = 0  # float32: too coarse for differences
    want = slope(energy, p, direction)
    before, compiled = p.copy(), irad.compile(energy)
    for run in (
        irad.grad(energy),
        compiled.grad,
        lambda p: compiled.value_and_grad(p)[1],
        lambda p: irad.vjp(energy, p)[1](1.0)[0],
    ):
        for _ in range(3):
            g = run(p)
            assert type(g) is np.ndarray and g.dtype == p.dtype and g.shape == p.shape
            np.testing.assert_allclose(dot(g, direction), want, rtol=1e-7)
            np.testing.assert_allclose(g["state"]["q"], np.eye(5)[1] * squares(p), rtol=1e-6)
            assert not g["n"].any() and not g["state"]["on"].any() and set(g["name"]) == {b""} and set(g["tag"]) == {""}
            identical(p, before)


def test_gradient_of_a_function_that_changes_its_argument() -> None:
    def f(p, h):
        p["x"] += h * p["v"]
        p[1]["x"] *= 3
        p["v"][p["x"] > 0] = 0
        return np.sum(p["x"] ** 2) + np.sum(p["v"] ** 2)

    p, before = particles(), particles()
    direction = random_like(p)
    value, (g, dh) = irad.value_and_grad(f, argnums=(0, 1))(p, 0.3)
    identical(p, before)
    np.testing.assert_allclose(value, f(particles(), 0.3))
    np.testing.assert_allclose(dot(g, direction), slope(lambda q: f(q, 0.3), p, direction), rtol=1e-8)
    np.testing.assert_allclose(dh, difference(lambda t: np.array([f(particles(), 0.3 + t)]), 1e-3)[0], rtol=1e-8)


def advance(p, h):
    q = p.copy()
    q["x"] = np.sin(p["x"]) * h + p["v"]
    q["pos"][:, 0] = p["x"] * p["n"]
    return q


def test_vjp_and_jvp_of_a_structured_result() -> None:
    p, ct, dot_p = particles(), random_like(particles(), 2), random_like(particles(), 3)
    out, pullback = irad.vjp(advance, p, 0.5)
    identical(out, advance(p, 0.5))
    for _ in range(3):
        g, dh = pullback(ct)
        assert g.dtype == p.dtype
        np.testing.assert_allclose(g["x"], ct["x"] * np.cos(p["x"]) * 0.5 + ct["pos"][:, 0] * p["n"])
        np.testing.assert_allclose(g["v"], ct["x"] + ct["v"])
        np.testing.assert_allclose(dh, np.sum(ct["x"] * np.sin(p["x"])))
    value, tangent = irad.jvp(advance, (p, 0.5), (dot_p, 0.0))
    identical(value, advance(p, 0.5))
    np.testing.assert_allclose(dot(tangent, ct), dot(g, dot_p), rtol=1e-6)
    assert not tangent["n"].any()
    np.testing.assert_allclose(irad.linearize(advance, p, 0.5)[1](dot_p, 0.0)["x"], tangent["x"])
    with pytest.raises(TypeError, match="must be nested like"):
        pullback(ct[["x", "v"]])


def test_derivatives_inside_second_order_and_in_containers() -> None:
    p, d = particles(), random_like(particles())
    f = lambda p: np.sum(np.sin(p["x"]) * p["v"] * p["n"])
    np.testing.assert_allclose(irad.hvp(f)(p, d)["x"], p["n"] * (np.cos(p["x"]) * d["v"] - np.sin(p["x"]) * p["v"] * d["x"]))

    def descend(p, rate):
        for _ in range(5):
            g = irad.grad(f)(p)
            p["x"] -= rate * g["x"]
        return p["x"]

    want = p["x"].copy()
    for _ in range(5):
        want -= 0.1 * np.cos(want) * p["v"] * p["n"]
    np.testing.assert_allclose(irad.compile(descend)(p.copy(), 0.1), want)
    g = irad.grad(lambda s: np.sum(s["p"]["x"] ** 2) * s["k"])({"p": p, "k": 2.0})
    np.testing.assert_allclose(g["p"]["x"], 4 * p["x"])
    np.testing.assert_allclose(g["k"], np.sum(p["x"] ** 2))
    z = np.array([(1 + 2j, 1), (3j, 2)], [("z", "c16"), ("k", "i8")])
    np.testing.assert_allclose(irad.grad(lambda z: np.sum(np.abs(z["z"]) ** 2))(z)["z"], 2 * np.conj(z["z"]))


# ---- errors --------------------------------------------------------------------------------------------------------------------

OVERLAPPING = np.dtype({"names": ["a", "b"], "formats": ["f8", "f8"], "offsets": [0, 4]})
ERRORS: list[tuple[Any, Any, str]] = [
    (lambda p: p["zz"], particles(), "no field of name zz; there are x, v"),
    (lambda p: p.x, particles(), "no attribute 'x'"),
    (lambda p: p + 1, particles(), "write it for each of its fields"),
    (lambda p: np.sin(p), particles(), "np.sin of a structured array .* call it on the fields"),
    (lambda p: p.mean(), particles(), "has no attribute 'mean'|take it of its fields"),
    (lambda p: p == 1, particles(), "compare the fields"),
    (lambda p: bool(p), particles(), "truth value of a structured array"),
    (lambda p: p["name"] == "sun", particles(), "compare it with bytes"),
    (lambda p: p["name"] + b"x", particles(), "operator add on an array of strings"),
    (lambda p: p[0, 0], particles(), "too many indices"),
    (lambda p: p.view("f8"), particles(), "view of a structured array"),
    (lambda p: print(p), particles(), "cannot be formatted"),
    (irad.vmap(lambda p: p["x"]), particles(), "vmap of structured arrays"),
    (irad.jacobian(lambda p: p["x"]), particles(), "jacobian and hessian of structured arrays"),
    (irad.grad(lambda p: np.sum(p["n"] * 1.0)), particles()[["n"]], "no field of floating-point numbers"),
    (lambda p: p["x"], np.zeros(2, [("x", "f8"), ("o", "O")]), "argument p: field 'o' of dtype object"),
    (lambda p: p["a"], np.zeros(2, OVERLAPPING), "field 'b' shares memory"),
    (lambda p: p["x"], np.ma.zeros(2, DTYPES[0]), "a MaskedArray is not supported"),
]


@pytest.mark.parametrize("k", range(len(ERRORS)), ids=lambda k: ERRORS[k][2][:25])
def test_errors(k: int) -> None:
    f, p, words = ERRORS[k]
    with pytest.raises((irad.IradError, AttributeError), match=words):
        (f if isinstance(f, irad.api.Function) else irad.compile(f))(p)


def test_stores_that_do_not_fit() -> None:
    def short(p):
        p[0] = (1.0, 2.0)

    def text(p):
        p["x"] = p["name"]

    def sub(p):
        p[0] = p["state"][0]

    for f, words in ((short, "could not assign tuple of length 2"), (text, "field of numbers"), (sub, "matched by position")):
        with pytest.raises(irad.IradError, match=words):
            irad.compile(f)(particles())
    readonly = particles()
    readonly.setflags(write=False)
    compiled = irad.compile(kick)
    for _ in range(3):
        with pytest.raises(ValueError, match="read-only"):
            compiled(readonly, 0.1)
    with pytest.raises(IndexError, match="out of bounds"):
        irad.compile(lambda p, i: p[i]["x"])(particles(), 7)


def test_the_program_names_the_fields_it_changes_only() -> None:
    t = trace(kick, (particles(), 0.1))
    assert [m.target for m in t.mutated] == [("arg", 0), ("arg", 4)]
    assert len(t.results) == t.out_tree.size > 1
    assert len(trace(kick, (particles(), 0.1), objects=True).results) == 1
