"""scipy.sparse: its classes, matrices from outside, and what is computed of places when the program is read.

What such a matrix is in the program is irad.frontend.library.sparse.sparse; it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.once import import_later
from irad.frontend.library.sparse import sparse_places as places
from irad.frontend.library.sparse.sparse import Sparse
from irad.frontend.library.sparse.sparse_made import made
from irad.frontend.python.numbers import BUILTINS, builtin
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, NeedStatic, is_traced, static_value
from irad.frontend.values.captures import Captures
from irad.frontend.values.guards import Path, content
from irad.frontend.values.objects import Array, Cell


def _run(fn: Callable[..., Any]) -> None:
    """A function of places is run when the program is read."""

    def call(r: Reader, *args: Any) -> Any:
        given = [r.operand(x) if not isinstance(x, tuple) else tuple(map(r.operand, x)) for x in args]
        return r.wrap(fn(*(static_value(x, "the places of a sparse matrix") for x in given)))

    builtin(fn)(call)


for _fn in (places.rows_of, places.merge, places.pairs, places.inside, places.picked, places.band, places.totals):
    _run(_fn)


@builtin(places.placed)
def _placed(r: Reader, x: Any) -> bool:
    found = r.operand(x)
    if isinstance(found, Arr) and r.decided_by(found):
        raise NeedStatic(found, "the places of a sparse matrix")
    return not is_traced([found])


def _class(cls: type, product: bool) -> None:
    format = cls.__name__.partition("_")[0]
    BUILTINS[cls] = lambda r, *args, **kwargs: r.call(made, [format, product, *args], kwargs)


_sparse = import_later("scipy.sparse")
for _format in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
    for _kind in ("matrix", "array"):
        if (_cls := getattr(_sparse, f"{_format}_{_kind}", None)) is not None:
            _class(_cls, _kind == "matrix")


def stand_for(captures: Captures, obj: Any, path: Path) -> Sparse:
    """What stands for a matrix from outside: its places are constants, compared at each call, its numbers are read at each call."""
    captures.guard(path, "type", type(obj))
    captures.guard(path.child("attr", "shape"), "eq", obj.shape)
    if obj.format not in ("csr", "csc", "coo"):
        path = path.child("coo")
        obj = obj.tocoo()
    captures.guard(path.child("attr", "shape"), "eq", obj.shape)
    names = ("row", "col") if obj.format == "coo" else ("indices", "indptr")
    for name in names:
        captures.guard(path.child("attr", name), "content", content(getattr(obj, name)))
    if obj.format == "coo":
        row, col = obj.row, obj.col
    else:
        at = places.rows_of(obj.indptr)
        row, col = (at, obj.indices) if obj.format == "csr" else (obj.indices, at)
    fixed = lambda x: Array(Cell(np.array(x, np.int64)))
    out = object.__new__(Sparse)
    data = captures.take(obj.data, path.child("attr", "data"))
    vars(out).update(
        row=fixed(row), col=fixed(col), data=data, shape=tuple(map(int, obj.shape)), format=obj.format,
        product=isinstance(obj, _sparse.spmatrix), full=None, outside=True,
    )  # fmt: skip
    return out
