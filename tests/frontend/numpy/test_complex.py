"""Complex numbers: values as NumPy's, derivatives along real and imaginary directions, the complex step."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import irad
from irad.errors import IradTypeError
from irad.validation.check_grads import check_grads

rng = np.random.default_rng(5)
Z = np.round(rng.normal(size=6), 3) + 1j * np.round(rng.normal(size=6), 3)
W = np.round(rng.normal(size=6), 3) + 1j * np.round(rng.normal(size=6), 3)
A, B = Z.reshape(2, 3), W.reshape(3, 2)
X = np.array([0.5, -1.25, 2.0, 3.5, -0.75, 1.0])
MASK = np.array([True, False, True, True, False, False])


OLD = np.__version__.startswith("1.")


def close(got: Any, want: Any, tol: float = 1e-13) -> None:
    """Same structure, dtype and shape, and numbers within tol of the largest."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want):
            close(g, w, tol)
        return
    assert type(got) is type(want) and np.asarray(got).dtype == np.asarray(want).dtype and np.shape(got) == np.shape(want), (
        got,
        want,
    )
    if np.size(want) and not np.all(np.isfinite(want)):
        np.testing.assert_array_equal(got, want)
    elif np.size(want):
        single = np.asarray(want).dtype in (np.float32, np.complex64)
        if _largest(want) > 1e300:  # sizes of differences overflow
            np.testing.assert_array_equal(got, want)
            return
        np.testing.assert_allclose(got, want, rtol=0, atol=(1e-6 if single else tol) * max(1.0, _largest(want)))


def _largest(x: Any) -> float:
    return float(max(np.max(np.abs(np.real(x))), np.max(np.abs(np.imag(x)))))


# ---- values -----------------------------------------------------------------------------------------------------


def clear_row(z: np.ndarray, w: np.ndarray, x: np.ndarray) -> Any:
    y = np.zeros((2, 6), complex)
    y[0] = z
    y[1, ::2] = w[:3]
    y[0, x > 0] *= 2j
    return y


def parts_written(z: np.ndarray, w: np.ndarray, x: np.ndarray) -> Any:
    y = z.copy()
    y.real = x
    y.imag[1:3] += 1.0
    np.imag(y)[0] = -4.0
    return y


def filled(z: np.ndarray, w: np.ndarray, x: np.ndarray) -> Any:
    return np.full(3, 1 + 2j), np.ones(2, np.complex64), np.array([z[0], 1.0, w[1] * 1j]), np.linspace(1j, 2.0, 5)


def branches(z: np.ndarray, w: np.ndarray, x: np.ndarray) -> Any:
    total = 0.0
    for k in range(len(z)):
        if z[k].imag > 0:
            total = total + z[k] * 1j
        elif z[k]:
            total -= w[k]
    return total


def square(z: np.ndarray) -> Any:
    """A regular matrix."""
    return np.outer(z[:3], z[3:]) + 2 * np.eye(3)


def mandelbrot(z: np.ndarray, w: np.ndarray, x: np.ndarray) -> Any:
    c, n = z[0] * 0.5, 0
    v = c
    while abs(v) < 50.0 and n < 30:
        v = v * v + c
        n += 1
    return v, n


def updates(z: np.ndarray, w: np.ndarray, x: np.ndarray) -> Any:
    y = np.zeros(4, complex)
    at = np.array([0, 2, 2, 3, 0, 1])
    np.add.at(y, at, z)
    y[at[:3]] = w[:3]
    return y, z[at], z[::-1][1:], np.sum(z[x > 0])


VALUES: dict[str, Callable[..., Any]] = {
    "add": lambda z, w, x: z + w, "sub": lambda z, w, x: z - 2 * w, "mul": lambda z, w, x: z * w, "div": lambda z, w, x: z / w,
    "neg": lambda z, w, x: -z, "real_mixed": lambda z, w, x: z * x + 1 - x / z, "literals": lambda z, w, x: (2 - 3j) * z + 1j,
    "weak_single": lambda z, w, x: z.astype(np.complex64) * 2j + x.astype(np.float32) * 1j, "f32_literal": lambda z, w, x: x.astype("f") + 1j,
    "int_literal": lambda z, w, x: np.arange(3) * 1j, "power_2": lambda z, w, x: z**2, "power_7": lambda z, w, x: z**7,
    "power_neg": lambda z, w, x: z**-3, "power": lambda z, w, x: z**w, "power_half": lambda z, w, x: z**0.5,
    "power_real": lambda z, w, x: z**x, "power_whole": lambda z, w, x: z ** np.rint(x), "power_of_real": lambda z, w, x: np.abs(x) ** z,
    "conj": lambda z, w, x: np.conj(z) + z.conj() + x.conjugate(), "parts": lambda z, w, x: (z.real, z.imag, np.real(z), np.imag(x), x.real),
    "abs": lambda z, w, x: (abs(z), np.abs(z), np.absolute(z) ** 2), "angle": lambda z, w, x: (np.angle(z), np.angle(z, deg=True), np.angle(x)),
    "equal": lambda z, w, x: (z == w, z != w, z == z, z == x), "order": lambda z, w, x: (z < w, z >= w),
    "tests": lambda z, w, x: (np.isfinite(z), np.isnan(z), np.iscomplex(z), np.isreal(z), np.iscomplexobj(z)),
    "extremes": lambda z, w, x: (np.maximum(z, w), np.minimum(z, w)), "sign": lambda z, w, x: np.sign(z),
    "where": lambda z, w, x: np.where(x > 0, z, w), "where_mixed": lambda z, w, x: np.where(x > 0, z, 0.0),
    "select": lambda z, w, x: np.select([x > 1, x > 0], [z, w], 2j), "logic": lambda z, w, x: np.logical_and(z, w * 0),
    "sums": lambda z, w, x: (np.sum(z), z.sum(), np.mean(z), np.prod(z), np.sum(z, where=x > 0)), "spread": lambda z, w, x: (np.var(z), np.std(z)),
    "axes": lambda z, w, x: (z.reshape(2, 3).sum(0), z.reshape(2, 3).mean(1), z.reshape(2, 3).prod(1), z.reshape(3, 2).prod()),
    "scans": lambda z, w, x: (np.cumsum(z), np.cumprod(z), np.diff(z)), "nan_sum": lambda z, w, x: np.nansum(np.where(x > 0, z, np.nan)),
    "dot": lambda z, w, x: (z @ w, np.dot(z, x), np.vdot(z, w), np.outer(z, w), np.inner(z, w)),
    "matmul": lambda z, w, x: z.reshape(2, 3) @ w.reshape(3, 2), "einsum": lambda z, w, x: np.einsum("i,j->ij", z, w.conj()),
    "norm": lambda z, w, x: (np.linalg.norm(z), np.linalg.norm(z, 1)), "round": lambda z, w, x: (np.round(z), np.round(z, 2)),
    "shapes": lambda z, w, x: (z.reshape(2, 3).T, np.concatenate([z, w]), np.stack([z, x]), z[None] * w[:, None], np.flip(z)),
    "casts": lambda z, w, x: (x.astype(complex), z.astype(np.complex64), z.astype(float), z.astype(bool), x.astype("c8")),
    "made": filled, "stores": clear_row, "updates": updates, "parts_written": parts_written, "branches": branches, "while": mandelbrot,
    "scalars": lambda z, w, x: (z[0] * w[1], z[2].real, abs(z[3]), z[1].conjugate(), complex(z[0]) * 2, z[0].item()),
    "python": lambda z, w, x: complex(x[0], x[1]) ** 2 / complex(float(x[2])), "python_parts": lambda z, w, x: (complex(z[0]).real, complex(z[1]).conjugate().imag),
    "python_abs": lambda z, w, x: abs(complex(z[0])), "real_if_close": lambda z, w, x: np.real_if_close(x), "kinds": lambda z, w, x: (np.isrealobj(z), np.complex64(x[0]), np.complex128(w[0])),
    "cmath": lambda z, w, x: cmath.exp(z[0]) + cmath.sqrt(x[1]) + cmath.log(z[1]) - cmath.phase(z[2]),
    "solve": lambda z, w, x: (np.linalg.solve(square(z), w[:3]), np.linalg.solve(square(z), np.eye(3)), np.linalg.solve(square(x), z[:3])),
    "inverses": lambda z, w, x: (np.linalg.inv(square(z)), np.linalg.pinv(z.reshape(2, 3)), np.linalg.eigvalsh(square(z)), np.linalg.eigvalsh(square(z), "U")),
    "singular_values": lambda z, w, x: np.linalg.svdvals(z.reshape(2, 3)), "stacked": lambda z, w, x: np.linalg.inv(np.stack([square(z), square(w)])),
    "fft": lambda z, w, x: (np.fft.fft(z), np.fft.ifft(x)), "products": lambda z, w, x: (np.kron(z, w), np.convolve(z, x), np.polyval([1, 2j], z)),
    "polar": lambda z, w, x: cmath.polar(z[0])[1] + cmath.rect(x[0], x[1]), "nan_to_num": lambda z, w, x: np.nan_to_num(z / np.where(x > 0, 0, 1)),
}  # fmt: skip
if np.__version__.startswith("1."):  # which has no svdvals, and gives the sign of the real part
    del VALUES["sign"], VALUES["singular_values"]


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    f = VALUES[name]
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore", category=np.exceptions.ComplexWarning):
        want = f(Z.copy(), W.copy(), X.copy())
    close(irad.compile(f)(Z.copy(), W.copy(), X.copy()), want)


def test_arguments_of_every_kind() -> None:
    f = irad.compile(lambda a, b, c, d: (a * b, c + d, a * 2))
    args = (1 + 2j, np.complex64(3 - 1j), np.array(2j), Z[::2])
    close(f(*args), f.__wrapped__(*args))
    assert type(f(*args)[2]) is complex


def test_captured_numbers_are_live() -> None:
    scale, shift = 2j, np.array([1j, 2.0])

    @irad.compile
    def f(x: np.ndarray) -> np.ndarray:
        return x * scale + shift

    x = np.array([1.0, 2.0])
    close(f(x), f.__wrapped__(x))
    scale, shift[0] = 5 - 1j, 7j
    close(f(x), f.__wrapped__(x))


def test_arguments_are_changed_in_place() -> None:
    def f(z: np.ndarray) -> None:
        z[1:] *= 1j
        z.imag[0] = 9.0

    got, want = Z.copy(), Z.copy()
    irad.compile(f)(got)
    f(want)
    close(got, want)


def test_recursion_on_complex_numbers() -> None:
    def power(z: complex, n: int) -> complex:
        return 1.0 + 0j if n == 0 else z * power(z, n - 1)

    f = irad.compile(power)
    assert f(1 + 1j, 5) == power(1 + 1j, 5)


def store_complex(z: np.ndarray, x: np.ndarray) -> None:
    x[0] = z[0]


ERRORS = {
    "store": (store_complex, IradTypeError), "floor": (lambda z, x: z // 2, TypeError), "float": (lambda z, x: float(z[0]), TypeError),
    "quantile": (lambda z, x: np.quantile(z, 0.5), TypeError), "python_order": (lambda z, x: complex(z[0]) < 1, TypeError),
    "arctan2": (lambda z, x: np.arctan2(z, x), TypeError), "zero_division": (lambda z, x: 1 / complex(x[0] - x[0]), ZeroDivisionError),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    f, error = ERRORS[name]
    with pytest.raises(error):
        irad.compile(f)(Z, X.copy())


# ---- elementary functions on nasty values -------------------------------------------------------------------------

FUNCTIONS = ("exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh "
             "arcsin arccos arctan arcsinh arccosh arctanh").split()  # fmt: skip
PRECISE = {name: getattr(mpmath, {"arc": "a" + name[3:]}.get(name[:3], name), None) for name in FUNCTIONS}
PRECISE |= {"exp2": lambda z: mpmath.power(2, z), "log2": lambda z: mpmath.log(z, 2), "log1p": lambda z: mpmath.log(1 + z)}
EXACT = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 700.0, -750.0, 1e200, -1e200, 1e-30)
# NumPy's own formulas for these are naive outside of the ordinary
NAIVE = {"expm1": (700.0, np.inf), "log1p": (1e-29, 1e199), "exp2": (50.0, np.inf)}


def points() -> np.ndarray:
    r = np.random.default_rng(1)
    size, turn = 10 ** r.uniform(-4, 1.2, 200), r.uniform(-np.pi, np.pi, 200)
    near_one = np.exp(1j * turn[:100]) * (1 + r.normal(size=100) * 1e-6)
    return np.concatenate([size * np.exp(1j * turn), near_one])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name: str) -> None:
    z = points()
    with mpmath.workprec(120):
        want = np.array([complex(PRECISE[name](mpmath.mpc(v))) for v in z])
    got = irad.compile(lambda z: getattr(np, name)(z))(z)
    assert np.max(np.abs(got - want) / np.abs(want)) < 8 * np.finfo(float).eps
    single = irad.compile(lambda z: getattr(np, name)(z))(z.astype(np.complex64))
    assert single.dtype == np.complex64
    well = np.abs(np.abs(z) - 1) > 1e-3  # elsewhere the rounded argument decides
    if name not in ("log1p", "expm1"):
        assert (
            np.max(np.abs(single - getattr(np, name)(z.astype(np.complex64).astype(complex)))[well] / np.abs(want)[well]) < 1e-6
        )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_branch_cuts_zeros_and_infinities_are_numpys(name: str) -> None:
    low, high = NAIVE.get(name, (0.0, np.nan))
    plain = [a for a in EXACT if not (low <= abs(a) <= high) or name not in NAIVE]
    plain = [a for a in plain if name not in NAIVE or abs(a) < 600 and abs(a) not in (1e-30,)]
    z = np.array([complex(a, b) for a in plain for b in plain])
    with np.errstate(all="ignore"):
        want = getattr(np, name)(z)
    got = irad.compile(lambda z: getattr(np, name)(z))(z)
    for v, g, w in zip(z, got, want):
        if name == "arccosh" and OLD and v.real == 0 and np.isnan(v.imag):
            continue  # NumPy 1 loses the imaginary part, pi / 2
        assert _same(g.real, w.real, w) and _same(g.imag, w.imag, w), (v, g, w)


@np.errstate(invalid="ignore")
def _same(x: float, y: float, whole: complex) -> bool:
    if np.isnan(y) or np.isnan(x):
        return bool(np.isnan(x) and np.isnan(y)) or np.isnan(whole.real) != np.isnan(whole.imag) and abs(x) == abs(y)
    if np.isnan(whole):  # C leaves the sign open where the other part is NaN
        return abs(abs(x) - abs(y)) <= 1e-15 or abs(x) == abs(y)
    if x == 0 or y == 0 or np.isinf(y):
        return x == y and np.copysign(1, x) == np.copysign(1, y) or abs(x - y) <= 1e-15 * abs(whole) < np.inf
    return abs(x - y) <= 1e-14 * abs(y) or abs(x - y) <= 1e-15 * abs(whole) < np.inf


# ---- derivatives ----------------------------------------------------------------------------------------------------


def newton(z: np.ndarray) -> Any:
    v = z
    for _ in range(4):
        v = v - (v**3 - 1) / (3 * v * v)
    return np.sum(np.abs(v - 2.0) ** 2)


def until_large(z: np.ndarray) -> Any:
    total = z[0]
    while np.abs(total) < 20.0:
        total = total * total + z[1]
    return total.real * total.imag


def stored(z: np.ndarray) -> Any:
    y = np.zeros((3, 6), complex)
    for k in range(3):
        y[k] = z * (k + 1j)
        y[k, k] = y[k, k + 1] * z[0]
    return np.sum(np.abs(np.cumsum(y, 1)) ** 2)


def by_sign(z: np.ndarray) -> Any:
    out = 0.0
    for k in range(len(z)):
        out += np.sin(z[k]).real if z[k].imag > 0 else abs(z[k] ** 2.5)
    return out


def weighted(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda z: np.sum((f(z) * W).real)


LOSSES: dict[str, Callable[..., Any]] = {
    "modulus": lambda z: np.sum(np.abs(z)), "square": lambda z: np.sum((z * z.conj()).real), "parts": lambda z: np.sum(z.real**3 * z.imag),
    "angle": lambda z: np.sum(np.angle(z) ** 2), "quotient": lambda z: np.abs(np.sum(1j / z + z[0] / (z + 2))),
    "prod": lambda z: np.prod(z).imag, "cumprod": lambda z: np.abs(np.cumprod(z)).sum(), "matmul": lambda z: np.abs(z.reshape(2, 3) @ z.reshape(3, 2)).sum(),
    "real_weights": lambda z: np.abs(z @ (X + 0.5)) ** 2, "power": lambda z: np.sum((z**3 - z**-2 + z**0.3 + z ** (1 + 0.5j)).real),
    "where": lambda z: np.sum(np.where(X > 0, z * z, 1 / z).imag), "gather": lambda z: np.abs(z[np.array([0, 0, 3])] * z[1:4]).sum(),
    "sign": lambda z: np.sum(np.sign(z).real), "single": lambda z: np.sum(np.abs(z.astype(np.complex64).astype(complex)) * 0) + np.abs(z[0]),
    "norm": lambda z: np.linalg.norm(z) + np.std(z), "exp_of_log": lambda z: np.sum(np.exp(np.log(z) * 2).real),
    "solve": lambda z: np.abs(np.linalg.solve(square(z), z[:3])).sum(), "inverse": lambda z: np.sum(np.linalg.inv(square(z)).imag**2),
    "singular_values": lambda z: np.sum(np.linalg.svdvals(z.reshape(2, 3)) ** 1.5), "eigvalsh": lambda z: np.sum(np.linalg.eigvalsh(square(z)) ** 2),
    "pinv": lambda z: np.abs(np.linalg.pinv(z.reshape(2, 3))).sum(), "fft": lambda z: np.abs(np.fft.fft(z)).sum(), "newton": newton, "while": until_large, "stored": stored, "by_sign": by_sign,
    **{name: weighted(getattr(np, name)) for name in FUNCTIONS},
}  # fmt: skip


def differences(f: Callable[..., Any], z: np.ndarray) -> np.ndarray:
    """df/d(Re z) - i df/d(Im z)."""
    out = np.zeros(z.shape, complex)
    for k in range(z.size):
        for unit, weight in ((1.0, 1.0), (1j, -1j)):
            e = np.zeros(z.shape, complex)
            e.flat[k] = unit
            fine, coarse = ((f(z + h * e) - f(z - h * e)) / (2 * h) for h in (1e-4, 2e-4))
            out.flat[k] += weight * (4 * fine - coarse) / 3
    return out


if np.__version__.startswith("1."):
    del LOSSES["sign"], LOSSES["singular_values"]


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_is_that_of_the_parts_and_forward_is_reverse(name: str) -> None:
    f = LOSSES[name]
    value, g = irad.value_and_grad(f)(Z)
    assert g.dtype == complex
    np.testing.assert_allclose(value, f(Z), rtol=1e-12)
    np.testing.assert_allclose(g, differences(f, Z), rtol=2e-7, atol=2e-7 * np.max(np.abs(g)))
    for v in (W, 1j * W, np.eye(6)[2] + 0j):
        out, along = irad.jvp(f, (Z,), (v,))
        np.testing.assert_allclose(along, np.sum(g * v).real, rtol=1e-10, atol=1e-12)


def test_gradient_of_a_real_argument_through_complex_numbers() -> None:
    f = lambda x: np.abs(np.sum(np.exp(1j * x) * (x + 2j))) ** 2
    g = irad.grad(f)(X)
    assert g.dtype == float
    np.testing.assert_allclose(g, differences(f, X).real, rtol=1e-8)


def test_holomorphic_derivatives() -> None:
    f = lambda z: np.sin(z) * z**2 / (z + 3)
    want = np.cos(Z) * Z**2 / (Z + 3) + np.sin(Z) * (2 * Z / (Z + 3) - Z**2 / (Z + 3) ** 2)
    np.testing.assert_allclose(irad.jvp(f, (Z,), (np.ones(6) + 0j,))[1], want, rtol=1e-12)
    np.testing.assert_allclose(irad.vjp(f, Z)[1](np.ones(6) + 0j)[0], want, rtol=1e-12)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(irad.jacobian(f, mode=mode)(Z), np.diag(want), rtol=1e-12, atol=1e-14)


def test_jacobian_between_real_and_complex() -> None:
    to_complex, to_real = lambda x: np.exp(1j * x), lambda z: np.abs(z) ** 2
    np.testing.assert_allclose(irad.jacobian(to_complex)(X), np.diag(1j * np.exp(1j * X)), atol=1e-14)
    np.testing.assert_allclose(irad.jacobian(to_real)(Z), np.diag(2 * Z.conj()), atol=1e-14)
    for f, x, mode in ((to_complex, X, "reverse"), (to_real, Z, "forward")):
        with pytest.raises(IradTypeError, match="real and complex"):
            irad.jacobian(f, mode=mode)(x)


def test_second_derivatives() -> None:
    f = lambda z: np.sum(np.abs(z) ** 4 + (z**3).imag)
    gradient = irad.grad(f)
    step = 1e-6 * W
    want = (gradient(Z + step) - gradient(Z - step)) / 2e-6
    np.testing.assert_allclose(irad.hvp(f)(Z, W), want, rtol=1e-7)
    with pytest.raises(IradTypeError, match="real arguments"):
        irad.hessian(f)(Z)


def test_check_grads_varies_both_parts() -> None:
    check_grads(lambda z, x: (np.sum(np.exp(z) * x), np.abs(z) * x), (Z, X), order=2)
    with pytest.raises(AssertionError, match="reverse mode"):
        check_grads(lambda z: np.sum(z.real**2) + np.sum(irad.stop_gradient(z.imag)), (Z,), modes=("rev",))


def test_a_complex_loss_has_no_gradient() -> None:
    with pytest.raises(IradTypeError, match="holomorphic"):
        irad.grad(lambda z: np.sum(z * z))(Z)


@pytest.mark.parametrize("zero", [0j, -0j, complex(0.0, -0.0)])
def test_slopes_at_zero(zero: complex) -> None:
    assert irad.grad(lambda z: np.sum(np.abs(z)))(np.array([zero, 3 + 4j])).tolist() == [0, 0.6 - 0.8j]
    assert irad.grad(lambda z: np.sum(np.where(z == 0, 0.0, 1 / z).real))(np.array([zero, 2j]))[0] == 0


# ---- the complex step -----------------------------------------------------------------------------------------------------


def solve(x: np.ndarray) -> Any:
    """Gaussian elimination without pivoting, of a diagonally dominant matrix."""
    n = len(x)
    a, b = np.eye(n) * 5 + np.outer(x, x[::-1]), x * 1.0
    for k in range(n):
        for i in range(k + 1, n):
            m = a[i, k] / a[k, k]
            a[i] = a[i] - m * a[k]
            b[i] = b[i] - m * b[k]
    y = np.zeros_like(b)
    for i in range(n - 1, -1, -1):
        y[i] = (b[i] - np.sum(a[i, i + 1 :] * y[i + 1 :])) / a[i, i]
    return np.sum(y * x)


STEPS: dict[str, Callable[..., Any]] = {
    "polynomial": lambda x: np.sum(x**5 - 3 * x**3 + x / 7), "quotient": lambda x: np.sum(x / (1 + x * x)) / np.prod(x),
    "slices": lambda x: np.sum(x[::-1] * x) + np.sum((x[4:0:-2] - x[0:4:2]) ** 2), "dot": lambda x: (x @ x) * np.sqrt(x @ x),
    "exp": lambda x: np.exp(-np.sum(x * x) / 9), "solve": solve, "logs": lambda x: np.sum(np.log(x * x + 1) * np.log1p(x * x)),
    "trig": lambda x: np.sum(np.sin(x) * np.cos(2 * x) + np.tan(x / 4)), "hyperbolic": lambda x: np.sum(np.tanh(x) * np.sinh(x) / np.cosh(x)),
    "inverse": lambda x: np.sum(np.arctan(x) + np.arcsin(x / 4) * np.arccos(x / 4) + np.arcsinh(x) + np.arctanh(x / 4)),
    "roots": lambda x: np.sum(np.sqrt(x * x + 0.1)) + np.sum((x * x) ** 1.5), "powers": lambda x: np.sum(x ** np.array([1.0, 2.0, 3.0, -1.0, 4.0, -2.0])),
    "large": lambda x: np.sum(np.log(1e200 * (x * x + 1)) + 1e-200 * (1e200 * x)), "expm1": lambda x: np.sum(np.expm1(x * 1e-8) * 1e8),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_complex_step(name: str) -> None:
    """f(x + ih).imag / h is the gradient to full precision, of the very same Python function."""
    f = STEPS[name]
    compiled, gradient = irad.compile(f), irad.grad(f)(X)
    step = np.array([compiled(X + 1e-30j * e).imag / 1e-30 for e in np.eye(6)])
    np.testing.assert_allclose(step, gradient, rtol=4e-14, atol=4e-15 * np.max(np.abs(gradient)))


def _beside_numpys_float(v: np.ndarray, c: complex) -> Any:
    z, k = v[0], c
    k *= z
    made = c * z, c / z, c + z, c - z, c**z, c == z, c != z, k, 2j * z, sum([c, z])
    return *made, z * c, z**c, c * np.array(z), c * z.astype("f4"), np.complex128(c) * z, c * np.float64(2), c * v.astype(int)[1]


def test_pythons_complex_takes_numpys_float_for_a_float_where_it_stands_left() -> None:
    v, c = np.array([0.3, 2.0]), 1.5 - 0.5j
    for got, want in zip(irad.compile(_beside_numpys_float)(v, c), _beside_numpys_float(v, c), strict=True):
        assert type(got) is type(want) and np.allclose(got, want)
    with pytest.raises(ZeroDivisionError):
        irad.compile(lambda x, c: c / x[0])(np.zeros(1), c)
