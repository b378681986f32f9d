"""The one table from NumPy to the graph, as the front end sees it.

`lookup(fn)` is the builder of a NumPy or scipy.special function, with that function's signature, taking `Arr`s and static
operands and returning an `Arr`, a tuple or list of them, or static values (`np.shape`). A call with no traced operand
at all is not made here: the front end runs NumPy itself. `out=` is the caller's business: store the result; only a
ufunc's `where=` needs it, so pass `out=` (its current content) along with `where=`.

`METHODS` and `ATTRIBUTES` are keyed by name, their builders take the array first. `OPERATORS` is keyed by the names of the
module `operator` ("add", "truediv", "and_", "lt", "neg", ...), and "divmod", "round", "int", "float", "bool"; where
every operand is a Python scalar (a weak `Arr` or a static Python number) they mean what Python means, raising
ZeroDivisionError and OverflowError at run time. `VIEWS` holds what returns a view.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from irad.core.once import COMPILER
from irad.frontend.registry import ATTRIBUTES, METHODS, NAMES, OPERATORS, TABLE, VIEWS, Builder
from irad.frontend.values.arr import Arr, NeedStatic, is_traced, lift
from irad.frontend.values.index import add_at, additem, augitem, check_same_kind, getitem, setitem
from irad.ops.intervals import bound, interval

# Modules that register methods and operators, or what most programs use.
for _name in (
    "attributes", "complex", "elementwise", "functions", "gather", "join", "linalg", "make", "move", "operators", "reduce",
    "scan", "shape", "sort",
):  # fmt: skip
    import_module(f"irad.frontend.numpy.{_name}")

# Modules that are imported when a function of NumPy is not among those above; they register functions only, no methods.
_more = [
    "numpy.einsum", "numpy.fft", "numpy.bincount", "library.numpy.histograms", "numpy.linalg_solve", "numpy.linalg_spectral", "numpy.linalg_norm",
    "library.numpy.functional", "library.numpy.nan", "library.numpy.padding", "library.numpy.sampled", "library.numpy.statistics", "numpy.ufunc_folds", "numpy.float_parts", "library.numpy.polynomials", "library.numpy.poly1d", "library.numpy.series", "library.numpy.sets", "library.numpy.quantiles", "library.numpy.domains", "numpy.unsupported",
]  # fmt: skip
# The same for modules of SciPy and numpy.testing, once the user has imported them.
_parts = {
    "numpy.testing": ["library.numpy.testing"],
    "scipy.special": [
        "scipy.special",
        "library.special.lambert",
        "library.special.gamma",
        "library.special.orthogonal",
        "library.special.counting",
    ],
    "scipy.linalg": ["scipy.linalg", "library.linalg.matrices", "library.linalg.riccati", "library.linalg.factors"],
    "scipy.stats": [
        "library.stats.stats",
        "library.stats.more_distributions",
        "library.stats.drawing",
        "library.stats.samples",
        "library.stats.hypotheses",
        "library.stats.densities",
    ],
    "scipy.integrate": ["library.integrate.integration", "library.integrate.integrals"],
    "scipy.optimize": ["library.optimize.optimisation", "library.optimize.minima"],
    "scipy.interpolate": ["library.interpolate.interpolation", "library.interpolate.surfaces", "library.interpolate.splines"],
    "scipy.spatial.distance": ["library.spatial.distances"],
    "scipy.spatial.transform": ["library.spatial.rotations"],
    "scipy.spatial": ["library.linalg.factors", "library.spatial.nearby"],
    "scipy.sparse": ["library.sparse.sparse_made", "library.sparse.sparse_systems"],
    "scipy.signal": [
        "library.signal.filters",
        "library.signal.resampling",
        "library.signal.periodograms",
        "library.signal.waves",
        "library.signal.peaks",
    ],
    "scipy.ndimage": ["library.ndimage.images", "library.ndimage.neighbours", "library.ndimage.warps", "library.ndimage.labels"],
    "scipy.fft": ["library.signal.spectra"],
    "scipy.fftpack": ["library.signal.spectra"],
}


def lookup(fn: Any) -> Builder | None:
    """The builder of a function object, or None. SciPy's are registered once the user has imported them."""
    try:
        found = TABLE.get(fn)
    except TypeError:  # not hashable
        return None
    if found is None and _of_numpy(fn) and load_all(fn):
        found = TABLE.get(fn)
    return found


def _of_numpy(fn: Any) -> bool:
    """Is it NumPy's or SciPy's?"""
    if isinstance(fn, np.ufunc) or isinstance(getattr(fn, "__self__", None), np.ufunc):
        return True
    return str(getattr(fn, "__module__", "")).split(".")[0] in ("numpy", "scipy")


def _part_of(fn: Any) -> str:
    """The module that a function belongs to; SciPy's ufuncs do not say where they are from, nor do functions of its inner modules."""
    path = "scipy.special" if isinstance(fn, np.ufunc) else str(getattr(fn, "__module__", ""))
    return "scipy.sparse" if path == "scipy._lib._sparse" else path


def load_all(fn: Any = None) -> bool:
    """Register the functions of the modules that are not imported yet, and what has been imported of SciPy: all, or that part which
    `fn` belongs to. Were there any?"""
    with COMPILER:
        part = "" if fn is None else _part_of(fn)
        more, found = list(_more), [n for n in _parts if n in sys.modules and (fn is None or part.startswith(n))]
        for name in more:
            import_module(f"irad.frontend.{name}")
        _more.clear()
        for name in found:
            for part in _parts.pop(name):
                import_module(f"irad.frontend.{part}")
        return bool(more or found)


def nearest(name: str) -> list[str]:
    """Up to three supported names close to an unsupported one, for "did you mean"; methods are given as `.sum`."""
    with COMPILER:
        import difflib  # only errors need it
    load_all()
    short = name.rsplit(".", 1)[-1]
    by_last = {k.rsplit(".", 1)[-1]: k for k in reversed(NAMES)}
    found = difflib.get_close_matches(short, by_last, n=3, cutoff=0.6)
    return [by_last[f] for f in found]


__all__ = [
    "ATTRIBUTES", "Arr", "Builder", "METHODS", "NAMES", "NeedStatic", "OPERATORS", "TABLE", "VIEWS", "add_at", "additem",
    "augitem", "bound", "check_same_kind", "getitem", "interval", "is_traced", "lift", "load_all", "lookup", "nearest", "setitem",
]  # fmt: skip
