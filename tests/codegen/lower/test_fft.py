"""Native transforms: every radix and mixture, any axis, both precisions, in place; against the sums of the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.kernel.show import show
from irad.codegen.lower.fft import kernel, radices
from irad.ops.fft import roots

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 26, 30, 32, 49, 64, 77, 96, 128, 169]
LARGE_PRIME = 17  # NumPy transforms these


def numbers(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def by_definition(z: np.ndarray, axis: int, sign: int) -> np.ndarray:
    """The sums, in extended precision where the machine has it."""
    n = z.shape[axis]
    k = np.arange(n)
    angle = sign * 2 * np.pi * (np.outer(k, k) % n).astype(np.longdouble) / n
    matrix = np.cos(angle) + 1j * np.sin(angle)
    return np.moveaxis(np.tensordot(matrix, np.moveaxis(z, axis, 0).astype(matrix.dtype), 1), 0, axis)


def near(got: Any, want: np.ndarray, ulps: float = 4) -> None:
    assert got.shape == want.shape
    scale = np.max(np.abs(want), initial=1e-300)
    assert np.max(np.abs(got - want), initial=0) <= ulps * np.finfo(got.dtype).eps * scale


@pytest.mark.parametrize("n", [*LENGTHS, LARGE_PRIME])
def test_lengths(n: int) -> None:
    z = numbers((n,), n)
    near(irad.compile(lambda z: np.fft.fft(z))(z), by_definition(z, 0, -1))
    near(irad.compile(lambda z: np.fft.ifft(z))(z), by_definition(z, 0, 1) / n)


@pytest.mark.parametrize("shape", [(3, 4), (1, 7), (5, 1), (4, 6, 5), (33, 3), (3, 33), (16, 40, 9), (2, 30, 131)], ids=str)
def test_axes(shape: tuple[int, ...]) -> None:
    z = numbers(shape)
    want = z
    for k in range(len(shape)):
        near(irad.compile(lambda z: np.fft.fft(z, axis=k))(z), by_definition(z, k, -1))  # noqa: B023
        want = by_definition(want, k, -1)
    near(irad.compile(lambda z: np.fft.fftn(z))(z), want)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 8, 9, 15, 64, 100])
def test_real(n: int) -> None:
    x = numbers((3, n)).real
    half = by_definition(x, 1, -1)[:, : n // 2 + 1]
    near(irad.compile(lambda x: np.fft.rfft(x))(x), half)
    near(irad.compile(lambda z: np.fft.irfft(z, n))(half.astype(complex)), x)


def test_imaginary_parts_at_the_ends_do_not_count() -> None:
    z = np.array([1 + 5j, 2 - 1j, 3 + np.inf * 1j])
    np.testing.assert_allclose(irad.compile(lambda z: np.fft.irfft(z))(z), np.fft.irfft(z), rtol=1e-15)


def test_single_precision() -> None:
    z = numbers((24, 20)).astype(np.complex64)
    got = irad.compile(lambda z: np.fft.fft2(z))(z)
    assert got.dtype == np.complex64
    near(got, by_definition(by_definition(z, 0, -1), 1, -1))


@pytest.mark.parametrize("n", LENGTHS)
def test_radices(n: int) -> None:
    assert np.prod(radices(n)) == n and all(r in (1, 2, 3, 4, 5, 7, 8, 11, 13) for r in radices(n))


def test_a_large_prime_has_none() -> None:
    assert radices(2 * LARGE_PRIME) == []


def test_roots() -> None:
    k = np.arange(48)
    c, s = roots(48)
    np.testing.assert_allclose(c + 1j * s, np.exp(2j * np.pi * k / 48), atol=2e-16)
    assert c[12] == 0 and s[24] == 0 and s[4] == c[8]


def test_memory_is_checked() -> None:
    z = numbers((12, 35, 3))
    checked = irad.compile(lambda z: np.fft.fftn(np.fft.ifft(z, axis=0)), check="memory")
    np.testing.assert_allclose(checked(z), np.fft.fftn(np.fft.ifft(z, axis=0)), atol=1e-12)


def test_a_split_step_method() -> None:
    """Transforms in a loop, with gradient: half of the steps in the spectrum."""

    def step(u: Any, k: Any, v: Any) -> Any:
        z = u * (1 + 0j)
        for _ in range(3):
            z = np.fft.ifft(np.exp(-0.1j * k * k) * np.fft.fft(np.exp(-0.1j * v) * z))
        return np.sum(v * np.abs(z) ** 2)

    rng = np.random.default_rng(1)
    u, v = rng.normal(size=24), rng.normal(size=24)
    k = np.fft.fftfreq(24) * 24
    np.testing.assert_allclose(irad.compile(step)(u, k, v), step(u, k, v), rtol=1e-13)
    irad.check_grads(step, (u, k, v), order=1, rtol=1e-6, atol=1e-6)


PASS = """
def pass2(xr: f64[2*m*xs], xi: f64[2*m*xs], yr: f64[2*m*ys], yi: f64[2*m*ys], wr: f64[m], wi: f64[m], m: i64, k: i64, c: i64, xs: i64, xq: i64, ys: i64, yq: i64):
    for p in seq(0, m):
        for q in seq(0, k):
            for i in vec(0, c, W=8):
                v0: f64 = xr[i+p*xs+q*xq]
                v1: f64 = xi[i+p*xs+q*xq]
                v2: f64 = xr[i+m*xs+p*xs+q*xq]
                v3: f64 = xi[i+m*xs+p*xs+q*xq]
                v4: f64 = contract(v0 + v2)
                v5: f64 = contract(v1 + v3)
                v6: f64 = contract(v0 - v2)
                v7: f64 = contract(v1 - v3)
                yr[i+2*p*ys+q*yq] = v4
                yi[i+2*p*ys+q*yq] = v5
                v10: f64 = wr[p]
                v11: f64 = wi[p]
                v12: f64 = contract(v6 * v10)
                v13: f64 = contract(v7 * v11)
                v14: f64 = contract(v6 * v11)
                v15: f64 = contract(v7 * v10)
                v16: f64 = contract(v12 - v13)
                v17: f64 = contract(v14 + v15)
                yr[i+2*p*ys+q*yq+ys] = v16
                yi[i+2*p*ys+q*yq+ys] = v17
"""


def test_the_pass_of_radix_2() -> None:
    """One butterfly: the sum, and the difference times a factor."""
    assert show(kernel("pass2", "f64", 2, "q")).strip() == PASS.strip()
