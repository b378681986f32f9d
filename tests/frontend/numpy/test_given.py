"""How arguments are given: `out` by position, others by position or name, and those that a builder has no use for."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance as distance
import scipy.special as special

import irad
from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.numpy import table
from irad.frontend.reading.given import _names, refuse_unused
from irad.frontend.registry import Written

X = np.array([[1.5, -2.0, 0.25], [3.0, 0.5, -1.0], [0.75, 2.0, 4.0]])
N = np.array([[1.5, np.nan], [3.0, 0.5]])


def stored(x: Any, n: Any) -> Any:
    """Each result goes into memory given by position, once also where further arguments follow."""
    o = np.zeros((3, 3))
    v = [np.zeros(3) for _ in range(18)]
    np.add(x, 1.0, o)
    np.hypot(o, 0.5, o)
    whole, rest = np.zeros((3, 3)), np.zeros((3, 3))
    np.modf(x, rest, whole)
    np.divmod(x, 2.0, o, None)
    np.sum(x, 0, None, v[0], False)
    np.mean(x, 1, None, v[1])
    np.std(x, 0, None, v[2], 1)
    np.max(x, 0, v[3], False)
    np.ptp(x, 0, v[4])
    np.cumsum(x[0], 0, None, v[5])
    np.clip(x[1], 0.0, 1.0, v[6])
    np.round(x[2], 1, v[7])
    np.take(x[0], [2, 0, 1], 0, v[8], "raise")
    np.median(x, 0, v[9])
    np.quantile(x, 0.3, 0, v[10])
    np.dot(x, x[0], v[11])
    np.add.reduce(x, 0, None, v[12])
    np.maximum.accumulate(x[0], 0, None, v[13])
    x.sum(0, None, v[14])
    x[0].cumprod(0, None, v[15])
    x.dot(x[1], v[16])
    np.fix(x[0], v[17])
    product, joined, nan_sums = np.zeros((3, 3)), np.zeros(6), np.zeros(2)
    np.matmul(x, x, product)
    np.concatenate((x[0], x[1]), 0, joined)
    np.nansum(n, 0, None, nan_sums)
    most, some = np.zeros(3, int), np.zeros(3, bool)
    np.argmax(x, 0, most)
    np.any(x > 2.0, 0, some)
    trace = np.zeros(())
    x.trace(0, 0, 1, None, trace)
    return o, whole, rest, v, product, joined, nan_sums, most, some, trace


def test_results_are_stored_where_a_position_says() -> None:
    got, want = irad.compile(stored)(X, N), stored(X, N)
    for g, w in zip(got[:3] + tuple(got[3]) + got[4:], want[:3] + tuple(want[3]) + want[4:]):
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=1e-14)


def into_itself(x: Any) -> Any:
    np.sin(x, x)
    np.multiply(x, x, x)
    return np.sum(x)


def test_an_argument_is_stored_into_by_position_and_has_a_slope() -> None:
    x = np.array([0.3, -0.5])
    y = x.copy()
    assert np.isclose(irad.compile(into_itself)(y), np.sum(np.sin(x) ** 2))
    np.testing.assert_allclose(y, np.sin(x) ** 2, rtol=1e-15)
    np.testing.assert_allclose(irad.grad(into_itself)(x.copy()), np.sin(2 * x), rtol=1e-14)
    assert np.isclose(irad.jvp(into_itself, (x.copy(),), (np.ones(2),))[1], np.sum(np.sin(2 * x)))


def test_positions_are_numpys() -> None:
    """What stands at one place stands there in the builder too, or is given to it by name."""
    table.load_all()
    renamed = {
        "object": "a",
        "x1": "a",
        "x2": "b",
        "prototype": "a",
        "start_or_stop": "start",
        "subok": "dtype",
        "newshape": "shape",
    }
    for name, fn in table.NAMES.items():
        builder = table.lookup(fn)
        if not name.startswith("np.") or builder is None or isinstance(fn, (np.ufunc, type)) or isinstance(builder, Written):
            continue
        theirs = [n for n in _names(fn)]
        parameters = inspect.signature(builder).parameters.values()
        if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
            continue
        ours = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        theirs = theirs[: theirs.index("out")] if "out" in theirs else theirs
        for a, b in zip(theirs, ours):
            assert a == b or renamed.get(a) == b or (name, a) == ("np.copy", "order"), f"{name}: {theirs} {ours}"


@pytest.mark.parametrize(
    "f, words",
    [
        (lambda x: np.clip(x, 0.0, 1.0, dtype=np.float32), r"np.clip with dtype="),
        (lambda x: np.matmul(x, x, dtype=np.float32), r"np.matmul with dtype="),
        (lambda x: np.matmul(x, x, axes=[(1, 0), (0, 1), (0, 1)]), r"np.matmul with axes="),
        (lambda x: np.add(x, x, signature="ff->f"), r"np.add with signature="),
        (lambda x: scipy.ndimage.gaussian_filter(x, 1.0, axes=(0,)), r"gaussian_filter with axes="),
        (lambda x: scipy.ndimage.sobel(x, 0, np.float32), r"sobel with output="),
        (lambda x: scipy.signal.detrend(x, bp=1), r"detrend with bp="),
        (lambda x: scipy.fft.dct(x, orthogonalize=True), r"dct with orthogonalize="),
        (lambda x: distance.squareform(x, "tomatrix"), r"squareform with force="),
        (
            lambda x: scipy.optimize.minimize(lambda v: np.sum((v - x[0]) ** 2), x[1], callback=print).x,
            r"minimize with callback=",
        ),
    ],
)
def test_what_is_not_used_is_refused(f: Any, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        irad.compile(f)(X)


def test_what_a_function_has_not_is_refused_as_python_does() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'axs'"):
        irad.compile(lambda x: np.add(x, x, axs=1))(X)
    with pytest.raises(TypeError, match="multiple values for argument 'out'"):
        irad.compile(lambda x: np.add(x, x, x, out=x))(X)


def test_defaults_and_what_changes_nothing_may_be_said() -> None:
    f = lambda x: (
        scipy.ndimage.gaussian_filter(x, 1.0, output=None, axes=None), np.matmul(x, x, dtype=None, casting="same_kind"),
        scipy.fft.dct(x, workers=1), np.clip(x, 0.0, 1.0, order="K"), scipy.signal.detrend(x, bp=0),
    )  # fmt: skip
    for g, w in zip(irad.compile(f)(X), f(X)):
        np.testing.assert_allclose(g, w, rtol=1e-13, atol=1e-14)


def test_every_builder_says_what_it_reads() -> None:
    table.load_all()
    for name, fn in table.NAMES.items():
        builder = table.lookup(fn)
        if builder is not None:
            refuse_unused(name, fn, builder, [], {})
    with pytest.raises(IradTypeError):
        refuse_unused("np.trace", np.trace, table.lookup(np.trace), [], {"offsets": 1})  # type: ignore[arg-type]


METRICS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "braycurtis", "hamming")


def weighted(u: Any, v: Any, w: Any) -> Any:
    pairs = [getattr(distance, m)(u, v, w=w) for m in METRICS]
    return [*pairs, distance.minkowski(u, v, 3, w), distance.minkowski(u, v, np.inf, w)]


def test_weights_of_distances() -> None:
    u, v, w = np.array([1.0, 2.0, 0.5]), np.array([2.0, 5.0, 0.5]), np.array([1.0, 3.0, 0.0])
    np.testing.assert_allclose(irad.compile(weighted)(u, v, w), weighted(u, v, w), rtol=1e-13)
    slope = irad.grad(lambda w: distance.euclidean(u, v, w))(w)
    np.testing.assert_allclose(slope, (u - v) ** 2 / (2 * np.sqrt(28.0)), rtol=1e-13)


def singles(x: Any) -> Any:
    return (
        distance.pdist(x), distance.cdist(x, x, "cosine"), special.xlogy(2.0, x), special.gammainc(2.5, x), special.iv(1.5, x),
        special.betaln(x, 2), special.huber(1.0, x), special.expn(2, x), special.xlogy(x, x), special.expit(x > 1),
    )  # fmt: skip


def test_dtypes_are_scipys() -> None:
    """Its loops decide: of float32 and Python's 2.0 some are float64. pdist and cdist are always float64."""
    x = np.abs(X).astype(np.float32)
    for g, w in zip(irad.compile(singles)(x), singles(x)):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(
            g, w, rtol=1e-6 if w.dtype == np.float32 else 1e-3 if w.dtype == np.float16 else 1e-7, atol=1e-7
        )


def edges_of_clip(u: Any, m: Any) -> Any:
    return np.clip(u, -1, 4550), np.clip(u, 0, 300), u.clip(-5, 7), np.clip(u, 3, 2**70), m**2, m**3


def test_clip_takes_any_python_int() -> None:
    """From NumPy 2.1 on a bound that no number of the dtype is beyond is none. The square of bools is int8 there, other powers int64."""
    u, m = np.array([0, 5, 255], np.uint8), np.array([True, False])
    try:
        want = edges_of_clip(u, m)
    except OverflowError:
        pytest.skip("this NumPy raises")
    for g, w in zip(irad.compile(edges_of_clip)(u, m), want):
        assert g.dtype == w.dtype
        np.testing.assert_array_equal(g, w)
    with pytest.raises(OverflowError):
        irad.compile(lambda u: np.clip(u, 0, -1))(u)


def test_the_entropy_of_zero_is_no_negative_zero() -> None:
    x = np.array([0.0, -0.0, 1.0, 0.5])
    got = irad.compile(lambda x: special.entr(x))(x)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(special.entr(x)))
    np.testing.assert_array_equal(irad.grad(lambda x: np.sum(special.entr(x)))(x), [np.inf, np.inf, -1.0, np.log(2) - 1])


def test_names_of_operators_in_errors() -> None:
    def halved(x: Any) -> Any:
        x /= 2
        return x

    with pytest.raises(TypeError, match=r"ufunc 'divide' output from dtype\('float64'\).*write x = x / "):
        irad.compile(halved)(np.array([1, 2]))
    with pytest.raises(TypeError, match=r"ufunc 'add' output .* give out= an array of float64"):
        irad.compile(lambda x, o: np.add(x, 1.5, out=o))(X[0], np.zeros(3, int))
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        irad.compile(lambda x: np.fft.hfft(x))(np.ones(1))


def solved(a: Any, b: Any) -> Any:
    return [scipy.linalg.solve(a, b, low, assume_a=kind) for kind in ("pos", "sym", "her") for low in (False, True)]


def test_solve_reads_the_triangle_that_is_named() -> None:
    a, b = X @ X.T + 3 * np.eye(3), np.array([1.0, 2.0, 3.0])
    upper = a + np.tril(np.ones((3, 3)), -1)
    plain = np.linalg.solve(a, b)
    for k, x in enumerate(irad.compile(solved)(a, b)):
        np.testing.assert_allclose(x, plain, rtol=1e-12, err_msg=str(k))
    np.testing.assert_allclose(irad.compile(lambda a: scipy.linalg.solve(a, b, assume_a="sym"))(upper), plain, rtol=1e-12)
    z = upper + 1j * X
    f = lambda z: scipy.linalg.solve(z, b, assume_a="her")
    np.testing.assert_allclose(irad.compile(f)(z), f(z), rtol=1e-12)
    with pytest.raises(UnsupportedError, match="pinv with atol="):
        irad.compile(lambda a: scipy.linalg.pinv(a, atol=1e-3))(a)


@pytest.mark.parametrize("kind", ["pos", "sym", "lower triangular"])
def test_the_slope_of_solve_goes_to_the_triangle_that_is_read(kind: str) -> None:
    a, b = X @ X.T + 3 * np.eye(3) + np.triu(np.ones((3, 3)), 1), np.array([1.0, 2.0, 3.0])
    f = lambda a: np.sum(scipy.linalg.solve(a, b, lower=True, assume_a=kind))
    assert np.isclose(irad.compile(f)(a), f(a), rtol=1e-12)
    g = irad.grad(f)(a)
    step = 1e-5 * np.eye(9).reshape(9, 3, 3)
    np.testing.assert_allclose(g.ravel(), [(f(a + e) - f(a - e)) / 2e-5 for e in step], atol=1e-8)
    assert np.all(g[np.triu_indices(3, 1)] == 0) and np.all(g[np.tril_indices(3)] != 0)
