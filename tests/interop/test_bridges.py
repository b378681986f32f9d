"""Compiled functions inside PyTorch, JAX, PyTensor and CasADi. A library that is not there is skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad

pytestmark = pytest.mark.plain
X, W = np.array([0.3, -0.7, 1.1]), np.arange(6.0).reshape(2, 3) / 3 - 0.5


def model(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(w @ x) ** 2) + np.sum(np.sin(x) * x**2)


def outputs(w: Any, x: Any) -> Any:
    return w @ np.exp(x), x[0] * x


SLOPES = irad.value_and_grad(model, argnums=(0, 1))


# ---- PyTorch ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def test_torch(torch: Any) -> None:
    f = irad.to_torch(irad.compile(model))
    w, x = torch.tensor(W, requires_grad=True), torch.tensor(X, requires_grad=True)
    y = f(w, x)
    (3 * y).backward()
    value, (by_w, by_x) = SLOPES(W, X)
    assert y.item() == value and y.shape == ()
    np.testing.assert_allclose(w.grad, 3 * by_w, rtol=1e-14)
    np.testing.assert_allclose(x.grad, 3 * by_x, rtol=1e-14)
    assert torch.autograd.gradcheck(f, (w, x)) and torch.autograd.gradgradcheck(f, (w, x))
    assert not f(torch.tensor(W), torch.tensor(X)).requires_grad


def test_torch_trees_and_types(torch: Any) -> None:
    def f(params: Any, k: Any) -> Any:
        return {"sum": np.sum(params["a"][k] * params["b"]), "k": k + 1}, params["b"]

    params = {"a": torch.ones((2, 3), dtype=torch.float32, requires_grad=True), "b": torch.arange(3, dtype=torch.float32)}
    k = torch.tensor([0, 1, 1])
    named, b = irad.to_torch(f)(params, k)
    named["sum"].backward()
    assert named["sum"].dtype == torch.float32 and named["k"].tolist() == [1, 2, 2] and not named["k"].requires_grad
    assert params["a"].grad.tolist() == [[0.0, 1.0, 2.0], [0.0, 2.0, 4.0]] and b.tolist() == [0.0, 1.0, 2.0]
    assert irad.to_torch(lambda x, n: x * n)(torch.ones(2), 3.0).tolist() == [3.0, 3.0]
    turned = torch.arange(6.0).reshape(2, 3).T
    assert irad.to_torch(lambda x: x[0] * 2)(turned).tolist() == [0.0, 6.0]


def test_torch_trains(torch: Any) -> None:
    """As a layer between others."""
    inner = torch.nn.Linear(3, 3, dtype=torch.float64)
    f = irad.to_torch(lambda h: np.cumsum(h * h))
    loss = f(inner(torch.tensor(X))).sum()
    loss.backward()
    h = inner(torch.tensor(X))
    torch.cumsum(h * h, 0).sum().backward()  # the same gradients once more
    again = [p.grad.clone() for p in inner.parameters()]
    inner.zero_grad()
    f(inner(torch.tensor(X))).sum().backward()
    for p, both in zip(inner.parameters(), again):
        np.testing.assert_allclose(2 * p.grad.numpy(), both.numpy(), rtol=1e-13)


# ---- JAX -------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def jax() -> Any:
    found = pytest.importorskip("jax")
    before = found.config.jax_enable_x64
    found.config.update("jax_enable_x64", True)
    yield found
    found.config.update("jax_enable_x64", before)


def test_jax(jax: Any) -> None:
    f = irad.to_jax(model)
    value, (by_w, by_x) = SLOPES(W, X)
    got, slopes = jax.jit(jax.value_and_grad(lambda w, x: 3 * f(w, x), argnums=(0, 1)))(W, X)
    np.testing.assert_allclose(got, 3 * value, rtol=1e-14)
    np.testing.assert_allclose(slopes[0], 3 * by_w, rtol=1e-13)
    np.testing.assert_allclose(slopes[1], 3 * by_x, rtol=1e-13)
    second = jax.jacrev(jax.grad(f, argnums=1), argnums=1)(W, X)
    np.testing.assert_allclose(second, irad.hessian(model, argnums=1)(W, X), rtol=1e-12)
    batch = np.stack([X, 2 * X])
    np.testing.assert_allclose(jax.vmap(lambda x: f(W, x))(batch), [model(W, x) for x in batch], rtol=1e-13)


def test_jax_trees_and_types(jax: Any) -> None:
    f = irad.to_jax(lambda p, k: (p["a"][k] * p["b"], k + 1))
    p, k = {"a": np.ones(3, np.float32), "b": np.arange(2, dtype=np.float32)}, np.array([2, 2])
    (y, n), pull = jax.vjp(f, p, k)
    assert y.dtype == np.float32 and n.tolist() == [3, 3]
    ct, none = pull((y + 1, np.zeros(2, jax.dtypes.float0)))
    assert ct["a"].tolist() == [0.0, 0.0, 2.0] and ct["b"].tolist() == [1.0, 2.0] and none.dtype == jax.dtypes.float0
    with pytest.raises(irad.IradTypeError, match="known before"):
        irad.to_jax(lambda x: x[x > 0])(X)


# ---- PyTensor -----------------------------------------------------------------------------------------------------------------


def test_pytensor() -> None:
    pytensor = pytest.importorskip("pytensor")
    pt = pytensor.tensor
    f = irad.to_pytensor(model, W, X)
    w, x = pt.dmatrix("w"), pt.dvector("x")
    y = f(w, x)
    with pytensor.config.change_flags(mode="FAST_COMPILE", cxx=""):
        found = pytensor.function([w, x], [3 * y, *pytensor.grad(3 * y, [w, x])])(W, X)
        value, (by_w, by_x) = SLOPES(W, X)
        for a, b in zip(found, (3 * value, 3 * by_w, 3 * by_x)):
            np.testing.assert_allclose(a, b, rtol=1e-13)
        v = pt.dvector("v")
        turned = pytensor.grad(pt.sum(pytensor.grad(y, x) * v), x)
        np.testing.assert_allclose(
            pytensor.function([w, x, v], turned)(W, X, np.cos(X)), irad.hessian(model, argnums=1)(W, X) @ np.cos(X), rtol=1e-12
        )
        both = irad.to_pytensor(outputs, W, X)(w, x)
        slope = pytensor.grad(pt.sum(both[0]) + pt.sum(both[1]), x)
        want = irad.grad(lambda w, x: sum(np.sum(r) for r in outputs(w, x)), argnums=1)(W, X)
        np.testing.assert_allclose(pytensor.function([w, x], slope)(W, X), want, rtol=1e-13)


# ---- CasADi --------------------------------------------------------------------------------------------------------------------


def test_casadi() -> None:
    casadi = pytest.importorskip("casadi")
    f = irad.to_casadi(model, W, X)
    value, (by_w, by_x) = SLOPES(W, X)
    assert float(f(W, X)) == pytest.approx(value, rel=1e-14)
    w, x = casadi.MX.sym("w", 2, 3), casadi.MX.sym("x", 3)
    slopes = casadi.Function("g", [w, x], [casadi.gradient(f(w, x), w), casadi.gradient(f(w, x), x)])(W, X)
    np.testing.assert_allclose(slopes[0].full(), by_w, rtol=1e-13)
    np.testing.assert_allclose(slopes[1].full()[:, 0], by_x, rtol=1e-13)
    second = casadi.Function("h", [w, x], [casadi.hessian(f(w, x), x)[0]])(W, X)
    np.testing.assert_allclose(second.full(), irad.hessian(model, argnums=1)(W, X), rtol=1e-12)
    pair = irad.to_casadi(lambda w, x: (w @ np.exp(x), w.T * x[0]), W, X)
    j = casadi.Function("j", [w, x], [casadi.jacobian(pair(w, x)[1], w)])(W, X).full()
    columns = irad.jacobian(lambda w: w.T * X[0])(W).transpose(1, 0, 3, 2).reshape(6, 6)
    np.testing.assert_allclose(j, columns, rtol=1e-14)
    with pytest.raises(irad.IradTypeError, match="matrices only"):
        irad.to_casadi(lambda x: np.sum(x), np.ones((2, 2, 2)))


def test_casadi_solves() -> None:
    """IPOPT with exact Hessians of a function of NumPy."""
    casadi = pytest.importorskip("casadi")
    f = irad.to_casadi(lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, np.zeros(2))
    x = casadi.MX.sym("x", 2)
    quiet = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes"}
    found = casadi.nlpsol("s", "ipopt", {"x": x, "f": f(x)}, quiet)(x0=[-1.2, 1.0])["x"].full()[:, 0]
    np.testing.assert_allclose(found, [1.0, 1.0], rtol=1e-7)
