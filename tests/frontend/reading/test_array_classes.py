"""Subclasses of np.ndarray in compiled code: class, attributes and numbers of results, and gradients, as plain Python gives them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.3, 0.5, 0.7])
pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")


class Info(np.ndarray):
    """Carries a number along, and multiplies in its own way."""

    def __new__(cls, x: Any, info: Any = 1.0) -> Any:
        out = np.asarray(x).view(cls)
        out.info = info
        return out

    def __array_finalize__(self, obj: Any) -> None:
        if obj is not None:
            self.info = getattr(obj, "info", 1.0)

    @property
    def first(self) -> Any:
        return self[0]

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Info):
            return Info(np.cross(self, other), self.info * other.info)
        return super().__mul__(other)


class Unit(np.ndarray):
    """Answers ufuncs itself."""

    def __new__(cls, x: Any, unit: str = "m") -> Any:
        out = np.array(x, float).view(cls)
        out.unit = unit
        return out

    def __array_finalize__(self, obj: Any) -> None:
        self.unit = getattr(obj, "unit", "m")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        plain = [i.view(np.ndarray) if isinstance(i, Unit) else i for i in inputs]
        result = super().__array_ufunc__(ufunc, method, *plain, **kwargs)
        return np.asarray(result * 2 if ufunc is np.sin else result).view(Unit)


class Summed(np.ndarray):
    def __array_function__(self, fn: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if fn is np.sum:
            return 3.0 * np.asarray(args[0]).sum()
        return super().__array_function__(fn, types, args, kwargs)


class Odd(np.ndarray):
    __array_priority__ = 5.0

    def __getitem__(self, k: Any) -> Any:
        out = super().__getitem__(k)
        return out * 2 if isinstance(out, np.ndarray) else out + 1

    def norm(self) -> Any:
        return np.sqrt((np.asarray(self) ** 2).sum())

    @classmethod
    def unit(cls, n: int) -> Any:
        return np.eye(n)[0].view(cls)

    def __rmul__(self, other: Any) -> Any:
        return 7.0 * np.asarray(self) * other


class Odder(Odd):
    def __add__(self, other: Any) -> Any:
        return (np.asarray(self) + np.asarray(other) * 2).view(Odder)

    def __radd__(self, other: Any) -> Any:
        return (np.asarray(self) * 3 + other).view(Odder)


def carried(x: Any) -> Any:
    q = Info(x, x[1])
    p = q * q[::-1]
    s = np.sin(p) + q
    return np.sum(s) * s.info + q.first + (type(s) is Info) + isinstance(s[1:], Info) + s.T.info


def in_loops(x: Any) -> Any:
    q = Info(x)
    for _ in range(5):
        q = q + 0.1 * np.cos(q)
        q[0] += q.info * 0.1
        q.info = q.info * 1.1
    n = 0
    while np.linalg.norm(q) > 0.5:
        q = q * 0.9
        n += 1
        if q[0] > 0.3:
            q = -q
    return np.dot(q, q) + q.info + n + q.sum()


def by_protocols(x: Any) -> Any:
    u, f = Unit(x), x.view(Summed)
    v = np.sin(u) + u
    return np.sum(np.asarray(v)) + (type(v) is Unit) + len(v.unit) + np.sum(f) + np.mean(f) + np.sum(np.concatenate([f, f]))


def with_operators(x: Any) -> Any:
    v, w = x.view(Odd), (x * 2).view(Odder)
    s, t, u = v + w, w + v, x + w
    total = v[0] + np.sum(np.asarray(v[1:])) + v.norm() + np.sum(np.asarray(Odd.unit(3))) + np.sum(2.0 * v) + np.sum(x * v)
    return total + sum(np.sum(np.asarray(a)) for a in (s, 2 * np.asarray(t), u, np.add(v, w))) + isinstance(s, Odder)


def in_place(x: Any) -> Any:
    y = Info(x.copy())
    y += 1.0
    np.multiply(y, 2.0, out=y)
    y[1:] = x[:2] * y[0]
    a = np.zeros(3)
    np.add(x, y, out=a)
    c, d = copy.copy(y), copy.deepcopy(y)
    c[0] = 9.0
    return np.asarray(y) @ np.array([1.0, 2.0, 3.0]) + a.sum() + c[0] + d[0] + sum(v for v in y) + (0.3 in y) + len(y)


def made_by_ndarray(x: Any) -> Any:
    z = np.ndarray.__new__(Unit, x.shape, float, x * 2)
    z.shape = (3, 1)
    e = Odd((3,))
    np.asarray(e)[:] = x
    return np.sum(np.asarray(z)) + z.shape[0] + (z.unit == "m") + np.asarray(e) @ x + np.ndarray.sum(z)[()] * 2


PROGRAMS = [carried, in_loops, by_protocols, with_operators, in_place, made_by_ndarray]


def differences(f: Callable[[Any], Any], x: Any, h: float = 1e-4) -> Any:
    """Richardson's central differences."""
    out = np.empty(x.size)
    for k in range(x.size):
        e = np.eye(x.size)[k].reshape(x.shape)
        d = [(float(f(x + s * e)) - float(f(x - s * e))) / (2 * s) for s in (h, h / 2)]
        out[k] = (4 * d[1] - d[0]) / 3
    return out.reshape(x.shape)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(f: Callable[[Any], Any]) -> None:
    want = f(X.copy())
    got, slope = irad.value_and_grad(f)(X.copy())
    assert float(got) == pytest.approx(float(want), rel=1e-13)
    np.testing.assert_allclose(slope, differences(f, X), rtol=1e-8, atol=1e-8)


def test_results_have_class_and_attributes() -> None:
    def f(x: Any) -> Any:
        q = Info(x, x[0] * 3)
        return q, [np.sqrt(q), q.sum(), q[1], q[1:], np.concatenate([q, q]), np.asarray(q), np.asanyarray(q), q > 0.4], {"T": q.T}

    want, got = f(X), irad.compile(f)(X)
    assert type(got[0]) is Info and got[0].info == want[0].info and np.array_equal(got[0], want[0])
    for a, b in zip(want[1], got[1]):
        assert type(a) is type(b) and np.array_equal(a, b) and getattr(a, "info", None) == getattr(b, "info", None)
    assert type(got[2]["T"]) is Info and type(got[0] * got[2]["T"]) is Info


def test_arguments_and_captured_objects() -> None:
    kept = Info(np.ones(3), 4.0)

    def f(q: Any, s: Any) -> Any:
        return np.sum(q * np.array([1.0, 2.0, 3.0])) * q.info + np.sum(kept * s) * kept.info

    c, q = irad.compile(f), Info(X, 2.0)
    assert float(c(q, 3.0)) == pytest.approx(float(f(q, 3.0)))
    g = irad.grad(f)(q, 3.0)
    assert type(g) is Info and np.allclose(g, [2.0, 4.0, 6.0]) and g.info == pytest.approx(np.sum(X * [1, 2, 3]))
    kept[:] = 2.0
    kept.info = 5.0
    assert float(c(q, 3.0)) == pytest.approx(float(f(q, 3.0)))


def test_changes_reach_the_caller() -> None:
    kept = Info(np.ones(3), 1)

    def f(q: Any, x: Any) -> Any:
        kept[0] = x
        kept.info = kept.info + 1
        q += 1.0
        q.info, q.seen = 5, True
        return np.sum(kept) * kept.info + q.sum()

    c, q = irad.compile(f), Info(np.ones(3))
    assert float(c(q, 2.0)) == 4.0 * 2 + 6.0 and q.info == 5 and q.seen and q.tolist() == [2.0, 2.0, 2.0]
    assert float(c(q, 3.0)) == 5.0 * 3 + 9.0 and kept.info == 3 and kept[0] == 3.0


def test_a_method_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    c = irad.compile(lambda q: q.norm())
    q = X.view(Odd)
    assert c(q) == pytest.approx(np.linalg.norm(X))
    monkeypatch.setattr(Odd, "norm", lambda self: 5.0 * np.asarray(self).sum())
    assert c(q) == pytest.approx(7.5)


def test_all_sizes_and_transforms() -> None:
    c = irad.compile(by_protocols)
    for n in range(2, 7):
        x = np.linspace(0.1, 0.9, n)
        assert float(c(x)) == pytest.approx(float(by_protocols(x)))
    assert np.array_equal(irad.vmap(lambda x: np.sum(x.view(Odd)))(np.ones((4, 3))), np.full(4, 3.0))
    assert np.allclose(irad.jacobian(lambda x: np.asarray(Info(x) * 2.0))(X), 2 * np.eye(3))


class Slotted(np.ndarray):
    __slots__ = ("a",)


class Wrapping(np.ndarray):
    def __array_wrap__(self, *args: Any, **kwargs: Any) -> Any:
        return 1.0


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: x.view(Slotted), "Slotted, a subclass of np.ndarray, has __slots__: leave them out"),
        (lambda x: np.sin(x.view(Wrapping)), "__array_wrap__ of its own in sin; give its class __array_finalize__"),
        (lambda x: repr(x.view(Odd)), r"__repr__ of an Odd, a subclass of np.ndarray; use its array: np.asarray\(x\)"),
        (lambda x: x.view(np.ma.MaskedArray), r"a view as MaskedArray; np.asarray\(x\) are the numbers"),
        (lambda x: np.ndarray.__new__(Odd, (3,), np.float32, x), r"write np.asarray\(x, float32\)"),
    ],
)
def test_what_is_refused(f: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(irad.UnsupportedError, match=words):
        irad.compile(f)(X)


# ---- np.matrix --------------------------------------------------------------------------------------------------------

Y = np.array([1.3, 0.5, 0.7, 2.1])


def products(x: Any) -> Any:
    a, b = np.matrix(x.reshape(2, 2)), np.matrix([[1.0], [2.0]])
    y = a * b + a.T * b
    c = np.bmat([[a, a**2], [a**2, a]])
    s, t, u, v = c.sum(axis=1), c.sum(0), c[1], c[:, 2]
    out = y[0, 0] + 2 * y[1, 0] + (a * a.I)[0, 1] + a.A1.sum() + (t * s)[0, 0] + (u * v).item() + np.trace(a)
    return out + (np.sum(c, axis=1).T * s)[0, 0] + a.mean() + a.max(1)[0, 0] + np.linalg.norm(c)


def kalman(x: Any) -> Any:
    p, f, h = np.matrix(np.eye(2)), np.matrix([[1.0, x[0]], [0.0, 1.0]]), np.matrix("1 0")
    r, s = np.matrix([[x[1]]]), np.matrix([[x[2]], [x[3]]])
    for k in range(6):
        s, p = f * s, f * p * f.T + 0.01 * np.eye(2)
        gain = p * h.T * np.linalg.inv(h * p * h.T + r)
        s, p = s + gain * (0.5 * k - h * s), (np.eye(2) - gain * h) * p
    return s[0, 0] + 2 * s[1, 0] + np.trace(p)


def stored_into(x: Any) -> Any:
    a = np.asmatrix(x.reshape(2, 2))
    a *= a
    a[0, :] = 2.0
    a[1] += a[0]
    total = np.multiply(a, a).sum() + np.dot(a, x[:2]).sum() + (x[:2] * a).sum() + (2 * a / 3 - a).A.sum()
    for row in a:
        total += (row * row.T)[0, 0]
    return total + np.hstack([a, a]).sum()


@pytest.mark.parametrize("f", [products, kalman, stored_into], ids=lambda f: f.__name__)
def test_matrices(f: Callable[[Any], Any]) -> None:
    want = f(Y.copy())
    got, slope = irad.value_and_grad(f)(Y.copy())
    assert got == pytest.approx(want, rel=1e-12)
    np.testing.assert_allclose(slope, differences(f, Y), rtol=1e-8)


def test_classes_and_shapes_of_matrices() -> None:
    def f(x: Any) -> Any:
        a = np.matrix(x.reshape(2, 2))
        of_linalg = np.linalg.solve(a, np.ones(2)), np.linalg.inv(a), np.linalg.eigvals(a * a.T), np.kron(a, a), np.outer(a, a)
        folds = a.std(0), a.argmax(1), a.sum(), np.sum(a), np.mean(a, 0), a.min(1), a.any(), a.var(), np.diag(a), np.trace(a)
        parts = a[0], a[:, 0], a[a > 1], a[np.array([0, 1]), 1], a[0, 1], a.A, a.A1, a.H, a.getT(), a.real, a.ravel(), np.ravel(a)
        made = a.copy(), np.zeros_like(a), a.astype(int), np.array(a), np.vstack([a, a]), a.reshape(4, 1), a.flatten(), a.tolist()
        return of_linalg, folds, parts, made, (a @ x[:2], x[:2] @ a, a.dot(x[:2]), a * 2, -a, a > 1, np.sqrt(a), a.I)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = f(Y), irad.compile(f)(Y)
    for a, b in zip(sum(want, ()), sum(got, ())):
        assert type(a) is type(b) and np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b)


def test_matrices_as_arguments() -> None:
    a = np.matrix([[1.0, 0.2], [0.3, 1.0]])
    value, slope = irad.value_and_grad(lambda m: (m * m.T)[0, 0])(a)
    assert value == pytest.approx(1.04) and type(slope) is np.matrix and np.allclose(slope, [[2.0, 0.4], [0.0, 0.0]])
    assert np.allclose(slope * slope.T, [[4.16, 0.0], [0.0, 0.0]])


def test_bmat_of_a_text_is_refused() -> None:
    with pytest.raises(
        irad.UnsupportedError, match=r"looks for variables by their names; write np.bmat\(\[\[A, B\], \[C, D\]\]\)"
    ):
        irad.compile(lambda x: np.bmat("x, x"))(np.eye(2))


class Dispatcher:
    """An operator that is an object, as packages for multiple dispatch make them."""

    def __init__(self, f: Any):
        self.f, self.owner = f, None

    def __get__(self, owner: Any, cls: type) -> Any:
        self.owner = owner
        return self

    def __call__(self, other: Any) -> Any:
        return self.f(self.owner, other)


class Product(np.ndarray):
    __mul__ = Dispatcher(lambda a, b: np.asarray(a) @ np.asarray(b))


def test_operator_that_is_an_object_is_refused() -> None:
    with pytest.raises(
        irad.UnsupportedError, match="__mul__ of class Product is an object of class Dispatcher.*define it by def"
    ):
        irad.compile(lambda x: np.sum(np.outer(x, x).view(Product) * x.view(Product)))(np.ones(2))
