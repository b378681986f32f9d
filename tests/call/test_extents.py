"""One version of a function for all sizes of its arguments."""

from __future__ import annotations

import gc
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import irad
from irad.call import runtime
from irad.call.runtime import OFTEN, cache_for

SIZES = (2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200)
Case = tuple[Callable[..., Any], Callable[[int, Any], tuple[Any, ...]], Any]


def elements(x: Any) -> Any:
    return np.sum(np.sin(x) * x) / x.size + np.mean(x)


def stencil(u: Any) -> Any:
    for _ in range(3):
        v = u.copy()
        v[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = v
    return np.sum(u * u)


def shifted(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def trips(x: Any) -> Any:
    y, s = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        s = 0.5 * s + np.sin(x[i])
        y[i] = s * i
    return np.sum(y * y)


def orders(x: Any) -> Any:
    return np.sum(np.sort(x) * np.arange(len(x))) + np.sum(np.cumsum(np.concatenate([x, x[::-1]])) ** 2)


def products(x: Any, w: Any) -> Any:
    h = np.tanh(x @ w)
    return np.sum(np.max(h, axis=1)) + np.mean(h.sum(axis=0))


def squares(a: Any, x: Any) -> Any:
    return x @ a @ x + np.sum(np.outer(x, x) * a)


def solves(a: Any, x: Any) -> Any:
    return np.sum(np.linalg.solve(a, x) ** 2)


def chosen(x: Any) -> Any:
    return np.sum(x[x > 0] ** 2) + np.sum(np.where(x > 0.5, x, 0.1 * x))


def windows(x: Any) -> Any:
    s = 0.0
    for i in range(1, len(x) - 1):
        s += x[i] * np.sort(np.outer(x[i - 1 : i + 2], x[i - 1 : i + 2]).flatten())[4]
    i = 0
    while i + 4 < len(x):
        s += np.dot(x[i : i + 4].reshape(2, 2), x[i : i + 2])[1]
        i += 3
    return s


def transport(c: Any, a: Any) -> Any:
    m = a - c
    top = np.max(m, axis=1)
    f = a - top - np.log(np.sum(np.exp(m - top[:, None]), axis=1))
    m = f[:, None] - c
    top = np.max(m, axis=0)
    return np.sum(a * (top + np.log(np.sum(np.exp(m - top), axis=0))))


def halves(x: Any) -> Any:
    y, n = x.copy(), len(x)
    for _ in range(3):
        half = n // 2
        part = y[:n].copy()
        for i in range(half):
            y[i], y[half + i] = part[2 * i] + 0.5 * part[2 * i + 1], part[2 * i] - part[2 * i + 1]
        n = half
    return np.sum(y**2)


def _vector(n: int, r: Any) -> tuple[Any, ...]:
    return (r.standard_normal(n),)


def _matrix(n: int, r: Any) -> tuple[Any, ...]:
    return r.standard_normal((n, n)) + 2 * n * np.eye(n), r.standard_normal(n)


CASES: list[Case] = [
    (elements, _vector, 0),
    (stencil, _vector, 0),
    (shifted, _vector, 0),
    (trips, _vector, 0),
    (orders, _vector, 0),
    (chosen, _vector, 0),
    (windows, _vector, 0),
    (halves, _vector, 0),
    (transport, _matrix, (0, 1)),
    (products, lambda n, r: (r.standard_normal((n, 20)), r.standard_normal((20, 9))), (0, 1)),
    (squares, _matrix, (0, 1)),
]


def _leaves(x: Any) -> list[np.ndarray]:
    return [a for part in x for a in _leaves(part)] if isinstance(x, tuple) else [np.asarray(x)]


def _alike(x: Any, y: Any) -> None:
    for a, b in zip(_leaves(x), _leaves(y), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9 * (1 + np.abs(b).max(initial=0)))


def _by_differences(f: Any, args: tuple[Any, ...], k: int, along: np.ndarray) -> float:
    """The slope of f along a direction of argument k."""
    moved = lambda h: f(*(x + h * along if j == k else x for j, x in enumerate(args)))
    return float((moved(1e-6) - moved(-1e-6)) / 2e-6)


@pytest.fixture(autouse=True, scope="module")
def _forgotten() -> Iterator[None]:
    """Tests that count what a process holds do not meet these functions."""
    before = set(runtime._caches)
    yield
    for key in set(runtime._caches) - before:
        del runtime._caches[key]
    gc.collect()


@pytest.fixture(autouse=True)
def _no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("check", ["none", "memory"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_values_and_gradients_at_many_sizes(case: Case, check: str) -> None:
    f, arguments, by = case
    c = irad.compile(f, argnums=by, dynamic=True, check=check)
    for n in SIZES if check == "none" else (2, 9, 33, 65):
        args = arguments(n, np.random.default_rng(n))
        value, grads = c.value_and_grad(*args)
        assert np.isclose(value, f(*args), rtol=1e-9)
        for k, g in enumerate(grads if isinstance(by, tuple) else (grads,)):
            along = np.random.default_rng(n + 1).standard_normal(g.shape)
            assert np.isclose(np.sum(g * along), _by_differences(f, args, k, along), rtol=2e-4, atol=1e-4)
    assert len(c.versions) <= 4 and all(v.extents for v in c.versions[2:])  # 2 and 3 have code of their own


def test_sizes_of_one_version_and_what_it_lists() -> None:
    c = irad.compile(lambda x, y: (x[1:] * y[:-1], x.sum()), dynamic=True)
    for n in (40, 1000, 33, 32, 5000):
        x = np.arange(float(n))
        for _ in range(3):  # through Python code, and without
            _alike(c(x, x + 1), (x[1:] * x[1:], x.sum()))
    (v,) = c.versions
    assert v.arguments == ("f64[n]", "f64[n]") and v.extents["n"][0] == 32 and v.extents["n"][1] > 5000
    programs = cache_for(c.__wrapped__, c.options).programs
    memory = os.environ.get("IRAD_CHECK") == "memory"  # then calls go through Python
    assert [p is not None for p in programs.values()] == [not memory]
    c.clear()
    assert c.versions == []


def test_sizes_beyond_those_of_a_version_make_another() -> None:
    c = irad.compile(lambda x, y: x.sum() + y.sum(), dynamic=True)
    y = np.zeros((1000, 900))
    assert c(np.ones((40, 50)), y) == 2000
    (v,) = c.versions
    n = v.extents["n"][1] + 1
    assert c(np.ones((n, 50)), y) == 50 * n and len(c.versions) == 2


def test_extents_0_and_1_are_apart() -> None:
    c = irad.compile(lambda x, y: x + y, dynamic=True)
    x = np.arange(40.0)
    for a, b in ((x, x + 1), (x, x[:1]), (x[:1], x), (x[:1], x[:1]), (x[:0], x[:0]), (x[:0], x[:1])):
        assert np.array_equal(c(a, b), a + b)
    of = {v.arguments for v in c.versions}
    assert of == {(a, b) for a in ("f64[n]", "f64[1]") for b in ("f64[n]", "f64[1]")} | {
        ("f64[0]", "f64[0]"),
        ("f64[0]", "f64[1]"),
    }
    with pytest.raises(ValueError, match="could not be broadcast"):
        c(x, x[:39])


def test_equal_extents_are_one_where_they_are_equal_in_the_first_call() -> None:
    c = irad.compile(lambda a, b: np.sum(a, axis=0) + np.sum(b, axis=0), dynamic=True)
    shapes = (((40, 50), (40, 50)), ((40, 50), (41, 50)), ((60, 70), (80, 70)), ((41, 52), (41, 52)))
    for s, t in shapes:
        a, b = np.ones(s), np.ones(t)
        assert np.array_equal(c(a, b), np.sum(a, axis=0) + np.sum(b, axis=0))
    assert [v.arguments for v in c.versions] == [("f64[n,m]", "f64[n,m]"), ("f64[n,m]", "f64[k,m]")]


def test_axes_by_name() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum(x @ w)

    for dynamic in ({"x": 0}, {0: (0,)}, {"x": -2}, {0: [0, -2]}):
        c = irad.compile(f, dynamic=dynamic)
        assert c(np.ones((40, 50)), np.ones(50)) == 2000 and c(np.ones((41, 50)), np.ones(50)) == 2050
        assert [v.arguments for v in c.versions] == [("f64[n,50]", "f64[50]")]
    c = irad.compile(f, dynamic="w")
    assert c(np.ones((40, 50)), np.ones(50)) == 2000
    assert [v.arguments for v in c.versions] == [("f64[40,50]", "f64[n]")]
    assert irad.compile(f, dynamic=False)(np.ones((40, 50)), np.ones(50)) == 2000


def test_wrong_names_and_axes() -> None:
    with pytest.raises(irad.IradValueError, match="dynamic: <lambda> has no argument 'y'; it takes x"):
        irad.compile(lambda x: x, dynamic="y")
    with pytest.raises(irad.IradTypeError, match="dynamic: an axis of 'x', or several, not 1.5"):
        irad.compile(lambda x: x, dynamic={"x": 1.5})
    with pytest.raises(irad.IradValueError, match="static, donate and dynamic are for Python functions"):
        irad.compile({}, dynamic=True)


def test_what_shapes_the_program_is_constant() -> None:
    """Where Python needs an extent, code is made for each."""
    c = irad.compile(lambda x, y: np.fft.fft(x)[0].real * y[0], dynamic=True)
    for n in (40, 44):
        assert c(np.ones(n), np.ones(50)) == n
    assert [v.arguments for v in c.versions] == [("f64[40]", "f64[n]"), ("f64[44]", "f64[n]")]


def diagonals(a: Any, x: Any) -> Any:
    b = a * 1.0
    np.fill_diagonal(b, 2.0)
    return np.trace(a, 1) + np.sum(np.diagonal(a) ** 2) + np.sum(np.diag(x, -2)[2:, :-2] @ x) + np.sum(b * np.diag(a, 3)[0])


def parts(a: Any, x: Any) -> Any:
    pairs, (p, q, r) = np.append(x, x).reshape(-1, 2), np.array_split(x, 3)
    top, bottom = np.vsplit(np.append(a, a, axis=0), 2)
    return np.sum(pairs[:, 0] * pairs[:, 1] ** 2) + np.sum(p) * np.sum(q) + np.sum(r**2) + np.sum(top * bottom)


def reshapes(b: Any, x: Any) -> Any:
    flat = b.reshape(len(b), -1)
    blocks = flat.reshape(-1, 2, 3, 2).max(axis=2) + np.tanh(flat).reshape(b.shape[0], 6, 2)[:, :2]
    return np.sum(blocks**2) + np.sum(np.kron(x, np.array([1.0, 2.0])) ** 3) + np.sum(np.append(x, x).reshape(2, -1)[0] * x)


def comprehensions(a: Any, x: Any) -> Any:
    rows = np.stack([row / (1.0 + row @ row) for row in a])
    return (
        np.sum(np.array([np.sin(t) * t for t in x]) @ rows)
        + np.max([abs(t) for t in x])
        + np.mean([x[i] * x[i - 1] for i in range(len(x))])
    )


@pytest.mark.parametrize("f", [diagonals, parts, reshapes, comprehensions])
def test_one_version_for_all_sizes(f: Any) -> None:
    c, r = (
        irad.compile(f, argnums=(0, 1), dynamic={"x": 0, "b" if f is reshapes else "a": 0 if f is reshapes else (0, 1)}),
        np.random.default_rng(2),
    )
    for n in (40, 33, 34, 65, 33):
        args = r.standard_normal((n, 3, 4) if f is reshapes else (n, n)), r.standard_normal(n)
        value, slopes = c.value_and_grad(*args)
        assert np.isclose(value, f(*args), rtol=1e-11)
        for k, slope in enumerate(slopes):
            along = r.standard_normal(slope.shape)
            assert np.isclose(np.sum(slope * along), _by_differences(f, args, k, along), rtol=1e-4, atol=1e-5)
    assert len(c.versions) == 1


def test_an_extent_that_must_be_known_is_the_only_one() -> None:
    f = lambda a: np.sum(a.reshape(len(a), 4, 2, 4, 2).max(axis=(2, 4)) ** 2)
    c = irad.compile(f, dynamic=True)
    for n in (40, 50):
        a = np.random.default_rng(n).standard_normal((n, 8, 8))
        assert np.isclose(c(a), f(a), rtol=1e-12)
    assert [v.arguments for v in c.versions] == [("f64[n,8,8]",)]


def test_small_extents_are_known_in_the_code() -> None:
    """Blocks and axes of space are written out in code for all sizes; each such extent has code of its own."""

    def moved(x: Any, turn: Any) -> Any:
        y = x.copy()
        for k in range(1, len(x)):
            y[k] += turn @ y[k - 1]
        return np.sum(y * y)

    c = irad.compile(moved, argnums=(0, 1), dynamic=True)
    for n in (40, 33, 7):
        for d in (2, 3, 4, 5, 6):
            args = np.linspace(-1, 1, n * d).reshape(n, d), np.linspace(0, 0.3, d * d).reshape(d, d)
            value, grads = c.value_and_grad(*args)
            assert np.isclose(value, moved(*args), rtol=1e-12)
            for k, g in enumerate(grads):
                along = np.random.default_rng(d).standard_normal(g.shape)
                assert np.isclose(np.sum(g * along), _by_differences(moved, args, k, along), rtol=1e-5)
    many = [v.arguments[0] for v in c.versions if v.extents["n"][0] == 32]
    assert sorted(many) == ["f64[n,2]", "f64[n,3]", "f64[n,4]", "f64[n,m]"]
    assert len(c.versions) == 8


def test_recursion_by_extents_has_them_as_constants() -> None:
    def total(x: Any) -> Any:
        return x[0] if len(x) == 1 else total(x[: len(x) // 2]) - 2.0 * total(x[len(x) // 2 :])

    c = irad.compile(total, dynamic=True)
    for n in (8, 21):
        x = np.cos(np.arange(float(n)))
        assert np.isclose(c(x), total(x), rtol=1e-14)
    assert [v.extents for v in c.versions] == [{}, {}]


def test_libraries_that_want_constant_sizes_get_them() -> None:
    c = irad.compile(solves, argnums=(0, 1), dynamic=True)
    s = irad.compile(solves, argnums=(0, 1), dynamic=False)
    for n in (4, 33):
        a = _matrix(n, np.random.default_rng(n))
        _alike(c.value_and_grad(*a), s.value_and_grad(*a))


def test_branches_on_extents_are_taken_in_each_call() -> None:
    c = irad.compile(lambda x: x.sum() if len(x) % 2 == 0 else (x**2).sum(), dynamic=True)
    for n in (40, 41, 42, 43):
        x = np.full(n, 2.0)
        assert c(x) == (4.0 if n % 2 else 2.0) * n
    assert len(c.versions) == 1


def test_arrays_that_are_changed_and_layouts() -> None:
    def f(x: Any) -> Any:
        x[1:] += x[:-1]
        return x.sum()

    c = irad.compile(f, dynamic=True)
    for n in (40, 51, 33):
        for make in (lambda n: np.arange(float(n)), lambda n: np.arange(2.0 * n)[::2]):
            x, y = make(n), make(n)
            assert c(x) == f(y) and np.array_equal(x, y)


def test_structures_dtypes_and_transforms() -> None:
    def f(p: Any) -> Any:
        return np.sum(p["a"] * p["b"][0]) + np.sum(np.abs(p["z"]) ** 2)

    g = irad.grad(irad.compile(f, dynamic=True))
    v = irad.vmap(irad.compile(lambda x: np.sum(x * x), dynamic=True))
    for n in (40, 50):
        p = {"a": np.arange(n) / 7, "b": [np.ones(n, np.float32)], "z": np.ones((n, 33)) * (1 + 2j)}
        _alike(tuple(g(p)[k] for k in "az"), (np.ones(n), 2 * p["z"].conj()))
        assert np.array_equal(v(np.full((n, 34), 2.0)), np.full(n, 136.0))


def test_from_the_third_shape_on() -> None:
    c = irad.compile(lambda x, w: np.sum(x @ w), argnums=1)
    for n in (40, 50, 60, 70, 1000, 40, 50):
        x, w = np.ones((n, 5)), np.full(5, 2.0)
        assert c(x, w) == 10 * n and np.array_equal(c.grad(x, w), np.full(5, n))
    shapes = [("f64[40,5]", "f64[5]"), ("f64[50,5]", "f64[5]"), ("f64[n,5]", "f64[5]")]
    assert [v.arguments for v in c.versions] == 2 * shapes
    for n in (7, 8, 9, 1, 0):
        assert c(np.ones((n, 5)), np.ones(5)) == 5 * n
    g = irad.grad(lambda x: np.sum(np.fft.rfft(x).real))  # needs its length: each by itself, as before
    for n in (8, 10, 12, 14):
        assert g(np.ones(n)).shape == (n,)


def test_an_axis_without_elements_beside_one_that_varies() -> None:
    c = irad.compile(lambda x: np.sort(x, axis=1))
    for n in (2, 3, 40, 50, 60):
        assert c(np.ones((n, 0))).shape == (n, 0)


def test_a_shape_that_comes_often_has_code_of_its_own() -> None:
    c = irad.compile(lambda x: np.sum(x * x))
    kinds = lambda: [v.arguments[0] for v in c.versions]
    for n in (40, 50, 60):
        assert c(np.ones(n)) == n
    for _ in range(OFTEN - 1):
        assert c(np.ones(60)) == 60 and kinds() == ["f64[40]", "f64[50]", "f64[n]"]
    for n in (60, 60, 40, 70):
        assert c(np.ones(n)) == n
    assert kinds() == ["f64[40]", "f64[50]", "f64[n]", "f64[60]"]
    for k in range(10 * OFTEN):  # so many shapes: none of them is an exception
        n = 100 + k % runtime.SIZES
        assert c(np.ones(n)) == n
    assert len(kinds()) == 4
    asked = irad.compile(lambda x: np.sum(x * x), dynamic=True)
    assert [asked(np.ones(60)) for _ in range(2 * OFTEN)] == [60] * 2 * OFTEN and len(asked.versions) == 1


def test_threads_give_the_same_bits() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x), np.exp(x[1:]) - x[:-1], np.cumsum(x)

    one, two = (irad.compile(f, dynamic=True, threads=k) for k in (1, 2))
    for n in (50, 20_000, 70_001):
        x = np.random.default_rng(n).standard_normal(n)
        for a, b, c in zip(one(x), two(x), f(x)):
            assert np.array_equal(a, b) and np.allclose(a, c, rtol=1e-11, atol=1e-10)
    assert len(two.versions) == 1


def test_stages_show_what_is_compiled() -> None:
    c = irad.compile(elements, dynamic=True)
    assert "func @elements(%n: i64, %x: f64[%n]" in c.lower(np.ones(40)).ir
    assert "f64[40]" in irad.compile(elements, dynamic=False).lower(np.ones(40)).ir


def test_pickled() -> None:
    c = pickle.loads(pickle.dumps(irad.compile(elements, dynamic={"x": 0})))
    assert c.options.dynamic == (("x", (0,)),)
    assert np.isclose(c(np.ones(40)), elements(np.ones(40)))


def test_results_with_one_extent_of_the_callers_and_one_that_is_computed() -> None:
    f = lambda x: x[:, :7] * np.tanh(x[:, 7:14])
    c = irad.compile(f, dynamic=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for shape in ((8, 15), (30, 14), (5, 40)):
            x = np.random.default_rng(0).normal(size=shape)
            np.testing.assert_allclose(c(x), f(x), rtol=1e-14)
    assert {v.arguments for v in c.versions} == {("f64[n,m]",)}


@pytest.mark.parametrize("order", ["C", "F"])
def test_stores_through_a_flat_view_are_seen_for_all_sizes(order: str) -> None:
    """ravel of an array in C order is a view of it, of others a copy, whichever sizes the code was made at."""

    def raised(m: Any) -> Any:
        v = m.ravel()
        v[-1] += 1.0
        return v

    c = irad.compile(raised, dynamic=True)
    for shape in ((4, 6), (5, 6), (6, 6), (7, 9), (4, 7)):
        m = np.asarray(np.random.default_rng(0).random(shape), order=order)  # type: ignore[call-overload]
        want, got = m.copy(order="A"), m.copy(order="A")
        with warnings.catch_warnings():
            if order == "F":  # compiled for each shape
                warnings.simplefilter("ignore", UserWarning)
            np.testing.assert_array_equal(c(got), raised(want))
        np.testing.assert_array_equal(got, want)
