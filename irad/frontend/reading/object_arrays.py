"""Arrays of dtype object are made here; what they do is in irad.frontend.library.numpy.object_arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.library.numpy.object_arrays import ObjectArray
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, static_int
from irad.frontend.values.objects import Array
from irad.frontend.values.runs import has_run

_FILLED = {np.empty: None, np.zeros: 0, np.ones: 1}


def make(r: Reader, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a NumPy function that makes an array of dtype object; NotImplemented where NumPy itself makes it."""
    given = dict(kwargs)
    given.pop("dtype", None)
    if fn in (np.array, np.asarray):
        return _of(r, args[0] if args else given.pop("object"))
    shape = args[0] if args else given.pop("shape")
    if isinstance(shape, ObjectArray):
        shape = shape.shape
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    sizes = tuple(static_int(n, "a length of an array of objects") for n in sizes)
    value = _FILLED[fn] if fn in _FILLED else args[1] if len(args) > 1 else given.pop("fill_value")
    return r.call(ObjectArray, [r.state.made([value] * int(np.prod(sizes))), sizes])


def _of(r: Reader, x: Any) -> Any:
    if isinstance(x, ObjectArray):
        return r.call(r.getattr(x, "copy"), [])
    if has_run(x):
        raise UnsupportedError("an array of objects of a list whose length depends on data; keep the list")
    if not isinstance(x, (list, tuple)) or _are_texts(x):
        return NotImplemented
    shape = np.array(_proxy(x), dtype=object).shape
    items = []
    for at in np.ndindex(shape):
        v = x
        for k in at:
            v = r.getitem(v, k)
        items.append(v)
    return r.call(ObjectArray, [r.state.made(items), shape])


def _are_texts(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return all(map(_are_texts, x))
    return isinstance(x, (str, bytes))


def _proxy(x: Any) -> Any:
    """What NumPy sees of the shape of something: each number is an object."""
    if isinstance(x, Array):
        return np.empty([static_int(n, "a length in an array of objects") if isinstance(n, Arr) else n for n in x.shape], object)
    if isinstance(x, ObjectArray):
        return np.empty(x.shape, object)
    return [_proxy(y) for y in x] if isinstance(x, (list, tuple)) and not has_run(x) else object()
