"""scipy.ndimage in NumPy: neighbours, morphology, splines between elements, labelled parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.ndimage as nd

import irad
from irad.errors import UnsupportedError
from irad.frontend.library.ndimage import labels, neighbours, warps
from tests.support.scipy_calls import NEW, call, check_compiled, check_not_compiled

R = np.random.default_rng(0)
NEAR = 1e-5 if NEW else 1e-9
A, L, V, N = R.random((7, 9)), R.random(20), R.random((4, 5, 6)), R.integers(0, 9, (7, 9))
SOME, HEIGHTS = np.array([[0, 1, 0], [1, 1, 0]], bool), R.random((3, 2))
B, MASK = R.random((9, 10)) > 0.4, R.random((9, 10)) > 0.3
X, PARTS = R.random((9, 10)), nd.label(B)[0]
AT = np.array(
    [[0.3, 2.2, 4.9, 6.0, -0.5, 7.3, -30, 40.2, -0.9, 6.4, -7.0, 13, 12, 0], [1.1, 0.2, 5.5, 8.0, 3.1, -2.0, 3, -22.5, 8.7, 8.2, 0, 9, -9, -16]]
)  # fmt: skip
SHEAR = np.array([[1, 0.2], [0.1, 0.9]])
MODES = ("reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "wrap", "grid-wrap")
GREY = (
    nd.grey_erosion, nd.grey_dilation, nd.grey_opening, nd.grey_closing, nd.white_tophat, nd.black_tophat, nd.morphological_gradient,
    nd.morphological_laplace,
)  # fmt: skip
BINARY = (nd.binary_erosion, nd.binary_dilation, nd.binary_opening, nd.binary_closing)

CALLS = [
    *(call(f, A, *size, mode=m, cval=0.3, **kw) for f in (nd.minimum_filter, nd.maximum_filter, nd.median_filter)
      for m in ("reflect", "mirror", "nearest", "wrap", "constant") for size, kw in (((3,), {}), (((2, 3),), {}), ((), {"footprint": SOME, "origin": (0, -1)}))),
    *(call(f, x, 3) for f in (nd.minimum_filter, nd.maximum_filter, nd.median_filter) for x in (L, V, N)),
    call(nd.minimum_filter1d, A, 3, 0), call(nd.maximum_filter1d, A, 4, 1, origin=1), call(nd.rank_filter, A, -2, 3), call(nd.percentile_filter, A, 20, 3),
    call(nd.percentile_filter, A, 100, 3), call(nd.percentile_filter, A, -30, (2, 3)), call(nd.generic_filter, A, np.mean, 3),
    call(nd.generic_filter, A, lambda v, k: np.sum(v**k), footprint=SOME, mode="constant", extra_arguments=(2,)),
    *(call(f, A, *a, **kw) for f in GREY for a, kw in (((3,), {}), (((2, 3),), {}), ((), {"footprint": SOME}), ((), {"structure": HEIGHTS, "mode": "constant"}),
      ((), {"footprint": SOME, "structure": HEIGHTS.T, "origin": (0, 1)}))), *(call(f, N, 3) for f in GREY),
    *(call(f, x, **kw) for f in BINARY for x, kw in ((B, {}), (B, {"iterations": 2}), (B, {"structure": SOME}), (B * 1, {}),
      (B, {"structure": SOME, "iterations": 2, "border_value": 1}), (B, {"mask": MASK, "iterations": 3}))),
    call(nd.binary_erosion, B, iterations=-1), call(nd.binary_fill_holes, B), call(nd.binary_fill_holes, ~B), call(nd.binary_propagation, B & MASK, mask=B),
    call(nd.gaussian_laplace, A, 1.1), call(nd.gaussian_gradient_magnitude, A, 1.1, mode="wrap"),
    *(call(f, x, *a, order=o, mode=m, **kw) for m in MODES for o in range(6) for f, x, a, kw in (
        (nd.map_coordinates, A, (AT,), {"cval": 0.25}), (nd.map_coordinates, N, (AT,), {}), (nd.shift, A, ((0.4, -1.7),), {}), (nd.zoom, A, ((1.5, 0.7),), {}),
        (nd.zoom, A, (2,), {"grid_mode": True}), (nd.rotate, A, (30,), {}), (nd.rotate, A, (-70,), {"reshape": False}),
        (nd.affine_transform, A, (SHEAR, (0.31, -0.23)), {}), (nd.affine_transform, A, (np.array([1.1, 0.8]), 0.2), {"output_shape": (5, 6)}))),
    *(call(nd.spline_filter1d, A, o, 0, mode=m) for m in MODES for o in range(6)), *(call(nd.map_coordinates, A, AT, mode=m, prefilter=False) for m in MODES),
    *(call(nd.zoom, L.astype(np.float32), 0.5, order=o) for o in range(6)), call(nd.rotate, V, 20, axes=(0, 2)), call(nd.zoom, V, 1.3),
    call(nd.map_coordinates, A + 1j * A[::-1], AT), call(nd.affine_transform, A, np.array([[1, 0.2, 0.3], [0.1, 0.9, -0.1], [0, 0, 1]])),
    call(nd.spline_filter, V, 4), call(nd.label, B), call(nd.label, B, np.ones((3, 3))), call(nd.label, V > 0.6), call(nd.label, L > 0.5),
    *(call(f, X, *a) for f in (nd.sum_labels, nd.mean, nd.variance, nd.standard_deviation, nd.maximum, nd.minimum, nd.median)
      for a in ((), (PARTS,), (PARTS, 2), (PARTS, [1, 2, 3]), (PARTS, np.arange(4).reshape(2, 2)))),
    *(call(nd.center_of_mass, X, *a) for a in ((), (PARTS,), (PARTS, 2))),
]  # fmt: skip


def test_not_compiled() -> None:
    check_not_compiled([neighbours, warps, labels], CALLS, NEAR)
    np.testing.assert_allclose(labels.center_of_mass(X, PARTS, [1, 2]), nd.center_of_mass(X, PARTS, [1, 2]))


P, Q, C = A[:5, :6], np.array([1.1, 0.3]), np.array([[0.3, 2.2, 3.9, -0.5, 1.3], [1.1, 0.2, 4.5, 3.0, 3.1]])
SPOTS = nd.label(P > 0.4)[0]


def labelled(a: Any) -> Any:
    found, n = nd.label(a > 0.5)
    parts = np.sum(nd.sum(a, SPOTS, [1, 2]) ** 2) + np.sum(np.array(nd.center_of_mass(a, SPOTS, 1))) + nd.maximum(a, SPOTS, 2)
    masks = np.sum(nd.binary_opening(a > 0.4) * a) + np.sum(nd.binary_fill_holes(a > 0.6) * a)
    return parts + masks + nd.median(a, SPOTS) + n + np.sum(found * a)


PROGRAMS: dict[str, tuple[Any, np.ndarray]] = {
    "ranks": (lambda a: np.sum(nd.median_filter(a, 3) ** 2) + np.sum(nd.maximum_filter(a, (3, 2)) ** 2) + np.sum(nd.percentile_filter(a, 30, 3) ** 2)
              + np.sum(nd.generic_filter(a, lambda v: np.sum(v**2), 3)), P),
    "grey": (lambda a: np.sum(nd.grey_opening(a, 3) ** 2) + np.sum(nd.grey_dilation(a, structure=HEIGHTS) ** 2) + np.sum(nd.gaussian_laplace(a, 1.0) ** 2)
             + np.sum(nd.gaussian_gradient_magnitude(a, 1.0)), P),
    "between elements": (lambda a: np.sum(nd.map_coordinates(a, C, mode="nearest") ** 2) + np.sum(nd.zoom(a, 1.5) ** 2)
                         + np.sum(nd.rotate(a, 30, order=1) ** 2), P),
    "by where": (lambda c: np.sum(nd.map_coordinates(P, c, mode="mirror") ** 2) + np.sum(nd.map_coordinates(P, c, order=5, mode="grid-wrap") ** 2), C),
    "by angle, shift, matrix": (lambda p: np.sum(nd.rotate(P, p[0] * 30, reshape=False, mode="reflect") ** 2) + np.sum(nd.shift(P, p, mode="mirror") ** 2)
                                + np.sum(nd.affine_transform(P, np.array([[p[0], p[1]], [0.1, 1]]), p, mode="nearest", order=2) ** 2), Q),
    "parts": (labelled, P),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name: str) -> None:
    check_compiled(*PROGRAMS[name], rtol=10 * NEAR)


def test_what_is_refused() -> None:
    with pytest.raises(RuntimeError, match="boundary mode not supported"):
        irad.compile(lambda a: nd.zoom(a, 2.0, mode="around"))(A)
    with pytest.raises(UnsupportedError, match="a mode for each axis"):
        irad.compile(lambda a: nd.median_filter(a, 3, mode=("wrap", "reflect")))(A)
    with pytest.raises(UnsupportedError, match="with axes= is not supported"):
        irad.compile(lambda a: nd.median_filter(a, 3, axes=(0,)))(A)
