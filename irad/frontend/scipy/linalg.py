"""scipy.linalg functions, registered once the user has imported SciPy; nothing here needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.core.ir import Value, build, emit
from irad.core.types import I64, is_complex
from irad.errors import IradValueError, UnsupportedError
from irad.frontend.numpy.complex import real
from irad.frontend.numpy.elementwise import apply_ufunc, convert
from irad.frontend.numpy.linalg_norm import norm
from irad.frontend.numpy.linalg_solve import cholesky, det, factored, fail_if, inv, matrices, qr, with_columns
from irad.frontend.numpy.linalg_spectral import pinv, svd, svdvals
from irad.frontend.numpy.make import tril, triu
from irad.frontend.numpy.reduce import max_of, sum_of
from irad.frontend.numpy.shape import matrix_transpose
from irad.frontend.registry import scipy
from irad.frontend.values.arr import Arr, lift
from irad.ops import elementwise as ew
from irad.ops import linalg as ops
from irad.ops import matrix
from irad.ops.array import broadcast, dim_value, index, iota, max_, update
from irad.ops.control import for_
from irad.ops.elementwise import cast_to, select

_TRANS = {0: False, "N": False, 1: True, "T": True, 2: True, "C": True}
_ZERO_ON_DIAGONAL = "singular matrix: resolution failed at a zero of the diagonal"


def _transposed(trans: Any) -> bool:
    if trans not in _TRANS:
        raise IradValueError(f"trans must be one of {list(_TRANS)}, not {trans!r}")
    return _TRANS[trans]


def _adjoint(trans: Any, run: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    """What solves by the conjugate transpose where `trans` says so, from what solves by the transpose."""
    return (lambda x, y: matrix.cj(run(x, matrix.cj(y)))) if trans in (2, "C") else run


def solve(a: Any, b: Any, lower: Any = False, *_: Any, assume_a: Any = None, transposed: Any = False, **options: Any) -> Arr:
    """scipy.linalg.solve: of positive definite matrices by their Cholesky factor, of others by LU factors.

    What `assume_a` says decides which triangle is read: the lower one of symmetric matrices if `lower`, else the upper one.
    """
    lower = bool(lower)
    if assume_a in ("lower triangular", "upper triangular"):
        return solve_triangular(a, b, bool(transposed), lower=assume_a == "lower triangular")
    if assume_a in ("pos", "positive definite"):
        return cho_solve(cho_factor(a, lower), b)
    if assume_a in ("sym", "symmetric", "her", "hermitian"):
        a = _from_triangle(a, lower, assume_a in ("her", "hermitian"))
    elif assume_a not in (None, "gen", "general"):
        raise UnsupportedError(
            f"scipy.linalg.solve(assume_a={assume_a!r}): general, symmetric, Hermitian, positive definite or triangular"
        )

    def run(x: Value, y: Value) -> Value:
        factors, rows = factored(x)
        return ops.solve(x, factors, rows, y, trans=bool(transposed))

    return with_columns(a, b, run)


def _from_triangle(a: Any, lower: bool, hermitian: bool) -> Arr:
    """The symmetric, or Hermitian, matrix of which one triangle is given."""
    x = matrices(a, square=True)
    kept = Arr(x)
    rest = tril(kept, -1) if lower else triu(kept, 1)
    middle = tril(triu(kept, 0), 0)
    if hermitian and is_complex(kept.name):
        turned, middle = matrix_transpose(apply_ufunc("conjugate", rest)), convert(real(middle), kept.name)
    else:
        turned = matrix_transpose(rest)
    return apply_ufunc("add", apply_ufunc("add", rest, middle), turned)


def solve_triangular(a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, **options: Any) -> Arr:
    """scipy.linalg.solve_triangular; LinAlgError where the diagonal has a zero."""
    kind = {"lower": bool(lower), "trans": _transposed(trans), "unit": bool(unit_diagonal)}

    def run(x: Value, y: Value) -> Value:
        if not kind["unit"]:
            d = matrix.diagonal(x)
            fail_if(ew.eq(d, 0), _ZERO_ON_DIAGONAL)
        return ops.triangular_solve(x, y, **kind)

    return with_columns(a, b, _adjoint(trans, run))


# ---- Cholesky and LU factors -----------------------------------------------------------------------------------------------


def cholesky_(a: Any, lower: Any = False, **options: Any) -> Arr:
    """scipy.linalg.cholesky: the upper factor by default, from the triangle of its side."""
    return cholesky(a, upper=not lower)


def cho_factor(a: Any, lower: Any = False, **options: Any) -> tuple[Arr, bool]:
    """scipy.linalg.cho_factor: (factor, lower); the other triangle, which SciPy leaves as it was, is 0."""
    return cholesky_(a, lower), bool(lower)


def cho_solve(c_and_lower: Any, b: Any, **options: Any) -> Arr:
    """scipy.linalg.cho_solve."""
    c, lower = c_and_lower

    def run(x: Value, y: Value) -> Value:
        for trans in (not lower, bool(lower)):
            solved = lambda x, y, trans=trans: ops.triangular_solve(x, y, lower=bool(lower), trans=trans, unit=False)
            y = _adjoint("C" if trans else "N", solved)(x, y)
        return y

    return with_columns(c, b, run)


def lu_factor(a: Any, **options: Any) -> tuple[Arr, Arr]:
    """scipy.linalg.lu_factor: L and U in one square matrix, and the row exchanged with each row."""
    factors, swaps, _ = ops.lu(matrices(a, square=True))
    return Arr(factors), Arr(cast_to(swaps, "i32"))


def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0, **options: Any) -> Arr:
    """scipy.linalg.lu_solve of one matrix."""
    (lu, piv), turned = lu_and_piv, _transposed(trans)
    swaps = lift(piv, "i64").value
    if swaps.type.rank != 1:
        raise UnsupportedError("scipy.linalg.lu_solve of stacked matrices: use np.linalg.solve")
    rows = _row_order(swaps)

    def run(x: Value, y: Value) -> Value:
        order = broadcast(rows, shape=y.type.shape[:-1], dims=(y.type.rank - 2,))
        y = y if turned else matrix.take_rows(y, order)
        for low in (turned is False, turned):
            y = ops.triangular_solve(x, y, lower=low, trans=turned, unit=low)
        return matrix.place_rows(y, order) if turned else y

    return with_columns(lu, b, _adjoint(trans, run))


def _row_order(swaps: Value) -> Value:
    """The order of rows that exchanges, one after another, lead to."""
    (n,) = swaps.type.shape

    def exchange(k: Value, rows: Value) -> Value:
        other = index(swaps, k, spec=("i",))
        x, y = index(rows, k, spec=("i",)), index(rows, other, spec=("i",))
        return update(update(rows, y, k, spec=("i",)), x, other, spec=("i",))

    body = build([I64, swaps.type], exchange)
    return emit(for_, dim_value(n), iota(type=swaps.type, axis=0), regions=[body])[0]


# ---- the matrix exponential --------------------------------------------------------------------------------------------------

_THETA = 5.371920351148152  # Higham's theta_13 for float64: up to this 1-norm the approximant needs no scaling
_PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600, 670442572800,
    33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
_SQUARINGS = 1100.0  # more than any finite matrix needs


def expm(A: Any) -> Arr:
    """scipy.linalg.expm by scaling and squaring with the Pade approximant of degree 13.

    N. Higham, "The scaling and squaring method for the matrix exponential revisited" (2005). Derivatives are those of the steps.
    """
    a = matrices(A, square=True)
    t = a.type
    if not t.shape[-1]:
        return Arr(a)
    size = max_of(sum_of(apply_ufunc("absolute", Arr(a)), -2), -1).value
    ratio = size / _THETA
    levels = ew.ceil(ew.log2(ew.maximum(ratio, 1)))
    levels = select(levels <= _SQUARINGS, levels, 0)  # an infinite or NaN matrix
    times = cast_to(levels, "i64")
    scale = ew.exp2(-cast_to(times, t.dtype))
    x = _pade(a * matrix.over_matrices(scale, a))
    trips = max_(times, axes=tuple(range(times.type.rank))) if times.type.rank else times

    def square(k: Value, x: Value) -> Value:
        more = (broadcast(k, shape=times.type.shape, dims=()) if times.type.shape else k) < times
        return select(matrix.over_matrices(more, x), matrix.mm(x, x), x)

    return Arr(emit(for_, trips, x, regions=[build([I64, t], square)])[0])


def _pade(a: Value) -> Value:
    """The [13/13] approximant, with Higham's grouping: six products and a solve."""
    one = matrix.identity(a.type)
    a2 = matrix.mm(a, a)
    a4 = matrix.mm(a2, a2)
    a6 = matrix.mm(a2, a4)

    def series(first: int) -> Value:
        times = lambda v, k: v * float(_PADE[k])
        high = times(a6, first + 12) + times(a4, first + 10) + times(a2, first + 8)
        low = times(a6, first + 6) + times(a4, first + 4) + times(a2, first + 2) + times(one, first)
        return matrix.mm(a6, high) + low

    v, u = series(0), matrix.mm(a, series(1))
    return ops.solution(v - u, v + u)


# ---- under NumPy's name ----------------------------------------------------------------------------------------------------------


def qr_(
    a: Any, overwrite_a: Any = False, lwork: Any = None, mode: str = "full", pivoting: Any = False, check_finite: Any = True
) -> Any:
    """scipy.linalg.qr: modes "full", "economic" and "r", without pivoting."""
    names = {"full": "complete", "economic": "reduced", "r": "r"}
    if mode not in names or pivoting:
        raise UnsupportedError("scipy.linalg.qr: modes 'full', 'economic' and 'r' without pivoting are supported")
    out = qr(a, names[mode])
    return (out,) if mode == "r" else tuple(out)


def svd_(a: Any, full_matrices: Any = True, compute_uv: Any = True, **options: Any) -> Any:
    """scipy.linalg.svd."""
    out = svd(a, full_matrices, compute_uv)
    return tuple(out) if compute_uv else out


_ROOM = {"overwrite_a", "check_finite"}  # they change no result


def _plain(function: Any, *names: str) -> Any:
    """A function of numpy.linalg that takes the keyword arguments `names`, and those that change nothing."""

    def call(a: Any, *args: Any, **options: Any) -> Any:
        for k, v in options.items():
            if k not in _ROOM and k not in names and v is not None:
                raise UnsupportedError(
                    f"scipy.linalg.{function.__name__} with {k}= is not supported in compiled code; leave it out"
                )
        kept = dict(zip(names, args[: len(names)]))
        return function(a, **kept, **{k: v for k, v in options.items() if k in names})

    return call


scipy("scipy.linalg", {
    "solve": solve, "solve_triangular": solve_triangular, "cholesky": cholesky_, "cho_factor": cho_factor, "cho_solve": cho_solve,
    "lu_factor": lu_factor, "lu_solve": lu_solve, "expm": expm, "qr": qr_, "svd": svd_,
    "inv": _plain(inv), "det": _plain(det), "norm": _plain(norm, "ord", "axis", "keepdims"), "pinv": _plain(pinv, "rtol"),
    "svdvals": _plain(svdvals),
})  # fmt: skip
