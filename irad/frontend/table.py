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

import difflib
import sys
from typing import Any

from irad.frontend import (  # noqa: F401  (importing registers)
    np_attributes,
    np_complex,
    np_einsum,
    np_elementwise,
    np_fft,
    np_functions,
    np_gather,
    np_histogram,
    np_join,
    np_linalg,
    np_linalg_complex,
    np_linalg_norm,
    np_linalg_solve,
    np_linalg_spectral,
    np_make,
    np_move,
    np_nan,
    np_operators,
    np_pad,
    np_reduce,
    np_scan,
    np_shape,
    np_signal,
    np_sort,
    np_stats,
    np_ufunc_methods,
    sp_special,
)
from irad.frontend.arr import Arr, NeedStatic, is_traced, lift
from irad.frontend.np_index import add_at, additem, augitem, check_same_kind, getitem, setitem
from irad.frontend.np_registry import ATTRIBUTES, METHODS, NAMES, OPERATORS, TABLE, VIEWS, Builder
from irad.ops.intervals import bound, interval

_special_loaded = False


def lookup(fn: Any) -> Builder | None:
    """The builder of a function object, or None. scipy.special's are registered once the user has imported it."""
    try:
        return TABLE.get(fn) or (TABLE.get(fn) if _load_special() else None)
    except TypeError:  # not hashable
        return None


def _load_special() -> bool:
    """Register scipy.special if it has been imported since the last look."""
    global _special_loaded
    if _special_loaded or "scipy.special" not in sys.modules:
        return False
    sp_special.register(sys.modules["scipy.special"])
    _special_loaded = True
    return True


def nearest(name: str) -> list[str]:
    """Up to three supported names close to an unsupported one, for "did you mean"; methods are given as `.sum`."""
    short = name.rsplit(".", 1)[-1]
    by_last = {k.rsplit(".", 1)[-1]: k for k in reversed(NAMES)}
    found = difflib.get_close_matches(short, by_last, n=3, cutoff=0.6)
    return [by_last[f] for f in found]


__all__ = [
    "ATTRIBUTES", "Arr", "Builder", "METHODS", "NAMES", "NeedStatic", "OPERATORS", "TABLE", "VIEWS", "add_at", "additem",
    "augitem", "bound", "check_same_kind", "getitem", "interval", "is_traced", "lift", "lookup", "nearest", "setitem",
]  # fmt: skip
