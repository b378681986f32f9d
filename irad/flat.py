"""Trees as vectors, for optimisers and solvers that know vectors only."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from irad.core.lazy_dataclass import dataclass
from irad.core.tree import TreeDef, rebuild
from irad.core.tree import flatten as leaves_of
from irad.core.types import DTYPES, Type, is_complex, type_of
from irad.errors import IradTypeError, IradValueError
from irad.frontend.library.numpy.functional import joined, number_at, part_of
from irad.frontend.reader import Reader
from irad.frontend.transforms.custom import Special
from irad.frontend.transforms.linearise import is_leaf as is_traced_leaf
from irad.frontend.transforms.linearise import kind_of
from irad.frontend.transforms.transform import CALLS
from irad.frontend.values.arr import lift
from irad.frontend.values.objects import Array


@dataclass(frozen=True)
class Part:
    """Where a leaf lies in the vector, and what it is: `kind` "array", "generic" (a NumPy scalar) or "number" (Python's)."""

    start: int
    type: Type
    kind: str


class Unflatten(Special):
    """What `flatten` gives beside the vector: called with a vector, it gives a tree. Inside compiled code too."""

    def __init__(self, tree: TreeDef, parts: tuple[Part, ...]):
        self.tree, self.parts = tree, parts
        self.size = sum(p.type.size for p in parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unflatten, (self.tree, self.parts)

    def __repr__(self) -> str:
        return f"<unflatten {self.size} numbers to {self.tree}>"

    def __call__(self, vector: Any) -> Any:
        """The tree with these numbers, which are copied. Raises IradValueError if the vector has another length."""
        v = np.asarray(vector)
        if v.shape != (self.size,):
            raise IradValueError(f"a vector of {self.size} numbers is wanted, not an array of shape {v.shape}")
        parts = [(p, v[p.start : p.start + p.type.size]) for p in self.parts]
        leaves = [(a if is_complex(p.type.dtype) else a.real).reshape(p.type.dims).astype(p.type.numpy) for p, a in parts]
        as_given = {"array": lambda a: a, "generic": lambda a: a[()], "number": lambda a: a.item()}
        return self.tree.unflatten([as_given[p.kind](a) for p, a in zip(self.parts, leaves)])

    def apply(self, r: Reader, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A call in compiled code, with a traced vector."""
        (vector,) = (*args, *kwargs.values())
        leaves = []
        for p in self.parts:
            if p.kind == "number":
                leaves.append(r.call(number_at, [vector, p.start, self.size, is_complex(p.type.dtype)], {}))
            else:
                leaves.append(
                    r.call(
                        part_of,
                        [vector, p.start, p.start + p.type.size, self.size, p.type.dims, p.type.numpy, p.kind == "array"],
                        {},
                    )
                )
        return _made(r, self.tree, iter(leaves))


def _made(r: Reader, tree: TreeDef, leaves: Any) -> Any:
    """The tree as one that the program has made."""
    if tree.cls is None:
        return next(leaves)
    if tree.cls is TreeDef:
        return tree.meta.value
    return r.state.made(rebuild(tree.cls, tree.meta, [_made(r, c, leaves) for c in tree.children]))


@functools.lru_cache(maxsize=256)
def _unflatten(tree: TreeDef, parts: tuple[Part, ...]) -> Unflatten:
    """One object for equal trees: what is compiled with one holds for the other."""
    return Unflatten(tree, parts)


def flatten(tree: Any) -> tuple[np.ndarray, Unflatten]:
    """The numbers of a tree as one vector, and the function that makes such a tree of a vector.

    `tree`: floats, complex numbers and arrays of them in tuples, lists, dicts, dataclasses; what is no number stays as it is. The
    vector has the common dtype (a Python float is a float64); leaves get their own dtypes and shapes back. Both functions work in
    compiled code and are differentiated. Raises IradTypeError for whole numbers and bools, which no derivative moves.

        f = irad.value_and_grad(lambda v: loss(unflatten(v)))
        best = unflatten(scipy.optimize.minimize(f, x, jac=True).x)

    >>> x, unflatten = irad.flatten({"w": np.ones((2, 1)), "b": 3.0})
    >>> x
    array([1., 1., 3.])
    >>> unflatten(2 * x)
    {'w': array([[2.],
           [2.]]), 'b': 6.0}
    """
    leaves, treedef = leaves_of(tree)
    parts = _parts([(type_of(x), _kind(x)) for x in leaves])
    return joined(leaves, _common(parts)), _unflatten(treedef, parts)


def _kind(x: Any) -> str:
    return "array" if isinstance(x, np.ndarray) else "generic" if isinstance(x, np.generic) else "number"


def _parts(found: list[tuple[Type, str]]) -> tuple[Part, ...]:
    at, parts = 0, []
    for t, kind in found:
        if not t.differentiable:
            what = "a whole number" if kind != "array" else f"an array of {DTYPES[t.dtype]}"
            raise IradTypeError(
                f"flatten: a leaf of the tree is {what}, which no derivative moves; make it a float, or keep it apart"
            )
        if not t.static:
            raise IradTypeError(f"flatten: a leaf of the tree has a length that is known at run time only ({t})")
        parts.append(Part(at, t, kind))
        at += t.size
    return tuple(parts)


def _common(parts: tuple[Part, ...]) -> np.dtype:
    return np.result_type(*(p.type.numpy for p in parts)) if parts else np.dtype(np.float64)


def _inside(r: Reader, tree: Any) -> Any:
    """`flatten` in compiled code."""
    leaves, treedef = leaves_of(tree, is_traced_leaf)
    parts = _parts([(x.type if isinstance(x, Array) else lift(x).value.type, kind_of(x)) for x in leaves])
    return r.call(joined, [r.state.made(list(leaves)), _common(parts)], {}), _unflatten(treedef, parts)


CALLS[flatten] = _inside
