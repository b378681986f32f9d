"""What code may call that is not its own: everything that is found in this process, or only what a library that is exported is linked with.

The code is the same; other are the symbols of BLAS and LAPACK, and whether Python can be called back.
"""

from __future__ import annotations

from irad.codegen.libraries import blas, lapack
from irad.core.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Outside:
    """`python`: is there a Python that can be called back? `library`: whose routines are called: NumPy's ("numpy"), those of a library
    with the C interface of BLAS and Fortran's of LAPACK, 32-bit integers ("cblas"), or none ("none")."""

    python: bool = True
    library: str = "numpy"

    def blas(self) -> blas.Blas | None:
        """The BLAS for products; None: loops are generated."""
        if self.library == "numpy":
            return blas.find()
        return blas.Blas("{}", "i32", dict.fromkeys(blas.ROUTINES, 0)) if self.library == "cblas" else None

    def lapack(self, dtype: str) -> lapack.Lapack | None:
        """The LAPACK for matrices of a dtype, complex ones too."""
        if self.library == "none" or not lapack.works(dtype):  # it says how much memory its routines ask for
            return None
        found = lapack.find()
        if self.library == "numpy" or found is None:
            return found
        return lapack.Lapack("{}_", "i32", found.library, dict.fromkeys(lapack.symbols("{}_", dtype), 0))


PROCESS = Outside()
