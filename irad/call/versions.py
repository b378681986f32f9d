"""What a function has been compiled for: a list, a warning where it grows with the shapes of an argument, and how it is let go."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from irad.call.runtime import Cache, cache_for
from irad.core.lazy_dataclass import dataclass, field
from irad.frontend.values.traced import Leaf
from irad.options import parameters

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass(frozen=True)
class Version:
    """One version of a function. `of`: what is computed ("value", "grad"...); `arguments`: types of the arrays and numbers, values of
    constants; `seconds`: how long it took to make, or to load; `size`: bytes of machine code, as an object file; `extents`: those that
    are known at run time only, by their names in the types, with the least and the greatest that the version is for."""

    of: str
    arguments: tuple[str, ...]
    seconds: float
    size: int
    extents: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def _caches(c: Any) -> dict[str, Cache]:
    """Where the versions of a compiled function are, by what they compute."""
    functions = {"value": c.__wrapped__, "value_and_grad": c.value_and_grad, "grad": c.grad}
    return {name: cache_for(fn, c.options) for name, fn in functions.items()}


def of(c: Any) -> list[Version]:
    """The versions of a compiled function."""
    return [v for name, cache in _caches(c).items() for v in versions(name, cache)]


def clear(c: Any) -> None:
    """Let the versions of a compiled function go."""
    for cache in _caches(c).values():
        cache.clear()


def versions(of: str, cache: Cache) -> Iterator[Version]:
    """The versions in a cache, the last added last."""
    for found in list(cache.entries.values()):
        for s in reversed(found):
            leaves = tuple(_shown(i) for i in s.traced.in_leaves if i.alias is None)
            extents = {e.name: (e.low, e.high) for e in s.traced.extents}
            yield Version(of, leaves, cache.seconds.get(s, 0.0), len(s.native.library.object), extents)


def _shown(leaf: Leaf) -> str:
    return leaf.type.show(lambda v: str(v.hint)) if leaf.param is not None else repr(leaf.value)


def warn(fn: Any, cache: Cache, key: Any) -> None:
    """Say which argument varies, when a function has been compiled for as many shapes as `SHAPES`."""
    keys = [k for k in cache.entries if k[0] == key[0]]
    varies = [n for n in range(1, len(key)) if len({_shape(k[n]) for k in keys}) > 1]
    if not varies:
        return
    shapes = sorted({str(_shape(k[varies[0]])) for k in keys})
    name = getattr(fn, "__name__", "a function")
    text = (
        f"{name} has been compiled for {len(keys)} shapes: {', '.join(_argument(fn, key[0], n - 1) for n in varies)} varies "
        f"({', '.join(shapes[:3])}...). Each shape is compiled by itself; dynamic=True makes code for all sizes"
    )
    warnings.warn(text, UserWarning, stacklevel=_depth())


def warn_of_values(fn: Any, tree: Any, found: Sequence[Any]) -> bool:
    """Say which argument or captured thing varies, when there are many versions for one structure and types of the arguments."""
    values: dict[str, dict[str, None]] = {}  # what varies -> its values
    for s in reversed(found):
        for k, leaf in enumerate(s.traced.in_leaves):
            if leaf.param is None and leaf.alias is None:
                values.setdefault(_argument(fn, tree, k), {})[repr(leaf.value)] = None
        for g in s.traced.guards:
            if g.kind == "eq":
                values.setdefault(str(g.path), {})[repr(g.expected)] = None
    name, shown = max(values.items(), key=lambda x: len(x[1]), default=("", {}))
    if len(shown) < len(found) // 2:
        return False
    text = (
        f"{getattr(fn, '__name__', 'a function')} has been compiled for {len(shown)} values: {name} varies ({', '.join(list(shown)[:3])}...). "
        "It decides a shape, a key, a text or which statements there are, so each value is compiled by itself; an argument that only "
        "bounds loops, indexes arrays or is computed with is not"
    )
    warnings.warn(text, UserWarning, stacklevel=_depth())
    return True


def warn_of_raising(fn: Any) -> None:
    """Say that NumPy is set to raise exceptions that compiled code does not raise."""
    told = ", ".join(f"{k}='raise'" for k, v in np.geterr().items() if v == "raise")
    text = (
        f"np.seterr({told}): {getattr(fn, '__name__', 'a function')} as compiled raises no FloatingPointError; "
        "test the operands (if np.any(y == 0): raise ...)"
    )
    warnings.warn(text, UserWarning, stacklevel=_depth())


def _shape(key: Any) -> Any:
    return key[1] if isinstance(key, tuple) else ()


def _argument(fn: Any, tree: Any, leaf: int) -> str:
    """The argument that a leaf is part of."""
    placed, by_name = tree.children
    names = parameters(fn)[0]
    for k, child in enumerate((*placed.children, *by_name.children)):
        if leaf < child.size:
            if k >= len(placed.children):
                return f"argument {by_name.meta[k - len(placed.children)]!r}"
            return f"argument {names[k]!r}" if k < len(names) else f"argument {k}"
        leaf -= child.size
    return "an argument"


def _depth() -> int:
    """How far up the user's line is."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        depth, frame = depth + 1, frame.f_back
    return depth
