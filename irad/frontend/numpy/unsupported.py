"""NumPy functions that are not compiled on purpose, and why: the reason is the error's message, and stands in docs/numpy.md."""

from __future__ import annotations

from typing import Any

from irad.errors import UnsupportedError
from irad.frontend.registry import TABLE, Builder, find

_GROUPS = {
    "its order, or its named tuple, is NumPy's own: np.unique, with return_index, return_inverse and return_counts": (
        "unique_all unique_counts unique_inverse unique_values"
    ),
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
