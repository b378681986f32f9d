"""What stands for the arguments of a call while a function is read."""

from __future__ import annotations

import math
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from irad.core.array_classes import ArrayOfClass, class_behind
from irad.core.foreign import is_container, is_foreign_array, is_sparse
from irad.core.ir import Value
from irad.core.once import import_later
from irad.core.random_streams import is_stream
from irad.core.structured import ARRAYS, SCALARS, Structured, field_type, why_not
from irad.core.tree import Static, TreeDef, leaf_fields, structured_nodes
from irad.core.types import I64, Type, affine, type_of
from irad.errors import IradTypeError, Loc
from irad.frontend.control.templates import structure
from irad.frontend.reader import OWN, Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.captures import RECORD, strides_of
from irad.frontend.values.guards import INT32, Path
from irad.frontend.values.layout import is_c
from irad.frontend.values.objects import Array, Cell
from irad.frontend.values.traced import GIVEN, VARYING, Leaf, RunTime, Sizes, Spec
from irad.ops.control import raise_if
from irad.ops.elementwise import gt, logical_or, lt
from irad.ops.intervals import bound

SMALL = 32  # extents below are for code of their own: what cuts some elements off of larger ones has a length in closed form
LARGE = 1 << 20  # elements of arrays, up to which code is for larger ones, too
_NAMES = "nmklpq"
_OUTSIDE = "an array has an extent of {}, which this code is not for"


class Arguments:
    """Parameters of the program, constants, and containers that are followed, for the leaves of a call's arguments.

    `fixed`: numbers of leaves that are constants. `infos` says what each leaf is, `objects` what stands for it, `records` are the
    structured arrays among them.
    """

    def __init__(
        self, r: Reader, fn: Any, leaves: list[Any], in_tree: TreeDef, fixed: frozenset[Any], sizes: Sizes | None = None
    ):
        self.r, self.fn, self.leaves, self.in_tree, self.fixed = r, fn, leaves, in_tree, fixed
        self.asked = sizes
        self.extents: list[RunTime] = []
        self.sizes: dict[tuple[int, int], Value] = {}  # axes of leaves whose extents are parameters
        self.infos: list[Leaf] = []
        self.objects: list[Any] = []
        self.records: list[Structured] = []

    def given(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments, as the function that is read gets them."""
        self._extents()
        self._leaves()
        taken = iter([self._static(x, Path(k)) for k, x in enumerate(self.in_tree.statics)])
        args, kwargs = _with_statics(self.in_tree, taken).unflatten(self.objects)
        for k, x in enumerate(args):
            self._inputs(x, Path(GIVEN, (("item", 0), ("item", k))))
        for name, x in kwargs.items():
            self._inputs(x, Path(GIVEN, (("item", 1), ("item", name))))
        return list(args), dict(kwargs)

    def _extents(self) -> None:
        """Parameters for the extents that are known at run time only; a check says in the program itself between what they are."""
        groups: dict[int, list[tuple[int, int]]] = {}
        for k, axis in sorted(self.asked.axes if self.asked is not None else ()):
            groups.setdefault(self.leaves[k].shape[axis], []).append((k, axis))
        groups = {n: at for n, at in groups.items() if not any(("extent", place) in self.fixed for place in at)}
        highest = self._highest(groups)
        for n, places in groups.items():
            name = _NAMES[len(self.extents)] if len(self.extents) < len(_NAMES) else f"n{len(self.extents)}"
            low, high = (VARYING, SMALL - 1) if n < SMALL else (SMALL, highest[n])
            value = Value(I64, name)
            raise_if(logical_or(lt(value, low), gt(value, high)), value, exc="ValueError", message=_OUTSIDE)
            bound(value, low, high)
            self.r.leaf_of[value] = ("extent", places[0])
            self.r.params.append(value)
            self.extents.append(RunTime(tuple(places), low, high, name))
            self.sizes |= dict.fromkeys(places, value)

    def _highest(self, groups: dict[int, list[tuple[int, int]]]) -> dict[int, int]:
        """The greatest extents that there is to be code for, by extents: powers of two, more than twice of what there is; and more
        where the arrays of such extents are small, and `close` is not asked for."""
        found = {n: 1 << (2 * n - 1).bit_length() for n in groups}
        shapes = {self.leaves[k].shape for at in groups.values() for k, _ in at}
        while groups and not (self.asked and self.asked.close):
            found = {n: 2 * high for n, high in found.items()}
            if any(math.prod(found.get(n, n or 1) for n in shape) > LARGE for shape in shapes):
                return {n: high // 2 for n, high in found.items()}
        return found

    def _type(self, k: int, t: Type) -> Type:
        """The type of a leaf, its run-time extents in it."""
        shape = [affine(0, {self.sizes[k, j]: 1}) if (k, j) in self.sizes else d for j, d in enumerate(t.shape)]
        return t.with_shape(tuple(shape)) if t.shape else t

    def _leaves(self) -> None:
        names = _leaf_names(self.fn, self.in_tree)
        found = leaf_fields(self.in_tree)
        scalars = {first + j for first, t in structured_nodes(self.in_tree) if t.meta.scalar for j in range(t.size)}
        seen: dict[int, int] = {}
        for k, x in enumerate(self.leaves):
            first = seen.setdefault(id(x), k) if isinstance(x, np.ndarray) else k
            if first != k:
                old = self.infos[first]
                self.infos.append(Leaf(old.type, old.kind, old.param, alias=first, strides=old.strides))
                self.objects.append(self.objects[first])
            elif ("arg", k) in self.fixed:
                self.infos.append(Leaf(type_of(x), _kind(x), None, value=x))
                self.objects.append(self.r.wrap(x))
            else:
                self._parameter(k, x, names[k], found[k] is not None, RECORD if k in scalars else "")

    def _static(self, x: Any, path: Path) -> Any:
        """What stands for a part of the arguments that is no number: what is followed is read like captured state."""
        if not isinstance(x, (bool, str, type(None))):
            if is_container(x) or is_foreign_array(x) or isinstance(x, np.ndarray) or is_stream(x) or is_sparse(x):
                return self.r.captures.take(x, path)
            self.r.captures.note(x, path)
        return x

    def _inputs(self, x: Any, path: Path) -> None:
        """Containers of the caller, and where they are found from the arguments."""
        if isinstance(x, Structured):
            self.records.append(x)
            return
        if isinstance(x, ArrayOfClass):
            import_later("irad.frontend.reading.array_classes").follow(self.r.captures, class_behind(x))
        found = structure(x)
        if found is not None and id(x) not in self.r.captures.inputs:
            if not isinstance(x, tuple):
                self.r.captures.inputs[id(x)] = x, path
            for step, child in _steps(x, found):
                self._inputs(child, Path(path.root, (*path.steps, step)))

    def _parameter(self, k: int, x: Any, name: str, field: bool, frozen: str) -> None:
        """`field`: of a structured array, in either byte order; `frozen`: why it cannot be stored into."""
        kind = _kind(x)
        try:
            found = field_type(x) if field and isinstance(x, np.ndarray) else None
            t = x.type if isinstance(x, Spec) else self._type(k, found or type_of(x))
        except (TypeError, OverflowError) as e:
            raise IradTypeError(f"argument {name}: {refusal(x) or e}").at(definition(self.fn)) from None
        value = Value(t, name)
        strides = strides_of(x) if isinstance(x, np.ndarray) else None
        small = type(x) is int and INT32[0] <= x <= INT32[1]
        steps = x.strides if isinstance(x, np.ndarray) else None
        self.infos.append(Leaf(t, kind, len(self.r.params), strides=strides, steps=steps, int32=small))
        self.r.params.append(value)
        if kind == "ndarray":
            known = strides if t.static else None  # those of other sizes are others
            array = Array(Cell(value, name, outside=True), strides=known, frozen=frozen)
            array.cell.stamp = 1
            if isinstance(x, np.ndarray) and (t.static or not is_c(x.shape, strides)):
                array.laid_out(known)
            self.r.kept.cells.append(array.cell)
            self.r.captures.leaves[id(array)] = k, x
            self.objects.append(array)
            return
        if small:
            bound(value, *INT32)
        self.r.leaf_of[value] = ("arg", k)
        self.objects.append(Arr(value, kind in ("int", "float", "complex")))


def _steps(x: Any, found: Any) -> list[tuple[tuple[str, Any], Any]]:
    """The parts of a container or object among the arguments, and how each is found in it."""
    names = getattr(found[1], "names", None)
    if isinstance(x, dict):
        keys: Any = list(x)
    elif isinstance(x, (list, tuple, deque)) or not names:
        keys = range(len(found[2]))
    else:
        return [(("attr", name), child) for name, child in zip(names, found[2])]
    return [(("item", key), child) for key, child in zip(keys, found[2])]


def refusal(x: Any) -> str:
    """Why a structured array cannot be taken apart; "" for what is none."""
    plain = isinstance(x, (np.ndarray, np.void)) and x.dtype.names is not None and type(x) in (*ARRAYS, *SCALARS)
    return why_not(x.dtype) if plain else ""


def _with_statics(tree: TreeDef, values: Iterator[Any]) -> TreeDef:
    """The tree with other parts that are no leaves."""
    if tree.cls is TreeDef:
        return TreeDef(TreeDef, Static(next(values)))
    return tree if tree.cls is None else TreeDef(tree.cls, tree.meta, tuple(_with_statics(c, values) for c in tree.children))


def definition(fn: Any) -> Loc | None:
    """Where a function begins."""
    while getattr(fn, "__wrapped__", None) is not None:
        fn = fn.__wrapped__
    fn = vars(fn).get("__init__") if isinstance(fn, type) else fn
    code = getattr(getattr(fn, "__func__", fn), "__code__", None)
    return None if code is None or code.co_filename.startswith(OWN) else Loc(code.co_filename, code.co_firstlineno)


def _kind(x: Any) -> str:
    if isinstance(x, Spec):
        return x.kind
    if isinstance(x, np.ndarray):
        return "ndarray"
    return "generic" if isinstance(x, np.generic) else type(x).__name__


def _leaf_names(fn: Any, tree: TreeDef) -> list[str]:
    """Names for the leaves: the parameter's, with a number behind where it has several; a transform's are its function's."""
    while getattr(fn, "__wrapped__", None) is not None:
        fn = fn.__wrapped__
    if not hasattr(fn, "__code__") and not isinstance(fn, types.MethodType):
        fn = getattr(fn, "__call__", fn)  # noqa: B004  (an object of a class that can be called)
    code = getattr(getattr(fn, "__func__", fn), "__code__", None)
    params = list(code.co_varnames[: code.co_argcount]) if code is not None else []
    if isinstance(fn, types.MethodType):
        params = params[1:]
    args, kwargs = tree.children
    names: list[str] = []
    for k, t in enumerate(args.children):
        base = params[k] if k < len(params) else f"arg{k}"
        names += [base] if t.size == 1 else [f"{base}_{j}" for j in range(t.size)]
    for key, t in zip(kwargs.meta, kwargs.children):
        names += [str(key)] if t.size == 1 else [f"{key}_{j}" for j in range(t.size)]
    return names
