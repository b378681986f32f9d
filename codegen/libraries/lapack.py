"""NumPy's own LAPACK, by symbol look-up in the extension module of numpy.linalg: the Fortran interface, all arguments by address.

NumPy >= 2 wheels have `scipy_dgetrf_64_` (64-bit integers), NumPy 1.26 wheels `dgetrf_64_`, builds of distributions `dgetrf_`
(32-bit). None of this is a documented interface, so the routines are tested at first use; `find` gives None where
there is none that works, and the caller lets Python run NumPy's function instead. As NumPy does, the hidden lengths of
character arguments are left out.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

import numpy as np

from irad.core.lazy_dataclass import dataclass, field
from irad.core.once import once
from irad.core.types import DTYPES, Type, is_complex, real_dtype
from irad.errors import IradError

_PATTERNS = (("scipy_{}_64_", "i64"), ("{}_64_", "i64"), ("scipy_{}_", "i32"), ("{}_", "i32"))
_LETTER = {"f64": "d", "f32": "s", "c128": "z", "c64": "c"}
ROUTINES = ("getrf", "potrf", "trsm", "geqrf", "orgqr", "gesdd", "syevd", "geev")
_OF_COMPLEX = {"orgqr": "ungqr", "syevd": "heevd"}
Argument = Any  # a character, an int, a float, or an array that the routine reads and writes


@dataclass(eq=False)
class Lapack:
    """What was found: `index` is its integer type ("i64" or "i32"), `symbols` the address of each symbol."""

    pattern: str
    index: str
    library: ctypes.CDLL
    symbols: dict[str, int] = field(default_factory=dict)
    threads: str = ""  # pattern of openblas_get_num_threads and openblas_set_num_threads, if they are there

    def symbol(self, routine: str, dtype: str) -> str:
        """The symbol of a routine, e.g. "getrf", for a dtype; the names of real routines stand for those of complex ones."""
        return self.pattern.format(_name(routine, dtype))

    def call(self, routine: str, dtype: str, *args: Argument) -> None:
        """Call it from Python: numbers and characters are passed by address, arrays (of the right dtype) as they are."""
        kept: list[Any] = []
        for a in args:
            if isinstance(a, str):
                a = np.frombuffer(a.encode(), np.uint8)
            elif isinstance(a, int):
                a = np.array(a, DTYPES[self.index])
            elif isinstance(a, float):
                a = np.array(a, Type(dtype).numpy)
            kept.append(a)
        function = getattr(self.library, self.symbol(routine, dtype))
        function.restype, function.argtypes = None, [ctypes.c_void_p] * len(kept)
        function(*(a.ctypes.data for a in kept))

    def integers(self, n: int) -> np.ndarray:
        """An integer array for `call`."""
        return np.zeros(n, DTYPES[self.index])


def symbols(pattern: str, dtype: str) -> list[str]:
    """The symbols of all routines for a dtype."""
    return [pattern.format(_name(r, dtype)) for r in ROUTINES]


def _name(routine: str, dtype: str) -> str:
    return _LETTER[dtype] + (_OF_COMPLEX.get(routine, routine) if is_complex(dtype) else routine)


@once
def works(dtype: str) -> bool:
    """Do NumPy's routines for a dtype pass the test?"""
    found = find()
    return found is not None and (not is_complex(dtype) or _works(found, dtype))


@once
def find() -> Lapack | None:
    """NumPy's LAPACK, or None if it has none of the known symbols or one gives a wrong result.

    The routines for real numbers have been tested; ask `works` about those for complex numbers.
    """
    try:
        library = ctypes.CDLL(importlib.import_module("numpy.linalg._umath_linalg").__file__)
    except (ImportError, OSError):
        return None
    names = [_name(r, dtype) for dtype in _LETTER for r in ROUTINES]
    for pattern, index in _PATTERNS:
        if all(hasattr(library, pattern.format(n)) for n in names):
            found = Lapack(pattern, index, library)
            found.symbols = {pattern.format(n): _address(library, pattern.format(n)) for n in names}
            for threads in ("scipy_{}64_", "{}64_", "scipy_{}", "{}"):
                pair = [threads.format(f"openblas_{verb}_num_threads") for verb in ("get", "set")]
                if all(hasattr(library, n) for n in pair):
                    found.threads = threads
                    found.symbols |= {n: _address(library, n) for n in pair}
                    break
            return found if all(_works(found, dtype) for dtype in ("f64", "f32")) else None
    return None


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


@functools.cache
def work_sizes(routine: str, dtype: str, args: tuple[Argument, ...]) -> tuple[int, int, int]:
    """Lengths of the working arrays that a routine asks for, given its arguments without them.

    In `args` an array is None, the lengths asked for are -1, and the three working arrays "work", "iwork" and "rwork", which is real.
    """
    lapack = find()
    assert lapack is not None
    t = Type(dtype)
    work, rwork, filler = np.zeros(1, t.numpy), np.zeros(1, Type(real_dtype(dtype)).numpy), np.zeros(4, t.numpy)
    iwork, info = lapack.integers(1), lapack.integers(1)
    named = {"work": work, "iwork": iwork, "rwork": rwork, None: filler}
    lapack.call(routine, dtype, *(named.get(a, a) for a in args), info)
    if info[0]:
        raise IradError(f"LAPACK's {routine} does not take the arguments {args}")
    whole = lambda x: int(np.ceil(float(np.real(x)) * (1 + 2**-22)))  # a float32 may be rounded down
    return whole(work[0]), max(int(iwork[0]), 1), max(whole(rwork[0]), 1)


# ---- the test ---------------------------------------------------------------------------------------------------------------------


def _works(lapack: Lapack, dtype: str) -> bool:
    """Each routine on a small matrix, with leading dimensions larger than it."""
    a = np.array([[4.0, 1.0, 2.0], [1.0, 5.0, 3.0], [2.0, 3.0, 6.0]], Type(dtype).numpy)
    if is_complex(dtype):
        a += np.array([[0, 1j, 2j], [-1j, 0, -1j], [-2j, 1j, 0]])
    tolerance = 1e-12 if dtype in ("f64", "c128") else 1e-5
    close = lambda x, y: bool(np.allclose(x, y, atol=tolerance, rtol=tolerance))
    tests = (_lu_works, _cholesky_works, _qr_works, _svd_works, _eigh_works, _eig_works)
    return all(test(lapack, dtype, a, close) for test in tests)


def _padded(a: np.ndarray) -> np.ndarray:
    """The transpose (Fortran's order) in memory with a leading dimension of 4."""
    out = np.zeros((a.shape[1], 4), a.dtype)
    out[:, : a.shape[0]] = a.T
    return out


def _lu_works(lapack: Lapack, dtype: str, a: np.ndarray, close: Any) -> bool:
    b = a[[1, 2, 0]]
    m, pivots, info = _padded(b), lapack.integers(3), lapack.integers(1)
    lapack.call("getrf", dtype, 3, 3, m, 4, pivots, info)
    lu = m[:, :3].T
    for k, p in enumerate(pivots.tolist()):
        b[[k, p - 1]] = b[[p - 1, k]]
    return info[0] == 0 and close((np.tril(lu, -1) + np.eye(3)) @ np.triu(lu), b)


def _cholesky_works(lapack: Lapack, dtype: str, a: np.ndarray, close: Any) -> bool:
    m, info = _padded(a), lapack.integers(1)
    lapack.call("potrf", dtype, "L", 3, m, 4, info)
    low, x = np.tril(m[:, :3].T), _padded(a)
    lapack.call("trsm", dtype, "L", "L", "N", "N", 3, 3, 1.0, m, 4, x, 4)
    return info[0] == 0 and close(low @ low.conj().T, a) and close(x[:, :3].T, low.conj().T)


def _qr_works(lapack: Lapack, dtype: str, a: np.ndarray, close: Any) -> bool:
    m, tau, info = _padded(a[:, :2]), np.zeros(2, a.dtype), lapack.integers(1)
    work = np.zeros(256, a.dtype)
    lapack.call("geqrf", dtype, 3, 2, m, 4, tau, work, 256, info)
    r = np.triu(m[:, :3].T)[:2]
    lapack.call("orgqr", dtype, 3, 2, 2, m, 4, tau, work, 256, info)
    q = m[:, :3].T
    return info[0] == 0 and close(q @ r, a[:, :2]) and close(q.conj().T @ q, np.eye(2))


def _real(n: int, dtype: str) -> np.ndarray:
    return np.zeros(n, Type(real_dtype(dtype)).numpy)


def _svd_works(lapack: Lapack, dtype: str, a: np.ndarray, close: Any) -> bool:
    m, s, u, vt = _padded(a[:, :2]), _real(2, dtype), np.zeros((2, 4), a.dtype), np.zeros((2, 4), a.dtype)
    work, info = np.zeros(1024, a.dtype), lapack.integers(1)
    rwork = [_real(64, dtype)] if is_complex(dtype) else []
    lapack.call("gesdd", dtype, "S", 3, 2, m, 4, s, u, 4, vt, 4, work, 1024, *rwork, lapack.integers(16), info)
    return info[0] == 0 and close((u[:, :3].T * s) @ vt[:, :2].T, a[:, :2])


def _eigh_works(lapack: Lapack, dtype: str, a: np.ndarray, close: Any) -> bool:
    m, w, work, info = _padded(a), _real(3, dtype), np.zeros(1024, a.dtype), lapack.integers(1)
    rwork = [_real(256, dtype), 256] if is_complex(dtype) else []
    lapack.call("syevd", dtype, "V", "L", 3, m, 4, w, work, 1024, *rwork, lapack.integers(64), 64, info)
    v = m[:, :3].T
    return info[0] == 0 and close((v * w) @ v.conj().T, a)


def _eig_works(lapack: Lapack, dtype: str, a: np.ndarray, close: Any) -> bool:
    """On a matrix with real eigenvalues, which are those of the routine for symmetric ones."""
    b = a * np.array([1.0, 2.0, 4.0], a.dtype)  # similar to a Hermitian matrix
    m, v, work, info = _padded(b), np.zeros((3, 4), a.dtype), np.zeros(1024, a.dtype), lapack.integers(1)
    w = [np.zeros(3, a.dtype)] if is_complex(dtype) else [_real(3, dtype), _real(3, dtype)]
    rwork = [_real(8, dtype)] if is_complex(dtype) else []
    lapack.call("geev", dtype, "N", "V", 3, m, 4, *w, v, 4, v, 4, work, 1024, *rwork, info)
    vectors, imaginary = v[:, :3].T, w[0].imag if is_complex(dtype) else w[1]
    return info[0] == 0 and close(b @ vectors, vectors * w[0]) and close(sum(w[0]), np.trace(b)) and close(imaginary, 0)
