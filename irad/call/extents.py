"""Which extents of the arguments are parameters of the code: those that `irad.compile(dynamic=)` names, or that have varied.

Small ones never are: broadcasting depends on 0 and 1, and from 2 to 4 they are mostly axes of space, colours or blocks, whose loops are
written out and whose elements are in registers. Nor are those of arrays that are not contiguous.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from irad.core.tree import TreeDef, leaf_fields
from irad.errors import IradError
from irad.frontend.values.traced import VARYING
from irad.options import Options, leaves_of, takes

Axes = frozenset[tuple[int, int]]  # of argument leaves
NONE: Axes = frozenset()


def rank_key(x: Any) -> Any:
    """Like `irad.call.runtime.leaf_key`, but equal for arrays of any extents that are not small; None for a leaf that has code of its own."""
    if isinstance(x, np.ndarray):
        if type(x) is not np.ndarray or not x.flags.c_contiguous:
            return None
        return x.dtype, tuple(min(n, VARYING) for n in x.shape)
    return x.dtype if isinstance(x, np.generic) else type(x)


def any_size(tree: TreeDef, leaves: Sequence[Any]) -> Any:
    """The key of versions for all sizes; None if there can be none."""
    kinds = [rank_key(x) for x in leaves]
    return None if None in kinds else ("any size", tree, *kinds)


def named(fn: Any, given: Options, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: Sequence[Any], tree: TreeDef) -> Axes:
    """The axes that the option names, of a call."""
    wanted = given.dynamic
    if not wanted or "out" in kwargs and not takes(fn, "out"):
        return NONE
    if isinstance(wanted, bool):
        which: list[tuple[int, Any]] = [(k, None) for k in range(len(leaves))]
    else:
        which = [(k, axes) for name, axes in wanted for k in leaves_of(fn, (name,), args, kwargs)]
    return frozenset((k, axis) for k, axes in which for axis in _axes(leaves[k], axes)) & possible(leaves, tree)


def varying(keys: Iterable[Any], fn: Any, kwargs: dict[str, Any], leaves: Sequence[Any], tree: TreeDef) -> Axes:
    """The axes whose extents have varied, if two versions differ from a call, and from each other, in shapes only. `keys`: of versions."""
    if "out" in kwargs and not takes(fn, "out"):
        return NONE
    found = [k for k in keys if k[0] == tree and all(map(_but_for_extents, k[1:], leaves))]
    if len(found) < 2:
        return NONE
    arrays = [(k, x) for k, x in enumerate(leaves) if isinstance(x, np.ndarray)]
    varied = {(k, axis) for key in found for k, x in arrays for axis, n in enumerate(x.shape) if key[k + 1][1][axis] != n}
    return possible(leaves, tree) & varied


def _but_for_extents(key: Any, x: Any) -> bool:
    """Is it the key (irad.call.runtime.leaf_key) of a leaf like x, but perhaps for extents?"""
    if isinstance(x, np.ndarray):
        return isinstance(key, tuple) and len(key) == 3 and key[0] == x.dtype and len(key[1]) == x.ndim and key[2] is None
    return bool(key == rank_key(x))


def _axes(x: Any, axes: tuple[int, ...] | None) -> Iterable[int]:
    rank = np.ndim(x)
    return range(rank) if axes is None else (a % rank for a in axes if -rank <= a < rank)


def possible(leaves: Sequence[Any], tree: TreeDef) -> Axes:
    """All axes that may have extents at run time: those that are not small, of arrays that are no fields of records."""
    fields = leaf_fields(tree)
    arrays = [(k, x) for k, x in enumerate(leaves) if isinstance(x, np.ndarray) and fields[k] is None]
    return frozenset((k, axis) for k, x in arrays for axis, n in enumerate(x.shape) if n >= VARYING)


def refused(fn: Any, e: Exception) -> None:
    """Say once that a function is compiled for each shape by itself, though it was to be for all sizes."""
    name = getattr(fn, "__name__", "a function")
    why = f"{e.message}{f' ({e.loc})' if e.loc else ''}" if isinstance(e, IradError) else f"{type(e).__name__}: {e}"
    if not isinstance(e, IradError) and _in_compiler(e):
        why = f"a fault of irad's own, {why}"
    warnings.warn(f"{name} is compiled for each shape by itself, as it cannot be for all sizes: {why}", UserWarning, stacklevel=2)


def _in_compiler(e: Exception) -> bool:
    """Did the exception arise in passes or in code generation, where no code of the program's runs?"""
    names = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(e.__traceback__))
    return any(name.startswith(("irad.passes.", "irad.codegen.")) for name in names)
