"""The op table. Each op is one row in one module; `OPS` finds a row by name.

core < constant < elementwise < array, polygamma, slopes < bessel, complex, normal_tail, custom, fft, mask, sorting < control <
loop, matrix < linalg < eigen, spectral < determinant, matrix_functions, parts: a module uses only those before it. `intervals`
graphs being built and makes no op.
"""

from irad.ops import (  # noqa: F401
    array,
    bessel,
    complex,
    constant,
    control,
    custom,
    determinant,
    eigen,
    elementwise,
    fft,
    intervals,
    linalg,
    loop,
    mask,
    matrix_functions,
    normal_tail,
    parts,
    polygamma,
    slopes,
    sorting,
    spectral,
)
from irad.ops.core import OPS, Op, effects

__all__ = ["OPS", "Op", "effects"]
