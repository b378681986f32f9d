"""NumPy's own OpenBLAS, by symbol look-up in NumPy's extension module. No further copy of a BLAS, no search of paths.

NumPy >= 2 wheels have `scipy_cblas_dgemm64_` (64-bit integers), NumPy 1.26 wheels `cblas_dgemm64_`, builds of
distributions `cblas_dgemm` (32-bit). None of this is a documented interface, so every routine is tested at first use;
`find` gives None where there is none that works, and the caller generates loops instead.
"""

from __future__ import annotations

import ctypes
import importlib

import numpy as np

from irad.codegen.kernel.form import Apply, Call, Const, Index, Let, Operand, Stmt
from irad.core.lazy_dataclass import dataclass
from irad.core.once import once
from irad.core.types import DTYPES

_PATTERNS = (("scipy_{}64_", "i64"), ("{}64_", "i64"), ("scipy_{}", "i32"), ("{}", "i32"))
_LETTER = {"f64": "d", "f32": "s"}
_LLVM = {"f64": "double", "f32": "float"}
_ROW_MAJOR, _PLAIN, _TRANSPOSED = 101, 111, 112
ROUTINES = tuple(f"cblas_{t}{op}" for t in "ds" for op in ("gemm", "gemv"))


@dataclass(frozen=True)
class Blas:
    """What was found: `index` is its integer type ("i64" or "i32"), `symbols` the address of each symbol."""

    pattern: str
    index: str
    symbols: dict[str, int]

    def symbol(self, name: str) -> str:
        """The symbol of a routine, e.g. of `cblas_dgemm`."""
        return self.pattern.format(name)

    def gemm(
        self, dtype: str, a: str, b: str, c: str, mnk: tuple[Index, Index, Index], ld: tuple[Index, Index, Index], *,
        trans: tuple[bool, bool] = (False, False), alpha: float = 1.0, beta: float = 0.0, name: str = "blas", guarded: bool = True,
    ) -> list[Stmt]:  # fmt: skip
        """Statements for C = alpha op(A) op(B) + beta C on one thread; row-major buffers, leading dimensions `ld`.

        A is m x k (k x m if trans[0]), B k x n (n x k if trans[1]), C m x n. `name` makes the bound names unique. Not `guarded`:
        the caller sees to the one thread.
        """
        flags: list[Operand] = [Const(_ROW_MAJOR, "i32"), *[Const(_TRANSPOSED if t else _PLAIN, "i32") for t in trans]]
        before, (m, n, k, lda, ldb, ldc) = self._integers((*mnk, *ld), name)
        f, i = _LLVM[dtype], self.index
        args = (*flags, m, n, k, Const(alpha, dtype), a, lda, b, ldb, Const(beta, dtype), c, ldc)
        signature = ("void", "i32", "i32", "i32", i, i, i, f, "ptr", i, "ptr", i, f, "ptr", i)
        call = Call(self.symbol(f"cblas_{_LETTER[dtype]}gemm"), args, signature, writes=(c,))
        return [*before, *(self.on_one_thread([call], name) if guarded else [call])]

    def gemv(
        self, dtype: str, a: str, x: str, y: str, mn: tuple[Index, Index], lda: Index, *,
        trans: bool = False, alpha: float = 1.0, beta: float = 0.0, name: str = "blas",
    ) -> list[Stmt]:  # fmt: skip
        """Statements for y = alpha op(A) x + beta y on one thread; A is m x n and row-major, x and y are contiguous."""
        before, (m, n, ld, one) = self._integers((*mn, lda, 1), name)
        f, i = _LLVM[dtype], self.index
        flags: tuple[Operand, ...] = (Const(_ROW_MAJOR, "i32"), Const(_TRANSPOSED if trans else _PLAIN, "i32"))
        args = (*flags, m, n, Const(alpha, dtype), a, ld, x, one, Const(beta, dtype), y, one)
        signature = ("void", "i32", "i32", i, i, f, "ptr", i, "ptr", i, f, "ptr", i)
        call = Call(self.symbol(f"cblas_{_LETTER[dtype]}gemv"), args, signature, writes=(y,))
        return [*before, *self.on_one_thread([call], name)]

    def _integers(self, xs: tuple[Index, ...], name: str) -> tuple[list[Stmt], list[Operand]]:
        """Integer arguments in the type that this BLAS takes."""
        lets: list[Stmt] = []
        out: list[Operand] = []
        for k, x in enumerate(xs):
            if isinstance(x, int):
                out.append(Const(x, self.index))
            elif self.index == "i64":
                out.append(x)
            else:
                lets.append(Let(f"{name}_i{k}", "i32", Apply("cast", (x,))))
                out.append(f"{name}_i{k}")
        return lets, out

    def on_one_thread(self, calls: list[Stmt], name: str) -> list[Stmt]:
        """The calls with OpenBLAS's thread count at 1, which is set back after them."""
        get, put = self.symbol("openblas_get_num_threads"), self.symbol("openblas_set_num_threads")
        if get not in self.symbols or put not in self.symbols:
            return calls
        return [
            Call(get, (), ("i32",), f"{name}_threads", "i32"),
            Call(put, (Const(1, "i32"),), ("void", "i32")),
            *calls,
            Call(put, (f"{name}_threads",), ("void", "i32")),
        ]


@once
def find() -> Blas | None:
    """NumPy's BLAS, tested, or None if it has none of the known symbols or one gives a wrong result."""
    package = "numpy._core" if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else "numpy.core"
    try:
        lib = ctypes.CDLL(importlib.import_module(f"{package}._multiarray_umath").__file__)
    except (ImportError, OSError):
        return None
    for pattern, index in _PATTERNS:
        if all(hasattr(lib, pattern.format(n)) for n in ROUTINES):
            names = [*ROUTINES]
            names += [n for n in ("openblas_get_num_threads", "openblas_set_num_threads") if hasattr(lib, pattern.format(n))]
            symbols = {pattern.format(n): ctypes.cast(getattr(lib, pattern.format(n)), ctypes.c_void_p).value or 0 for n in names}
            found = Blas(pattern, index, symbols)
            return found if all(_works(found, lib, dtype) for dtype in _LETTER) else None
    return None


def _works(blas: Blas, lib: ctypes.CDLL, dtype: str) -> bool:
    """Small products with a transposed operand, leading dimensions, alpha and beta; whole numbers, so they are exact."""
    real = ctypes.c_double if dtype == "f64" else ctypes.c_float
    i = ctypes.c_int64 if blas.index == "i64" else ctypes.c_int32
    p, e = ctypes.c_void_p, ctypes.c_int
    a = np.arange(15).astype(DTYPES[dtype]).reshape(3, 5)
    b = (np.arange(8) % 5).astype(DTYPES[dtype]).reshape(2, 4)
    c, y = np.ones((3, 2), DTYPES[dtype]), np.ones(3, DTYPES[dtype])
    expect, expect_y = 2 * (a[:, :4] @ b.T) + 3, 2 * (a[:, :4] @ b[0]) + 3
    gemm = getattr(lib, blas.symbol(f"cblas_{_LETTER[dtype]}gemm"))
    gemm.restype, gemm.argtypes = None, [e, e, e, i, i, i, real, p, i, p, i, real, p, i]
    gemm(_ROW_MAJOR, _PLAIN, _TRANSPOSED, 3, 2, 4, 2.0, a.ctypes.data, 5, b.ctypes.data, 4, 3.0, c.ctypes.data, 2)
    gemv = getattr(lib, blas.symbol(f"cblas_{_LETTER[dtype]}gemv"))
    gemv.restype, gemv.argtypes = None, [e, e, i, i, real, p, i, p, i, real, p, i]
    gemv(_ROW_MAJOR, _PLAIN, 3, 4, 2.0, a.ctypes.data, 5, b.ctypes.data, 1, 3.0, y.ctypes.data, 1)
    return np.array_equal(c, expect) and np.array_equal(y, expect_y)
