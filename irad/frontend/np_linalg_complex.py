"""numpy.linalg on complex matrices, as real ones of twice the order: A is [[Re A, -Im A], [Im A, Re A]].

Products, inverses and pseudo-inverses of such matrices are such matrices; singular values, and eigenvalues of Hermitian
matrices, come in equal pairs. So the derivatives are those of the real operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.frontend import np_linalg_norm, np_linalg_solve, np_linalg_spectral  # noqa: F401  (what is extended here)
from irad.frontend.arr import Arr, dtype_of, lift
from irad.frontend.np_elementwise import convert
from irad.frontend.np_registry import TABLE, find, numpy
from irad.ir import Value
from irad.ops.array import Slice, concat, index, slice_axis
from irad.ops.complex import complex_, imag, real
from irad.ops.elementwise import add, neg
from irad.ops.linalg import mt, triangle
from irad.types import complex_dtype, is_complex


def _operand(x: Any) -> Value:
    return convert(lift(x), complex_dtype(dtype_of(x))).value


def _doubled(a: Value) -> Value:
    """Stacked complex matrices as real ones of twice the extents."""
    x, y, k = real(a), imag(a), a.type.rank
    return concat(concat(x, neg(y), axis=k - 1), concat(y, x, axis=k - 1), axis=k - 2)


def _halves(v: Value, axis: int) -> Value:
    """The complex array whose parts stand one after the other along an axis."""
    n, odd = divmod(int(v.type.shape[axis]), 2)  # type: ignore[arg-type]
    assert not odd
    return complex_(slice_axis(v, axis, 0, n), slice_axis(v, axis, n, n))


def _extends(path: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorated builder serves a function of numpy.linalg where an operand is complex; the registered one all others."""
    real_one: Callable[..., Any] = TABLE[find(path)]

    def register(complex_one: Callable[..., Any]) -> Callable[..., Any]:
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            matrices = [x for x in args[:2] if isinstance(x, Arr) or hasattr(x, "dtype") or isinstance(x, (list, tuple))]
            if any(is_complex(dtype_of(x)) for x in matrices):
                return complex_one(real_one, *args, **kwargs)
            return real_one(*args, **kwargs)

        dispatch.__doc__ = real_one.__doc__
        numpy(path)(dispatch)
        return complex_one

    return register


@_extends("linalg.solve")
def solve(of_real: Callable[..., Arr], a: Any, b: Any) -> Arr:
    """The solution's parts are the two halves of the real one."""
    x, y = _operand(a), _operand(b)
    axis = 0 if y.type.rank == 1 else y.type.rank - 2
    out = of_real(Arr(_doubled(x)), Arr(concat(real(y), imag(y), axis=axis))).value
    return Arr(_halves(out, out.type.rank - (1 if y.type.rank == 1 else 2)))


def _first_columns(v: Value) -> Value:
    """The complex matrices behind doubled ones."""
    k = v.type.rank
    return _halves(slice_axis(v, k - 1, 0, int(v.type.shape[k - 1]) // 2), k - 2)  # type: ignore[arg-type]


@_extends("linalg.inv")
def inv(of_real: Callable[..., Arr], a: Any) -> Arr:
    return Arr(_first_columns(of_real(Arr(_doubled(_operand(a)))).value))


@_extends("linalg.pinv")
def pinv(of_real: Callable[..., Arr], a: Any, rcond: Any = None, hermitian: Any = False, *, rtol: Any = None) -> Arr:
    return Arr(_first_columns(of_real(Arr(_doubled(_operand(a))), rcond, hermitian, rtol=rtol).value))


def _every_other(v: Value) -> Value:
    """One of each pair of equal values."""
    k = v.type.rank - 1
    n = int(v.type.shape[k]) // 2  # type: ignore[arg-type]
    return index(v, spec=(*(Slice(0, d) for d in v.type.shape[:k]), Slice(0, n, 2)))


def _singular_values(of_real: Callable[..., Arr], x: Any) -> Arr:
    return Arr(_every_other(of_real(Arr(_doubled(_operand(x)))).value))


if find("linalg.svdvals") is not None:
    _extends("linalg.svdvals")(_singular_values)


@_extends("linalg.eigvalsh")
def eigvalsh(of_real: Callable[..., Arr], a: Any, UPLO: str = "L") -> Arr:
    """Of the Hermitian matrix that one triangle gives; the diagonal's imaginary parts count as zero, as in LAPACK."""
    x = _operand(a)
    low = triangle(x if UPLO.upper() == "L" else mt(x))
    below = triangle(low, strict=True)
    re = add(real(low), real(mt(below)))
    im = add(imag(below), neg(imag(mt(below))))
    return Arr(_every_other(of_real(Arr(_doubled(complex_(re, im)))).value))
