"""Derivatives of the front end's compositions: reverse = forward = differences, to second order; and their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irad.core.interp import interpret
from irad.core.ir import Program, Value, build
from irad.core.types import Type
from irad.frontend.numpy import table
from irad.frontend.values.arr import Arr
from irad.passes.derivatives.autodiff import grad, vjp
from tests.support.agree import agree
from tests.support.derivatives import check
from tests.support.numpy_proxy import NP, Namespace, Traced, unwrap

RNG = np.random.default_rng(11)
A = RNG.normal(size=(3, 4))
P = RNG.uniform(0.2, 0.8, (3, 4))
V = RNG.normal(size=4)
S = np.sort(RNG.normal(size=4))
SQ = RNG.normal(size=(4, 4))
C = RNG.normal(size=(2, 3, 4))
TRAPEZOID = "np.trapezoid" if hasattr(np, "trapezoid") else "np.trapz"  # NumPy 1's name


def program(expression: str, *args: Any, module: Any = NP) -> Program:
    """The graph of an expression over x, y, z."""
    names = ", ".join("xyz"[: len(args)])
    fn = eval(f"lambda np, {names}: {expression}")  # noqa: S307
    body = lambda *vs: unwrap(fn(module, *(Traced(Arr(v)) for v in vs))).value
    return {"f": build([Type("f64", np.shape(a)) for a in args], body, "f")}


@pytest.mark.parametrize(
    "expression,args",
    [
        ("np.clip(x, -0.5, 0.7)", (A,)),
        ("np.where(x > 0, x * x, np.exp(x))", (A,)),
        ("np.sinc(x)", (A,)),
        ("np.sinc(x)", (A * 1e-2,)),
        ("np.i0(x)", (3 * A,)),
        ("np.i0(x)", (12 + A,)),
        ("np.mean(x, axis=1)", (A,)),
        ("np.var(x, axis=0)", (A,)),
        ("np.std(x, ddof=1)", (A,)),
        ("np.average(x, axis=1, weights=y)", (A, P)),
        ("np.linalg.norm(x)", (A,)),
        ("np.linalg.norm(x, axis=1)", (A,)),
        ("np.linalg.norm(x, 3)", (V,)),
        ("np.linalg.norm(x, 1)", (A,)),
        ("np.median(x, axis=1)", (A,)),
        ("np.quantile(x, 0.3)", (A,)),
        ("np.quantile(x, y, axis=1)", (A, np.float64(0.37))),
        ("np.nanmean(np.where(x > 1, np.nan, x))", (A,)),
        ("np.ptp(x, axis=0)", (A,)),
        ("np.prod(x, axis=1)", (A,)),
        ("np.cumprod(x, axis=1)", (A,)),
        ("np.diff(x, n=2)", (A,)),
        (TRAPEZOID + "(y, x)", (S, V)),
        ("np.sort(x, axis=0)", (A,)),
        ("np.sort(x)[::2] * y", (V, V[:2])),
        ("np.logaddexp.reduce(x, axis=1)", (A,)),
        ("np.maximum.accumulate(x, axis=1)", (A,)),
        ("np.concatenate([x, y], axis=0)", (A, A * 2)),
        ("np.stack([x, y], axis=1) ** 2", (V, S)),
        ("np.array([[x[0], 1.0], [x[1] * x[2], x[3]]])", (V,)),
        ("np.tile(x, (2, 3)) * y", (V, np.ones((2, 12)))),
        ("np.repeat(x, 3, axis=1) ** 2", (A,)),
        ("np.roll(x, 1) * x", (V,)),
        ("np.flip(x, 1) * y", (A, P)),
        ("np.pad(x, 2, mode='reflect') ** 2", (A,)),
        ("np.pad(x, (1, 2), constant_values=3.0) ** 2", (A,)),
        ("np.pad(x, 1, mode='linear_ramp') ** 2", (V,)),
        ("np.diag(x) @ y", (V, SQ)),
        ("np.trace(x @ x)", (SQ,)),
        ("np.tril(x) @ y", (SQ, V)),
        ("np.linspace(x, y, 5) ** 2", (np.float64(0.3), np.float64(1.7))),
        ("np.full((2, 3), x) * 2", (np.float64(0.3),)),
        ("x @ y", (A, SQ)),
        ("x @ y", (C, SQ)),
        ("x @ y", (V, C.transpose(0, 2, 1).copy())),
        ("np.matmul(x, y)", (C, C[:1].transpose(0, 2, 1).copy())),
        ("np.outer(x, y)", (V, S)),
        ("np.kron(x, y)", (V, P)),
        ("np.cross(x, y)", (A[:, :3], P[:, :3])),
        ("np.linalg.matrix_power(x, 3)", (SQ,)),
        ("np.einsum('ij,jk,ki->', x, y, x)", (SQ, SQ.T.copy())),
        ("np.einsum('bij,i,j->b', x, y, z)", (C, V[:3], V)),
        ("np.einsum('ii->i', x) ** 2", (SQ,)),
        ("np.einsum('...i,...i', x, y)", (C, A)),
        ("np.take(x, [0, 0, 2], axis=1) ** 2", (A,)),
        ("np.take_along_axis(x, np.argsort(x, axis=1), axis=1) ** 2", (A,)),
        ("np.interp(x, y, z)", (np.array([-0.2, 0.4, 0.9]), S, V)),
        ("np.convolve(x, y)", (V, A[0])),
        ("np.convolve(x, y, 'same')", (RNG.normal(size=24), RNG.normal(size=20))),
        ("np.correlate(x, y, 'full')", (V, A[0])),
        ("np.gradient(x, axis=1) ** 2", (A,)),
        ("np.gradient(x, y)", (V, S)),
        ("np.polyval(x, y)", (V, P)),
        ("np.cov(x)", (A,)),
        ("np.corrcoef(x)[0]", (A,)),
        ("np.histogram(x, [-3.0, 0.0, 3.0], weights=y)[0] ** 2", (A, P)),
        ("np.lib.stride_tricks.sliding_window_view(x, 2) ** 2", (V,)),
        ("x[1:, ::-1] * x[:-1]", (A,)),
        ("x[[0, 2, 2], 1:] ** 2", (A,)),
        ("np.sum(x[x > 0] ** 2)", (A,)),
        ("x % 0.7 + x // 0.7", (A,)),
        ("np.hypot(x, y) + np.arctan2(x, y)", (A, P)),
    ],
)
def test_derivative(expression: str, args: Any) -> None:
    check(program(expression, *args), args, rtol=3e-6)


@pytest.mark.parametrize(
    "expression,args",
    [
        ("np.logsumexp(x, axis=1)", (A,)),
        ("np.logsumexp(x, b=y)", (A, P)),
        ("np.softmax(x, axis=1) ** 2", (A,)),
        ("np.log_softmax(x, axis=0) ** 2", (A,)),
        ("np.logit(x)", (P,)),
        ("np.expit(x) + np.log_expit(x)", (A,)),
        ("np.entr(x)", (P,)),
        ("np.rel_entr(x, y) + np.kl_div(y, x)", (P, P[::-1].copy())),
        ("np.xlogy(x, y) + np.xlog1py(x, y)", (A, P)),
        ("np.ndtr(x)", (A,)),
        ("np.huber(0.5, x) + np.pseudo_huber(0.7, x)", (A,)),
        ("np.boxcox(x, 0.3)", (P,)),
    ],
)
def test_derivative_of_special_functions(expression: str, args: Any) -> None:
    special = pytest.importorskip("scipy.special")
    check(program(expression, *args, module=Namespace(special)), args, rtol=3e-6)


def gradient(expression: str, x: Any, module: Any = NP) -> Any:
    """Gradient of the sum of an expression at x."""
    p = program(expression, x, module=module)
    y = interpret(p, x)[0]
    return agree(vjp(p), x, np.ones(np.shape(y)))[1]


@pytest.mark.parametrize(
    "expression,x,want",
    [
        ("np.linalg.norm(x)", np.zeros(3), np.zeros(3)),
        ("np.linalg.norm(x, axis=1)", np.zeros((2, 3)), np.zeros((2, 3))),
        ("np.linalg.norm(x, 3)", np.array([0.0, 2.0]), np.array([0.0, 1.0])),
        ("np.linalg.norm(x, 0.5)", np.array([0.0, 2.0]), np.array([0.0, 1.0])),
        ("np.std(x)", np.ones(3), np.zeros(3)),
        ("np.nanstd(x)", np.ones(3), np.zeros(3)),
        ("np.sinc(x)", np.zeros(2), np.zeros(2)),
        ("np.prod(x)", np.array([0.0, 2.0, 3.0]), np.array([6.0, 0.0, 0.0])),
        ("np.prod(x)", np.zeros(2), np.zeros(2)),
        ("np.where(x > 0, np.log(x), 0.0)", np.array([0.0, 2.0]), np.array([0.0, 0.5])),
        ("np.max(x)", np.array([1.0, 1.0]), np.array([1.0, 0.0])),
        ("np.clip(x, 0, 1)", np.array([-1.0, 0.5, 2.0]), np.array([0.0, 1.0, 0.0])),
        ("np.clip(x, 0, 1)", np.array([0.0, 1.0]), np.array([0.5, 0.5])),
        ("np.nan_to_num(x)", np.array([np.nan, 2.0, np.inf]), np.array([0.0, 1.0, 0.0])),
        ("np.nansum(x ** 2)", np.array([np.nan, 2.0]), np.array([0.0, 4.0])),
        ("np.sort(x) * np.array([1.0, 2.0, 3.0])", np.array([5.0, 5.0, 1.0]), np.array([2.0, 3.0, 1.0])),
        ("x ** 0.5", np.array([4.0]), np.array([0.25])),
        ("x ** 0", np.zeros(1), np.zeros(1)),
        ("x ** 2", np.zeros(1), np.zeros(1)),
        ("abs(x)", np.zeros(1), np.zeros(1)),
        ("np.maximum(x, 0)", np.zeros(1), np.array([0.5])),
        ("np.interp(x, np.array([0.0, 1.0]), np.array([0.0, 2.0]))", np.array([-1.0, 0.5, 3.0]), np.array([0.0, 2.0, 0.0])),
    ],
)
def test_edges(expression: str, x: Any, want: Any) -> None:
    np.testing.assert_allclose(gradient(expression, x), want, rtol=1e-14)


def test_sinc_is_smooth_at_zero() -> None:
    first = grad(program("np.sinc(x)", np.float64(0.0)))
    second = vjp(first, results=[1])
    x = np.float64(0.0)
    np.testing.assert_allclose(agree(second, x, 1.0)[-1], -(np.pi**2) / 3, rtol=1e-14)


def test_logsumexp_of_infinite_rows() -> None:
    special = pytest.importorskip("scipy.special")
    x = np.array([-np.inf, 0.0, 1.0])
    got = gradient("np.logsumexp(x)", x, Namespace(special))
    np.testing.assert_allclose(got, np.exp(x - np.log(1 + np.e)), rtol=1e-14)


def test_repeated_positions_of_a_store_last_wins() -> None:
    def body(x: Value, v: Value) -> Value:
        return table.setitem(Arr(x), [0, 0], Arr(v))

    p = {"f": build([Type("f64", (2,)), Type("f64", (2,))], body, "f")}
    out = agree(vjp(p), np.ones(2), np.array([5.0, 7.0]), np.array([1.0, 1.0]))
    np.testing.assert_array_equal(out[0], [7.0, 1.0])
    np.testing.assert_array_equal(out[1], [0.0, 1.0])
    np.testing.assert_array_equal(out[2], [0.0, 1.0])
