"""Each function of the table of NumPy and SciPy functions at special points: derivatives in every order of forward and reverse mode, against
differences of the traced graph in numbers of 120 digits (tests/support/precise.py).

A new row is called in each of the ways of `FORMS` that it takes; one that takes none, or has no float result, fails
`test_every_function_is_called` until it stands in `CALLS` or `NO_SLOPES`.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.linalg
import scipy.special

from irad.core.interp import interpret
from irad.core.ir import Graph, Program, build, copy, emit, inline
from irad.core.types import F64, Type
from irad.frontend.numpy import table
from irad.frontend.trace import trace
from irad.ops import OPS
from irad.ops import elementwise as ew
from irad.ops.array import sum_
from irad.ops.constant import const
from irad.ops.control import RaisedInGraph
from irad.passes.derivatives.expand import expand
from tests.support import precise

M = np.array([[2.0, 0.5, -0.25], [0.5, 1.5, 0.75], [-0.25, 0.75, 3.0]])
V, W = np.array([0.3, 0.7, 0.4]), np.array([0.6, -0.2, 1.3])
T = np.array([[0.2, 0.9, 0.5], [0.7, 0.1, 0.4]])

# Arguments by position: arrays are differentiated, numbers are static, a list is a sequence of arrays.
FORMS: list[tuple[Any, ...]] = [
    (V,), (M,), (V, W), (T,), (M, V), (M, M.T + 1), (V, 2), (M, 2), (V, 0.3), (0.4, V), (V, W, V + 1), (M, V, V), ([V, W],), (2, V),
]  # fmt: skip

SIZES = {"small": 1e-30, "large": 1e30}  # of directions, at these points

# Points: arrays by shape, in the place of those above; equal, repeated and whole numbers, singular matrices, repeated eigenvalues.
POINTS: dict[str, dict[tuple[int, ...], np.ndarray]] = {
    "given": {},
    "zeros": {a.shape: np.zeros(a.shape) for a in (M, V, T)},
    "ones": {a.shape: np.ones(a.shape) for a in (M, V, T)},
    "ties": {(3, 3): np.ones((3, 3)) + np.eye(3), (3,): np.array([2.0, 2.0, -1.0]), (2, 3): np.array([[1.0, 2.0, 2.0], [2.0, 1.0, -1.0]])},
    "singular": {
        (3, 3): np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 10.0]]),
        (3,): np.array([-0.0, 0.5, -3.0]),
        (2, 3): np.array([[0.0, -0.0, 1.0], [3.0, 1.0, -2.0]]),
    },
    "identity": {(3, 3): np.eye(3), (3,): np.full(3, 0.5), (2, 3): np.full((2, 3), 0.5)},
    "small": {a.shape: a * 1e-30 for a in (M, V, T)},
    "large": {a.shape: a * 1e30 for a in (M, V, T)},
}  # fmt: skip


Call = tuple[Callable[..., Any], tuple[np.ndarray, ...]]
# Calls that are not guessed, or that are worth it besides.
CALLS: dict[str, list[Call]] = {
    "np.linalg.norm": [
        *((lambda x, k=k: np.linalg.norm(x, k), (M,)) for k in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc")),
        *((lambda x, k=k: np.linalg.norm(x, k), (V,)) for k in (1, 3, 4, -2, np.inf, -np.inf, 0, 0.5)),
    ],
    "np.linalg.cond": [(lambda x, k=k: np.linalg.cond(x, k), (M,)) for k in (None, 1, 2, -2, "fro", np.inf)],
    "np.linalg.matrix_power": [(lambda x, k=k: np.linalg.matrix_power(x, k), (M,)) for k in (0, 1, 3, -2)],
    "np.linalg.eigvals": [(lambda x: np.sum(np.exp(np.linalg.eigvals(x)).real), (M,))],
    "np.linalg.eig": [(lambda x: np.sum(np.exp(np.linalg.eig(x)[0]).real), (M,))],
    "np.linalg.tensorinv": [(lambda x: np.linalg.tensorinv(x, ind=1), (M,))],
    "np.linalg.eigh": [
        (lambda x: np.sum(np.exp(np.linalg.eigh(x)[0])), (M,)),
        (lambda x: (lambda w, v: (v * np.exp(w)) @ v.T)(*np.linalg.eigh(x)), (M,)),
    ],
    "np.linalg.svd": [(lambda x: (lambda u, s, vt: (u * np.exp(s)) @ vt)(*np.linalg.svd(x, full_matrices=False)), (T,))],
    "np.percentile": [(lambda x: np.percentile(x, 30), (V,))],
    "np.quantile": [(lambda x: np.quantile(x, 0.3, axis=0), (T,)), (lambda x: np.quantile(x, 0.5), (V,))],
    "np.einsum": [(lambda x, y: np.einsum("ij,jk,ik->i", x, y, x), (M, M + 1))],
    "np.polyfit": [(lambda x, y: np.polyfit(x, y, 1), (V, W))],
    "np.split": [(lambda x: np.split(x, 3), (V,))],
    "np.hsplit": [(lambda x: np.hsplit(x, 3), (M,))],
    "np.vsplit": [(lambda x: np.vsplit(x, 3), (M,))],
    "np.dsplit": [(lambda x: np.dsplit(np.stack([x, x * x], -1), 2), (M,))],
    "np.insert": [(lambda x, y: np.insert(x, 1, y[0]), (V, W))],
    "np.moveaxis": [(lambda x: np.moveaxis(x, 0, 1) ** 2, (T,))],
    "np.rollaxis": [(lambda x: np.rollaxis(x, 1) ** 2, (T,))],
    "np.swapaxes": [(lambda x: np.swapaxes(x, 0, 1) ** 2, (T,))],
    "np.take_along_axis": [(lambda x: np.take_along_axis(x, np.array([2, 0]), 0) ** 2, (V,))],
    "np.piecewise": [(lambda x: np.piecewise(x, [x < 0.5, x >= 0.5], [lambda x: x * x, lambda x: np.exp(x)]), (V,))],
    "np.select": [(lambda x, y: np.select([x > y, x < 0.5], [x * y, np.sin(x)], 0.0), (V, W))],
    "np.broadcast_to": [(lambda x: np.broadcast_to(x, (2, 3)) ** 2, (V,))],
    "np.full": [(lambda x: np.full((2, 3), x) ** 2, (V,))],
    "np.astype": [(lambda x: x.astype(np.float64) ** 2, (V,))],
    "np.bincount": [(lambda x: np.sum(np.bincount(np.array([0, 1, 1]), x) ** 2), (V,))],
    "np.add.at": [(lambda x, y: _added_at(x, y), (V, W))],
    "np.subtract.at": [(lambda x, y: _taken_at(x, y), (V, W))],
    "np.apply_over_axes": [(lambda x: np.apply_over_axes(np.sum, x * x, [0]), (M,))],
    "np.apply_along_axis": [(lambda x: np.apply_along_axis(lambda r: r * r[0], 0, x), (M,))],
    "np.fromfunction": [(lambda x: np.fromfunction(lambda i: i * x * x, (3,)), (V,))],
    "scipy.linalg.solve_banded": [(lambda a, b: scipy.linalg.solve_banded((1, 1), a, b), (M, V))],
    "scipy.linalg.solve_sylvester": [(lambda a, b, q: scipy.linalg.solve_sylvester(a, b, q), (M, M.T + 1, M + 2))],
    "scipy.linalg.cho_solve": [(lambda a, b: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), b), (M, V))],
    "scipy.special.hyp2f1": [(lambda x: scipy.special.hyp2f1(0.5, 1.5, 2.5, 0.5 * x), (V,))],
    "np.poly1d": [(lambda c: np.poly1d(c)(np.arange(3.0)), (V,))],
    "np.poly1d.__call__": [(lambda x: np.poly1d([1.0, 2.0, 3.0])(x), (V,))],
    "np.polynomial.Polynomial.__call__": [(lambda x: np.polynomial.Chebyshev([1.0, 2.0, 3.0])(x), (V,))],
    "scipy.linalg.lu_solve": [(lambda a, b: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b), (M, V))],
}  # fmt: skip


def _transformed(f: Any) -> Any:
    def run(x: Any) -> Any:
        z = f(x)
        return z.real**2 + z.imag**2 * z.real

    return run


for _names_of, _a in (("fft ifft rfft ihfft", V), ("fft2 ifft2 fftn ifftn rfft2 rfftn", M)):
    for _name in _names_of.split():
        CALLS[f"np.fft.{_name}"] = [(_transformed(getattr(np.fft, _name)), (_a,))]

for _names_of in ("polynomial poly", "chebyshev cheb", "legendre leg", "hermite herm", "hermite_e herme", "laguerre lag"):
    _module, _name = _names_of.split()
    _fit = getattr(getattr(np.polynomial, _module), f"{_name}fit")
    CALLS[f"np.polynomial.{_module}.{_name}fit"] = [(lambda x, y, fit=_fit: fit(x, y, 1), (V, W))]

# Functions that give no floats, or take none that they depend on.
NO_SLOPES = set(
    "all allclose any arange argmax argmin argpartition argsort argwhere array_equal array_equiv bitwise_and bitwise_count bitwise_not "
    "bitwise_or bitwise_xor bool bool_ complex128 complex64 count_nonzero digitize empty equal eye flatnonzero gcd greater greater_equal "
    "identity indices int16 int32 int64 int8 invert isclose iscomplex iscomplexobj isfinite isin isinf isnan isneginf isposinf isreal "
    "isrealobj isscalar lcm left_shift less less_equal lexsort linalg.matrix_rank logical_and logical_not logical_or logical_xor "
    "nanargmax nanargmin ndim nonzero not_equal ones result_type right_shift searchsorted shape signbit size tri uint16 uint32 uint64 "
    "uint8 zeros".split()
)
# Of lengths that data decide, or complex: values and slopes are in test_sets_and_float_parts.py and scipy/test_special.py.
ELSEWHERE = {f"np.{n}" for n in "intersect1d roots setdiff1d setxor1d trim_zeros union1d unique".split()} | {
    "scipy.special.lambertw",
    "scipy.linalg.solve_continuous_are",
    "scipy.linalg.solve_discrete_are",
    *(f"scipy.linalg.{n}" for n in "cho_solve_banded eig eigvals eigh_tridiagonal eigvalsh_tridiagonal null_space orth".split()),
    *(f"scipy.special.{n}" for n in "eval_gegenbauer eval_genlaguerre eval_jacobi lpmv sph_harm_y wofz".split()),
    "scipy.special._orthogonal.orthopoly1d.__call__",
}
BITS = ("np.frexp", "np.ldexp", "np.nextafter", "np.spacing")  # made of the bits of a double, which precise numbers have not
ROUNDED = {"np.float16": 1e-2, "np.float32": 1e-5}  # bounds of errors of what gives narrower floats
METHODS = ("reduce", "accumulate", "outer", "at", "reduceat")


def _added_at(x: Any, y: Any) -> Any:
    z = x * y
    np.add.at(z, np.array([0, 0, 2]), y * y)
    return z * z


def _taken_at(x: Any, y: Any) -> Any:
    z = x * y
    np.subtract.at(z, np.array([0, 0, 2]), y * y)
    return z * z


def _call(real: Any, form: tuple[Any, ...]) -> Call:
    """A function of the arrays of a form."""
    c = next((a for a in form if isinstance(a, (int, float))), None)
    kinds = "".join("s" if isinstance(a, list) else "x" if isinstance(a, np.ndarray) else "c" for a in form)
    arrays = tuple(b for a in form for b in (a if isinstance(a, list) else [a]) if isinstance(b, np.ndarray))
    found: dict[str, Any] = {
        "x": lambda x: real(x), "xx": lambda x, y: real(x, y), "xxx": lambda x, y, z: real(x, y, z), "xc": lambda x: real(x, c),
        "cx": lambda x: real(c, x), "s": lambda x, y: real([x, y]),
    }  # fmt: skip
    return found[kinds], arrays


def _program(call: Call) -> Program | None:
    """The sum of the float results, each element times a number of its own; None if the function does not take such arguments."""
    f, arrays = call
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            traced = trace(f, arrays, {})
        except Exception:
            return None
    if traced.mutated:  # the last array is `out`
        return None
    (name, g), *others = traced.program.items()
    if len(g.params) != len(arrays) or not any(v.type.dtype[0] == "f" and v.type.static for v in g.results):
        return None

    def body(*vs: Any) -> Any:
        floats = [v for v in inline(g, *vs) if v.type.dtype[0] == "f" and v.type.static]
        total = None
        for k, v in enumerate(floats):
            t = ew.cast_to(v, "f64")
            weights = np.cos(1.0 + k + np.arange(np.prod(t.type.dims, dtype=int))).reshape(t.type.dims)
            part = ew.mul(t, const(value=weights if t.type.shape else float(weights), type=t.type))
            part = sum_(part, axes=tuple(range(t.type.rank))) if t.type.shape else part
            total = part if total is None else ew.add(total, part)
        return total

    return {"f": build([p.type for p in g.params], body, "f"), **dict(others)}


@cache
def programs(name: str, dtype: str = "f64") -> list[tuple[Program, tuple[np.ndarray, ...]]]:
    """The calls of a function of the table as programs with a scalar result."""
    table.load_all()
    calls = [*CALLS.get(name, []), *(_call(table.NAMES[name], form) for form in FORMS)]
    typed = [(f, tuple(a.astype(Type(dtype).numpy) for a in arrays)) for f, arrays in calls]
    return [(p, arrays) for f, arrays in typed if (p := _program((f, arrays))) is not None]


def _names() -> list[str]:
    """NumPy's functions but its assertions, and of SciPy what this file imports: other parts have values and slopes in tests of their own."""
    table.load_all()
    found = (n for n in table.NAMES if n.startswith(("np.", "scipy.special.", "scipy.linalg.")))
    return sorted(n for n in found if not n.startswith("np.testing."))


def _method(name: str) -> bool:
    return name.rsplit(".", 1)[-1] in METHODS


def test_every_function_is_called() -> None:
    plain = [n for n in _names() if not _method(n) and n.removeprefix("np.") not in NO_SLOPES]
    assert {n for n in plain if not programs(n)} == ELSEWHERE
    assert {n for n in NO_SLOPES if f"np.{n}" in table.NAMES and programs(f"np.{n}")} == set()  # NumPy 1 lacks some


# ---- derivatives ----------------------------------------------------------------------------------------------------------------


def directions(arrays: Sequence[np.ndarray], k: int, size: float = 1.0) -> list[np.ndarray]:
    rng = np.random.default_rng(100 + k)
    return [rng.integers(-8, 9, a.shape) / 4.0 * size for a in arrays]


def along(program: Program, ds: Sequence[np.ndarray], mode: str) -> Program:
    """The derivative along directions, (f)orward or in (r)everse, as a program with a scalar result."""
    (name, g), *others = program.items()

    def body(*vs: Any) -> Any:
        f, wrt = copy(Graph(g.params, g.nodes, g.results), {}), tuple(range(len(vs)))
        steps = [const(value=d.astype(v.type.numpy), type=v.type) for d, v in zip(ds, vs)]
        if mode == "f":
            return emit(OPS["jvp"], *vs, *steps, regions=[f], wrt=wrt)[-1]
        outs = emit(OPS["vjp"], *vs, const(value=1.0, type=F64), regions=[f], wrt=wrt)[-len(vs) :]
        parts = [ew.cast_to(sum_(ew.mul(o, d), axes=tuple(range(o.type.rank))), "f64") for o, d in zip(outs, steps)]
        return (
            parts[0]
            if len(parts) == 1
            else ew.add(parts[0], parts[1])
            if len(parts) == 2
            else ew.add(ew.add(*parts[:2]), parts[2])
        )

    return {name: build([p.type for p in g.params], body, name), **dict(others)}


def wanted(program: Program, xs: Sequence[np.ndarray], ds: Sequence[Sequence[np.ndarray]], sure: bool) -> float:
    """The mixed derivative along directions. Raises NotPrecise where there is none, which is looked into if `sure`."""

    def at(ts: Sequence[Any]) -> Any:
        moved = []
        for k, x in enumerate(xs):
            m = np.empty(x.shape, object)
            for i in np.ndindex(x.shape):
                m[i] = mp.mpf(float(x[i])) + mp.fsum(t * mp.mpf(float(d[k][i])) for t, d in zip(ts, ds))
            moved.append(m)
        return precise.interpret(program, *moved)[0][()]

    return precise.difference(at, len(ds), sure)


def undetermined(
    program: Program, xs: Sequence[np.ndarray], ds: Sequence[Sequence[np.ndarray]], size: float, want: float
) -> bool:
    """Is there no derivative: a kink, a pole, or differences that are not linear in the direction?"""
    try:
        if not np.isclose(wanted(program, xs, ds, True), want, rtol=1e-6):
            return True
        other = directions(xs, 7, size)
        both = [a + b for a, b in zip(ds[0], other)]
        parts = [wanted(program, xs, [d, *ds[1:]], True) for d in (other, both)]
    except precise.NotPrecise:
        return True
    return not np.isclose(want + parts[0], parts[1], rtol=1e-6, atol=1e-6)


def check(
    program: Program, arrays: Sequence[np.ndarray], modes: Sequence[str], points: Sequence[str], within: float = 1e-9
) -> list[str]:
    """What is wrong: for each point, and each order of modes. What raises, or is no finite number, has no derivative."""
    made: dict[Any, Any] = {}
    wrong = []
    for point in points:
        xs, size = [POINTS[point].get(a.shape, a) for a in arrays], SIZES.get(point, 1.0)
        for order, group in itertools.groupby(modes, len):
            ds = [directions(arrays, k, size) for k in range(order)]
            try:
                want = wanted(program, xs, ds, False)
                for mode in group:
                    got = _derivative(made, program, ds, mode, size, xs)
                    bound = within * 100.0 ** (order - 1) * (1 + abs(want))
                    if not abs(got - want) <= bound and not undetermined(program, xs, ds, size, want):
                        wrong.append(f"{mode} at {point} {[a.shape for a in arrays]}: {got}, not {want}")
            except (precise.NotPrecise, RaisedInGraph):
                break
    return wrong


def _derivative(
    made: dict[Any, Any], program: Program, ds: Sequence[Sequence[np.ndarray]], mode: str, size: float, xs: Sequence[np.ndarray]
) -> float:
    if (mode, size) not in made:
        for d, m in zip(ds, mode):
            program = along(program, d, m)
        made[mode, size] = expand(program)
    return float(interpret(made[mode, size], *xs)[0])


PLAIN = [n for n in _names() if not _method(n) and n.removeprefix("np.") not in NO_SLOPES and n not in BITS]


@pytest.mark.parametrize("name", PLAIN)
def test_first_and_second_derivatives(name: str) -> None:
    """In the first ways to call it, where elements or eigenvalues are equal."""
    within = ROUNDED.get(name, 1e-9)
    assert [w for p, arrays in programs(name)[:2] for w in check(p, arrays, ("r", "rf"), ("ones", "ties"), within)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_third_derivatives(name: str) -> None:
    """In the first way to call it; the fourth order of one in eight, by name. All ways, points and orders of modes: `everywhere`."""
    modes = ("rrf", "frr", *(["rfrf"] if sum(map(ord, name)) % 8 == 0 else []))
    assert [w for p, arrays in programs(name)[:1] for w in check(p, arrays, modes, ("ties",), ROUNDED.get(name, 1e-9))] == []


def everywhere(name: str, order: int) -> list[str]:
    """What is wrong at all points, in all ways to call it and all orders of modes; minutes for some functions."""
    modes = ["".join(m) for m in itertools.product("rf", repeat=order)]
    return [w for p, arrays in programs(name) for w in check(p, arrays, modes, tuple(POINTS), ROUNDED.get(name, 1e-9))]
