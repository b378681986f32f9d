"""NumPy functions that are not compiled on purpose, and why: the reason is the error's message, and stands in docs/numpy.md."""

from __future__ import annotations

from typing import Any

from irad.errors import UnsupportedError
from irad.frontend.registry import TABLE, Builder, find

_GROUPS = {
    "the number of different values depends on the data, so the result has no shape: sort, and compare neighbours": (
        "unique unique_all unique_counts unique_inverse unique_values union1d intersect1d setdiff1d setxor1d trim_zeros"
    ),
    "the shape of the result depends on the data: give the bins as an array to np.histogram": "histogram_bin_edges histogram2d histogramdd",
    "roots are eigenvalues: np.linalg.eigvals of the companion matrix": "roots",
    "the quotient's degree depends on the data": "polydiv",
    "bytes have no derivative and no arithmetic here: convert before": (
        "packbits unpackbits frombuffer fromfile fromstring fromregex genfromtxt load loadtxt from_dlpack"
    ),
    "reading, writing and printing is the business of the code around: return the array": (
        "save savetxt savez savez_compressed array2string array_repr array_str base_repr binary_repr format_float_positional "
        "format_float_scientific info show_config show_runtime test get_include"
    ),
    "dates are not numbers here: convert to float64 before": (
        "busday_count busday_offset is_busday datetime_as_string datetime_data isnat"
    ),
    "np.matrix is not supported: use arrays and @": "asmatrix bmat",
    "NumPy's own state does not reach compiled code, which warns of nothing": (
        "seterr seterrcall geterr geterrcall setbufsize getbufsize set_printoptions get_printoptions printoptions nested_iters"
    ),
}


def _refusing(name: str, reason: str) -> Builder:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"np.{name}: {reason}")

    return refuse


REASONS: dict[str, str] = {name: reason for reason, names in _GROUPS.items() for name in names.split()}

for _name, _reason in REASONS.items():
    if find(_name) is not None and find(_name) not in TABLE:
        TABLE[find(_name)] = _refusing(_name, _reason)
