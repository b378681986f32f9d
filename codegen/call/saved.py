"""Native code as bytes, and back: machine code as an object file, and beside it, as JSON, how it is called.

Nothing of it is Python code or an address of the process: outside functions are found again by name. Code that calls
Python back has no such form.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from irad.codegen.call.native import Made, NativeCode
from irad.codegen.interface import ErrorCode, Interface, Signature, libc_address, python_address
from irad.codegen.jit import JitError, load_object
from irad.core.once import import_later
from irad.errors import Loc

Locs = Sequence[Loc | None]  # places in the source, by their numbers


FormatError = struct.error  # of bytes that are no description


class Unsaved(Exception):
    """This code cannot be written as bytes."""


def dump(native: NativeCode, locs: Mapping[Loc | None, int], about: Mapping[str, Any]) -> bytes:
    """The bytes of native code. `locs`: the numbers of places in the source; `about`: what is said of the code to people.

    Raises Unsaved if it calls Python back, or raises at a place that has no number.
    """
    face, lowered = native.interface, native.lowered
    if face.keep:
        raise Unsaved("it calls Python back")
    symbols = sorted(lowered.symbols)
    for s in symbols:
        if _finder(s) is None:
            raise Unsaved(f"it calls {s}, which is not known by name")
    plain = ("argc", "arena", "long", "words", "constant_words")
    head = {
        "about": dict(about),
        "interface": {k: getattr(face, k) for k in plain},
        "tapes": [sorted(face.tape_params.items()), sorted(face.tape_writes), sorted(face.tape_results.items())],
        "constants": [[c.dtype.str, list(c.shape)] for c in face.constants],
        "raises": [_raised(r, locs) for r in face.raises],
        "made": [[m.shape, m.dtype.str, m.dims, m.before] for m in native.made],
        "donated": sorted(native.donated.items()),
        "exports": list(native.library.exports),
        "symbols": symbols,
    }
    return pack(head, [*(c.tobytes() for c in face.constants), native.library.object])


def load(data: bytes, locs: Locs, outside: Signature) -> NativeCode | None:
    """Native code of bytes that `dump` made of a program with these places and types; None if it does not fit this process."""
    try:
        head, blobs = unpack(data)
        found = {s: _finder(s) for s in head["symbols"]}
        symbols = {s: of(s) for s, of in found.items() if of is not None}
        if len(symbols) < len(found):
            return None
        library = load_object(blobs[-1], head["exports"], symbols)
    except (JitError, LookupError, AttributeError, ValueError, ImportError, AssertionError, struct.error):
        return None
    params, writes, results = head["tapes"]
    face = Interface(
        **head["interface"],
        constants=[np.frombuffer(b, d).reshape(shape).copy() for (d, shape), b in zip(head["constants"], blobs)],
        tape_params=dict(params),
        tape_writes=set(writes),
        tape_results=dict(results),
        raises=[ErrorCode(exc, text, tuple(dtypes), locs[at], tuple(keeps)) for exc, text, dtypes, at, keeps in head["raises"]],
    )
    made = tuple(Made(tuple(shape), np.dtype(d), _dims(dims), before) for shape, d, dims, before in head["made"])
    return NativeCode(face, library, tuple(outside[0]), tuple(outside[1]), made, dict(head["donated"]))


def _dims(dims: Any) -> Any:
    """Extents of a result as `Made` has them."""
    return None if dims is None else tuple((c, tuple((j, k) for j, k in terms)) for c, terms in dims)


def _raised(r: ErrorCode, locs: Mapping[Loc | None, int]) -> list[Any]:
    if type(r) is not ErrorCode:
        raise Unsaved("it calls Python back")
    if r.loc not in locs and r.loc is not None:
        raise Unsaved("it raises at a place that the program does not name")
    return [r.exc, r.message, r.dtypes, locs.get(r.loc, -1), r.keeps]


# ---- functions from outside ----------------------------------------------------------------------------------------------------

_LIBC = ("malloc", "free", "realloc")


def _finder(symbol: str) -> Callable[[str], int] | None:
    """How the address of an outside function is found; None for those that only the compiling process knows."""
    if symbol in _LIBC:
        return libc_address
    if symbol.startswith("Py"):
        return python_address
    if symbol == "irad_parallel":
        return lambda s: int(import_later("irad.codegen.libraries.pool").library().address(s))
    if symbol.startswith("irad_scipy_"):
        return lambda s: int(import_later("irad.codegen.math.scipy").address(s))
    if symbol.startswith(("irad_mpi_", "MPI_")):
        return lambda s: int(import_later("irad.codegen.libraries.mpi").address(s))
    if "openblas" in symbol or "cblas" in symbol or re.fullmatch(r"(scipy_)?[sdcz]\w+_(64_)?", symbol):
        return _of_numpy
    return None


def _of_numpy(symbol: str) -> int:
    """A routine of NumPy's BLAS or LAPACK; those are tested before they are used. Raises KeyError if there is none."""
    for name in ("blas", "lapack"):
        found = import_later(f"irad.codegen.libraries.{name}").find()
        if found is not None and symbol in found.symbols:
            return int(found.symbols[symbol])
    raise KeyError(symbol)


# ---- bytes -------------------------------------------------------------------------------------------------------------


def pack(head: Mapping[str, Any], blobs: Sequence[bytes]) -> bytes:
    """A description and some bytes."""
    json = import_later("json")
    text = json.dumps({**head, "sizes": [len(b) for b in blobs]}, separators=(",", ":")).encode()
    return b"".join([struct.pack("<q", len(text)), text, *blobs])


def unpack(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """What `pack` was given. Raises ValueError or struct.error for other bytes."""
    json = import_later("json")
    (size,) = struct.unpack_from("<q", data)
    head = json.loads(data[8 : 8 + size])
    at, blobs = 8 + size, []
    for n in head["sizes"]:
        blobs.append(data[at : at + n])
        at += n
    if at != len(data):
        raise ValueError("a description that does not fit")
    return head, blobs
