"""np.vectorize: a function on each element, or with a signature on each part, as one loop."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import current
from irad.errors import IradValueError
from irad.frontend.control.array_like import array_like
from irad.frontend.control.loops import run_for
from irad.frontend.control.regions import run_region
from irad.frontend.control.sequences import Seq
from irad.frontend.control.trips import LoopStatement
from irad.frontend.reader import Reader
from irad.frontend.reading.comprehensions import table
from irad.frontend.values.arr import broadcast_shapes, static_int
from irad.frontend.values.objects import Nullable, Poison


def vectorized(r: Reader, fn: np.vectorize, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """fn(*args, **kwargs). The dtype is that of all results, not that of the first."""
    if fn.pyfunc is np._NoValue:  # type: ignore[attr-defined]  # a decorator with arguments
        return np.vectorize(args[0], otypes=fn.otypes, excluded=fn.excluded, signature=fn.signature)
    path = r.captures.path(fn)
    f = fn.pyfunc if path is None else r.captures.take(fn.pyfunc, path.child("attr", "pyfunc"))
    excluded = set(fn.excluded or ())
    places = [k for k in range(len(args)) if k not in excluded]
    names = [n for n in kwargs if n not in excluded]

    def call(values: Sequence[Any]) -> Any:
        given, named = list(args), dict(kwargs)
        for k, v in zip(places, values):
            given[k] = v
        named.update(zip(names, values[len(places) :]))
        out = r.call(f, given, named)
        return r.definite(out, "what np.vectorize makes an element of") if isinstance(out, Nullable) else out

    arrays = [r.call(np.asarray, [array_like(r, v)]) for v in (*(args[k] for k in places), *(kwargs[n] for n in names))]
    if fn.signature is None:
        outer, parts = _elements(r, arrays)
    else:
        outer, parts = _parts(r, arrays, fn.signature)
    out = _each(r, outer, parts, call, fn.signature is not None, fn.otypes is None)
    if isinstance(out, Poison):
        return out
    many = isinstance(out, tuple)
    cast = [
        x if t is None else r.call(r.getattr(x, "astype"), [t])
        for x, t in zip(out if many else (out,), fn.otypes or (None,) * 99)
    ]
    return tuple(cast) if many else cast[0]


Parts = Callable[[Any], list[Any]]


def _elements(r: Reader, arrays: list[Any]) -> tuple[tuple[Any, ...], Parts]:
    """The shape that the arrays have together, and the elements at a flat position."""
    wide = r.call(np.broadcast_arrays, arrays) if len(arrays) > 1 else arrays
    flat = [r.call(np.ravel, [a]) for a in wide]
    return wide[0].shape if wide else (), lambda k: [r.getitem(a, k) for a in flat]


def _parts(r: Reader, arrays: list[Any], signature: str) -> tuple[tuple[Any, ...], Parts]:
    """The same of the parts that a signature such as "(m,n),(n)->(m)" names: the last axes of each array."""
    cores = re.findall(r"\(([^)]*)\)", signature.partition("->")[0])
    if len(cores) != len(arrays):
        raise IradValueError(f"wrong number of positional arguments: expected {len(cores)}, got {len(arrays)}")
    ranks = [len([d for d in core.split(",") if d.strip()]) for core in cores]
    for a, n in zip(arrays, ranks):
        if len(a.shape) < n:
            raise IradValueError(f"{len(a.shape)}-dimensional argument does not have enough dimensions for all core dimensions")
    outer = broadcast_shapes(*(a.shape[: len(a.shape) - n] for a, n in zip(arrays, ranks)))
    rows = []
    for a, n in zip(arrays, ranks):
        core = a.shape[len(a.shape) - n :]
        wide = r.call(np.broadcast_to, [a, (*outer, *core)])
        rows.append(r.call(np.reshape, [wide, (-1, *core)]) if outer else wide)
    return outer, lambda k: [r.getitem(a, k) if outer else a for a in rows]


def _each(
    r: Reader, outer: tuple[Any, ...], parts: Parts, call: Callable[[Sequence[Any]], Any], whole: bool, untyped: bool
) -> Any:
    if whole and not outer:
        out = call(parts(0))
        return tuple(r.call(np.asarray, [x]) for x in out) if isinstance(out, tuple) else r.call(np.asarray, [out])
    shape = tuple(static_int(n, "an extent of an argument of np.vectorize") for n in outer)
    n = int(np.prod(shape))
    probe = run_region(r, lambda: call(parts(0))).result if n and not whole else None
    if n and not whole and probe is None:  # it is called for what it changes
        if untyped:  # NumPy asks the first element for its type
            call(parts(0))
        run_for(r, LoopStatement(current().loc, lambda k: call(parts(k)) and None, None, None, None), Seq(n, lambda k: k))
        return Poison("it is what np.vectorize makes of a function that returns None: an array of objects")
    rows = table(r, n, lambda k: call(parts(k)), probe)
    shaped = lambda x: r.call(np.reshape, [x, (*shape, *x.shape[1:])])
    return tuple(map(shaped, rows)) if isinstance(rows, tuple) else shaped(rows)
