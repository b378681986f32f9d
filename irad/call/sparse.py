"""Sparse Jacobians and Hessians: the entries from native code, in SciPy's compressed rows.

The pattern is found once for each structure and types of the arguments and, where it depends on them, for the values of
integer and bool arguments and captured arrays; see irad.passes.analyses.sparsity. SciPy is wanted for the results only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.call.conditions import Conditions, Leaves
from irad.call.runtime import Cache, cache_of, code_key, statics
from irad.call.specialisation import user_exception
from irad.codegen.call import machine as entry
from irad.core.ir import captures, types, walk
from irad.core.once import import_later
from irad.core.tree import flatten
from irad.errors import IradError
from irad.frontend.trace import trace
from irad.frontend.transforms.transform import OUTSIDE, Transform
from irad.ops.control import RaisedInGraph
from irad.options import DEFAULT, Options, static_leaves
from irad.passes.derivatives.expand import expand_sparse
from irad.passes.manager import run
from irad.pipeline import FINISH, native

_BEFORE = ("inline", "dce")
_AFTER = ("custom", "complex_parts", "simplify", "fold", "cse", "dce")


class SparseFunction:
    """A Jacobian or Hessian as a function that returns `scipy.sparse.csr_array`s of shape (result.size, argument.size)."""

    def __init__(self, dense: Transform, options: Options = DEFAULT):
        self.dense, self.options = dense, options
        self.__wrapped__ = dense.fun
        self.__name__ = f"sparse_{dense.__name__}"

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseFunction, (self.dense, self.options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = ("sparse", self.options, code_key(self.dense))
        return cache_of(key, lambda: Cache(SparseSpecialisation, options=self.options)).run(self.dense, args, kwargs)


OUTSIDE[SparseFunction.__call__] = (
    "sparse=True makes SciPy arrays, which compiled code cannot hold; call it outside, or leave out sparse=True"
)


class SparseSpecialisation:
    """Native code for the entries, and where they stand, for one structure and types of arguments."""

    def __init__(self, fn: Transform, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options = DEFAULT):
        self.csr = _scipy()
        self.traced = trace(fn, args, kwargs, static=static_leaves(fn, options, args, kwargs))
        graph = self.traced.graph
        self.conditions = Conditions(self.traced, types(graph.params), len(self.traced.in_leaves))
        program = run(self.traced.program, _BEFORE)
        first = next(iter(program.values()))
        read = {v for n in walk(first) if n.op.name == "jacobian" for v in captures(n.regions[0])}
        self.shaping = [k for k, v in enumerate(first.params) if v.type.dtype[0] in "biu" and v in read]
        leaves, tree = flatten((args, kwargs))
        values = self.conditions.arguments(fn, leaves, statics(tree))
        self.known = [values[k].copy() for k in self.shaping]
        program, blocks = expand_sparse(program, {first.params[k]: x[()] for k, x in zip(self.shaping, self.known)})
        self.blocks = [_Rows(b.rows, b.cols, b.shape) for b in blocks]
        signature = (types(first.params), types(next(iter(program.values())).results))
        program = run(program, (*_AFTER, *FINISH), None, options.fastmath)
        self.native = native(program, signature, options)

    def holds(self, fn: Any, leaves: Leaves, rest: Sequence[Any]) -> bool:
        """Do a call's static values, captured state and the integers that shape the pattern fit?"""
        if not self.conditions.holds(fn, leaves, rest):
            return False
        if not self.shaping:
            return True
        values = self.conditions.arguments(fn, leaves, rest)
        return all(np.array_equal(values[k], x) for k, x in zip(self.shaping, self.known))

    def direct(self, fn: Any) -> entry.Program | None:
        """Calls make SciPy objects, in Python."""
        return None

    def __call__(self, fn: Any, leaves: Leaves, rest: Sequence[Any], given: Any = ((), {})) -> Any:
        """The blocks of the Jacobian as sparse arrays, nested as those of a dense one."""
        if self.traced.once or self.traced.apart:
            import_later("irad.call.aliasing").refuse(self.traced, fn, leaves, rest, given)
        try:
            data = self.native.run(self.conditions.arguments(fn, leaves, rest))
        except RaisedInGraph as e:
            raise user_exception(e, self.traced.exceptions) from None
        found = [b.array(self.csr, d) for b, d in zip(self.blocks, data)]
        return self.traced.out_tree.unflatten(found)


class _Rows:
    """A pattern in compressed rows."""

    def __init__(self, rows: np.ndarray, cols: np.ndarray, shape: tuple[int, int]):
        self.shape = shape
        self.indptr = np.searchsorted(rows, np.arange(shape[0] + 1)).astype(np.int32)
        self.indices = cols.astype(np.int32)

    def array(self, csr: Any, data: np.ndarray) -> Any:
        return csr((data, self.indices.copy(), self.indptr.copy()), shape=self.shape)


def _scipy() -> Any:
    try:
        return import_later("scipy.sparse").csr_array
    except ImportError:
        raise IradError("sparse=True gives SciPy's sparse arrays: install SciPy, or use sparse=False") from None
