"""Functions that are written in NumPy, run as they are: by Python, on NumPy arrays, against those that they stand for."""

from __future__ import annotations

import ast
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irad
from irad.errors import IradError, UnsupportedError
from irad.frontend import library
from irad.frontend.numpy import table
from irad.frontend.registry import NAMES, TABLE, Written
from irad.frontend.trace import trace
from tests.support.numpy_cases import RNG, A, F, I, N, V

table.load_all()
WRITTEN = {name: TABLE[fn].fn for name, fn in NAMES.items() if isinstance(TABLE.get(fn), Written) and name.startswith("np.")}
ASSERTIONS = {name: WRITTEN.pop(name) for name in list(WRITTEN) if name.startswith("np.testing.")}
REFUSED = [name for name, f in ASSERTIONS.items() if f.__name__ == "refused"]
C = A + 1j * A[::-1]
W = RNG.uniform(0.1, 1.0, 4)

# What each one is called with: positional arguments, keyword arguments.
CALLS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "cov": [((A,), {}), ((A[0], A[1]), {"bias": True}), ((F,), {"rowvar": False}), ((C,), {"aweights": W, "fweights": [1, 2, 3, 1]})],
    "corrcoef": [((A,), {}), ((V,), {}), ((C,), {})],
    **{f: [((N,), {}), ((N, 0), {"where": I > 0}), ((N, 1), {"keepdims": True}), ((I,), {})] for f in ("nansum", "nanprod", "nanmean")},
    **{f: [((N,), {}), ((N, 0), {"ddof": 1}), ((I, 1), {})] for f in ("nanvar", "nanstd")},
    **{f: [((N,), {}), ((N, 0), {"initial": 0.2}), ((I, 1), {"keepdims": True})] for f in ("nanmax", "nanmin")},
    **{f: [((N,), {}), ((N[:, :2], 1), {"keepdims": True}), ((I, 0), {})] for f in ("nanargmax", "nanargmin")},
    **{f: [((N,), {}), ((N, 1), {}), ((I, 0), {"dtype": np.float32})] for f in ("nancumsum", "nancumprod")},
    **{f: [((V, A[0, :k], m), {}) for k in (1, 3, 4) for m in ("full", "same", "valid")] for f in ("convolve", "correlate")},
    "interp": [((A, [0.0, 0.5, 1.0], [1, 5, 2]), {"left": -1.0}), ((0.3, np.sort(V), V), {}), ((A, np.sort(V), V), {"period": 0.7})],
    "gradient": [((A,), {}), ((C, 0.5), {"axis": 1, "edge_order": 2}), ((A, [0.0, 1.0, 3.0], [0.0, 2.0, 5.0, 6.0]), {"edge_order": 2})],
    "polyval": [((V, A), {}), (([1, 2, 3], 2), {})],
    "poly1d": [(([1.0, 2.0, 3.0],), {}), (([1, 2],), {}), (([0.5, 2.0], True), {})],
    "poly1d.__call__": [((np.poly1d([1.0, 2.0, 3.0]), A), {})],
    "polynomial.Polynomial.__call__": [((np.polynomial.Chebyshev([1.0, 2.0, 3.0], [-2, 3]), A), {})],
    "polyder": [((V,), {}), (([1, 2, 3, 4], 2), {})],
    "polyint": [((V,), {}), ((V, 2, [1.0, 2.0]), {}), ((V,), {"m": 2, "k": 3.0})],
    **{f: [((A,), {}), ((N, 0), {}), ((I, 1), {"keepdims": True}), ((F, (0, 1)), {})] for f in ("median", "nanmedian")},
    **{f"{f}quantile": [
        ((A, 0.3), {}), ((N, [0.1, 0.9], 0), {}), ((I, 1), {}), ((F, np.float32(0.3), 1), {"keepdims": True}),
        *(((A, 0.4, 0), {"method": m}) for m in ("lower", "averaged_inverted_cdf", "closest_observation", "hazen")),
    ] for f in ("", "nan")},
    **{f"{f}percentile": [((A, 30), {}), ((F, [25, 75], 1), {})] for f in ("", "nan")},
    "vander": [((V,), {}), (([1, 2, 3], 2), {"increasing": True}), ((V, 0), {})],
    **{f: [((V, V[:2]), {}), (([1, 2], [1, 2, 3]), {})] for f in ("polyadd", "polysub", "polymul")},
    "poly": [((V,), {}), (([1, 2],), {}), (([],), {})],
    "polyfit": [((V, A[0], 2), {}), ((V, A.T, 1), {"w": W})],
    "matvec": [((A, V), {})],
    "vecmat": [((C[:, 0], C), {})],
    "unravel_index": [((np.arange(21), (3, 7)), {}), ((5, (2, 3, 4)), {})],
    "ravel_multi_index": [(((I % 3, I % 7), (3, 7)), {}), (((I - 5, I), (3, 7)), {"mode": ("wrap", "clip"), "order": "F"})],
    "histogram": [((A,), {}), ((F, 3, (0, 1)), {}), ((A, [-1.0, 0.0, 2.0]), {"weights": A}), ((I, 4), {"density": True})],
    "histogram_bin_edges": [((A, 4), {}), ((F, 3, (0, 1)), {})],
    "histogram2d": [((A[0], A[1]), {}), ((A[0], A[1], [2, 3]), {"weights": A[2]}), ((V, V, [-1.0, 0.0, 2.0]), {"density": True})],
    "histogramdd": [((A, 2), {}), (((V, V), (3, 3)), {"range": [(-1, 1), (0, 1)]})],
    "unique": [
        ((I,), {}), ((N,), {}), ((C,), {"return_counts": True}), ((I,), {"return_index": True, "return_inverse": True}),
        ((N,), {"return_counts": True, "equal_nan": False}), (([],), {"return_inverse": True, "return_counts": True}),
    ],
    "union1d": [((I, [7, 1]), {}), ((A, V), {})],
    "intersect1d": [((I, [1, 3, 3, 9]), {}), ((I, [3, 1]), {"return_indices": True}), (([1, 2], [2, 5]), {"assume_unique": True})],
    "setxor1d": [((I, [1, 3, 3, 9]), {}), (([1, 2], [2, 5]), {"assume_unique": True})],
    "setdiff1d": [((I, [1, 3, 3, 9]), {}), (([4, 1, 2], [2, 5]), {"assume_unique": True})],
    "trim_zeros": [(([0, 0, 1, 0, 2, 0],), {}), ((np.zeros(3),), {}), (([0, 1, 0],), {"trim": "b"}), (([0, 1, 0],), {"trim": "f"})],
    "roots": [(([1.0, 0, 4],), {}), (([2, 3, 5, 1],), {}), (([3.0],), {})],
    "polydiv": [((V, V[:2]), {}), (([1.0, -3, 2], [1.0, -1]), {}), (([1, 2], [1, 2, 3]), {})],
    **{f"emath.{f}": [((A**2,), {}), ((C,), {}), ((4,), {})] for f in ("sqrt", "log", "log2", "log10")},
    "emath.logn": [((3.0, A**2), {})],
    "emath.power": [((A**2, 1.5), {}), (([1, 2], -2), {}), ((C, 2), {})],
    **{f"emath.{f}": [((np.tanh(A),), {}), ((C,), {})] for f in ("arccos", "arcsin", "arctanh")},
    "digitize": [((A, [-1.0, 0.0, 1.0]), {}), ((A, [1.0, 0.0]), {"right": True}), ((0.5, [0, 1]), {})],
    "unwrap": [((5 * A,), {}), ((I, None, 0), {"period": 4}), ((I,), {"period": 3, "discont": 1}), ((F, 0.1), {})],
    "isin": [((I, [1, 3]), {}), ((A, A[:1]), {"invert": True}), ((V, []), {})],
    "apply_over_axes": [((np.sum, A, [0, 1]), {}), ((np.mean, A, -1), {}), ((np.cumsum, A, 0), {})],
    "fromfunction": [((lambda i, j: i * 2 + j, (3, 2)), {}), ((lambda i, j: i == j, (2, 2)), {"dtype": int})],
    "pad": [
        ((A, w, m), {}) for w in (2, ((1, 2), (0, 3)))
        for m in ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "minimum", "mean", "median")
    ] + [
        ((I, 2), {"constant_values": ((1, 2), (3, 4))}), ((A, 5, "reflect"), {"reflect_type": "odd"}),
        ((A, 2, "mean"), {"stat_length": 2}), ((I, {0: 1, -1: (2, 3)}), {}),
    ],
}  # fmt: skip
for _module, _short in {
    "polynomial": "poly",
    "chebyshev": "cheb",
    "legendre": "leg",
    "hermite": "herm",
    "hermite_e": "herme",
    "laguerre": "lag",
}.items():
    _path = f"polynomial.{_module}.{_short}"
    CALLS[f"{_path}val"] = [((A, V), {}), ((2, [1, 2, 3]), {}), ((V, A), {}), ((V, A), {"tensor": False}), ((V, [3.0]), {})]
    CALLS[f"{_path}val2d"] = [((V, V[::-1], A), {})]
    CALLS[f"{_path}grid2d"] = [((V, V[:2], A), {})]
    CALLS[f"{_path}vander"] = [((A, 3), {}), ((0.5, 0), {}), ((I, 1), {})]
    CALLS[f"{_path}fit"] = [((V, A[0], 2), {}), ((V, A.T, [0, 2]), {"w": W})]


def by_numpy(name: str, *args: Any, **kwargs: Any) -> Any:
    """What NumPy gives; where an older one refuses what the newest has, that is stated, and what the newest gives."""
    fn = NAMES[name]
    if name == "np.pad" and isinstance(args[1], dict) and np.lib.NumpyVersion(np.__version__) < "2.3.0":
        with pytest.raises(TypeError, match="pad_width"):
            fn(*args)
        axes = range(np.ndim(args[0]))
        widths = [args[1].get(k, args[1].get(k - len(axes), 0)) for k in axes]
        return fn(args[0], [w if isinstance(w, tuple) else (w, w) for w in widths])
    return fn(*args, **kwargs)


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_it_is_the_function_that_it_stands_for(name: str) -> None:
    short = name.removeprefix("np.")
    for args, kwargs in CALLS[short]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            want, found = by_numpy(name, *args, **kwargs), WRITTEN[name](*args, **kwargs)
        if name == "np.unwrap" and args[0] is F and np.__version__.startswith("1."):  # its `where` is wider; irad's is not
            assert found.dtype == np.float64
            found = irad.compile(lambda x: np.unwrap(x, 0.1))(F)
        several = isinstance(want, (tuple, list))
        if name in ("np.quantile", "np.nanquantile") and np.__version__.startswith("1."):  # which give float64 of float32
            want = np.asarray(want, np.asarray(found).dtype)
        for w, g in zip(want, found, strict=True) if several else [(want, found)]:
            assert np.shape(w) == np.shape(g), (args, kwargs)
            assert np.asarray(w).dtype == np.asarray(g).dtype, (args, kwargs)
            np.testing.assert_allclose(g, w, rtol=1e-6 if np.asarray(w).dtype == np.float32 else 1e-12, atol=1e-14)


def fails(fn: Any, *args: Any) -> bool:
    try:
        fn(*args)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("name", sorted(ASSERTIONS.keys() - REFUSED))
def test_assertions_fail_where_numpys_do(name: str) -> None:
    pairs = [(A, A), (A, A + 1e-9), (A, A + 1.0), (A, A[0]), (N, N), (1.0, A), (V, list(V)), (2.0, 2.0), (np.inf, np.inf)]
    if name == "np.testing.assert_equal":
        pairs += [({"a": A}, {"a": A}), ({"a": A}, {"b": A}), ([1.0, A], (1.0, A)), ("x", "y"), (None, None)]
    if name == "np.testing.assert_approx_equal":
        pairs = [(x, y) for x, y in pairs if np.ndim(x) == np.ndim(y) == 0] + [(1.0, 1.0000001), (0.0, 0.0), (np.nan, np.nan)]
    if name == "np.testing.assert_":
        pairs = [(True, ""), (False, "no")]
    for args in pairs:
        assert fails(ASSERTIONS[name], *args) == fails(NAMES[name], *args), args


@pytest.mark.parametrize("name", REFUSED)
def test_other_assertions_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match="compare with assert_allclose"):
        ASSERTIONS[name](ValueError, len)


def test_the_library_is_numpy() -> None:
    """Its modules use NumPy, SciPy, Python's standard library and each other; of irad only the registry and the errors (one also what it needs to differentiate, one which numbers are complex).

    What is imported late is SciPy's: not all of it is there with the part that the user has imported."""
    allowed = ("irad.errors", "irad.frontend.registry", "irad.frontend.library", "irad.core.once")
    for path in (p for p in Path(library.__file__).parent.glob("*.py") if p.name not in ("calculus.py", "gamma.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert all(n.startswith(allowed) for n in names if n.startswith("irad")), f"{path.name}:{node.lineno}"  # type: ignore[attr-defined]


def raised(fn: Any, *args: Any) -> str:
    """The text of the error of a compiled function, with what is noted on it."""
    with pytest.raises(Exception) as e:  # noqa: PT011
        irad.compile(fn)(*args)
    return "".join(traceback.format_exception_only(e.type, e.value))


def two_axes_too_many(x: Any) -> Any:
    return np.cov(x[None])  # this line


def edges_that_fall(x: Any) -> Any:
    return np.histogram(x, bins=x)[0]  # this line


def nothing_but_nan(x: Any) -> Any:
    return np.nanargmax(x * np.nan)  # this line


@pytest.mark.parametrize("fn", [two_axes_too_many, nothing_but_nan])
def test_errors_are_at_the_users_line(fn: Any) -> None:
    """While it is read, and at run time."""
    text = raised(fn, A)
    assert "# this line" in text
    assert "irad/frontend/library" not in text


def test_it_raises_what_numpy_raises() -> None:
    with pytest.raises(IradError) as e:
        irad.compile(two_axes_too_many)(A)
    assert isinstance(e.value, ValueError)
    with pytest.raises(ValueError, match="must increase monotonically"):
        irad.compile(edges_that_fall)(np.array([2.0, 1.0]))


def test_nothing_of_the_library_is_captured() -> None:
    """What it reads of its modules is no state of the user's program: there is nothing to test at a call."""
    found = trace(lambda x: np.nanmean(x) + np.pad(x, 1)[0] + np.cov(x), (V,))
    assert all("library" not in str(g.path) for g in found.guards)
    assert not found.captures


def test_a_function_of_the_library_is_traced_in_branches_and_loops() -> None:
    def f(x: Any, n: int) -> Any:
        s = 0.0
        for k in range(n):
            if x[k] > 0.5:
                s = s + np.interp(x[k], x, x * x) + np.nanmax(x) * k
        return s

    x = np.linspace(0.0, 1.0, 6)
    value, slope = irad.value_and_grad(f)(x, 5)
    assert np.isclose(value, f(x, 5))
    steps = [(f(x + 1e-6 * e, 5) - f(x - 1e-6 * e, 5)) / 2e-6 for e in np.eye(6)]
    assert np.allclose(slope, steps, rtol=1e-6, atol=1e-6)
