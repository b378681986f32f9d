"""Where a program of irad.codegen.call.machine finds things: registers of the parts of the arguments, and of what paths lead to."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.codegen.call.machine import Program
from irad.core.structured import SCALARS, Field, Structured, fields
from irad.core.structured import child as child_of
from irad.core.tree import TreeDef
from irad.core.types import Type
from irad.frontend.transforms.transform import Transform
from irad.frontend.values.guards import STEPS, Fixed, Path
from irad.frontend.values.traced import GIVEN, Leaf

Place = int | Path  # the number of an argument leaf, or the path to something outside


class NoProgram(Exception):
    """The machine cannot express this specialisation."""


class Places:
    """Registers, as they are needed, each of which has one frame word.

    `fn`: what was traced; another function of the same code may be called later. `root`: the path of the called function, if
    that is only a part of what was traced. `infos`: the argument leaves. `written`: arguments and captures that the kernel changes.
    """

    def __init__(self, program: Program, fn: Any, root: Path, infos: Sequence[Leaf], written: set[tuple[str, int]]):
        self.program, self.fn, self.root, self.infos, self.written = program, fn, root, infos, written
        self.leaves: list[int] = []
        self.statics: list[tuple[int, Any]] = []  # of the static parts, and what they were
        self.records: list[tuple[int, int]] = []  # of the structured arrays: number of the first leaf, and frame word
        self.paths: dict[Path, tuple[int, Any]] = {}
        self.names: dict[tuple[int, Any], int] = {}  # the arguments of the call: (0, number) or (1, keyword) -> which one

    def at(self, place: Place) -> int:
        """The register of an argument leaf, or of the object at a path."""
        return self.leaves[place] if isinstance(place, int) else self._path(place)[0]

    def object(self, path: Path) -> Any:
        """The object at a path now."""
        return path.get(self.fn, [value for _, value in self.statics])

    def python(self, f: Any, *at: int) -> int:
        """What a Python function gives for an object (or for a tuple of several)."""
        for register in at:
            self.program.push("again", register)
        if len(at) > 1:
            self.program.gather("tuple", len(at))
        return self.program.push("python", 0, self.program.object(f), 0, pops=1)

    # ---- arguments ----

    def take_apart(self, children: Sequence[TreeDef]) -> None:
        """The arguments of the call, their structure checked."""
        for k, tree in enumerate(children):
            self._tree(tree, self.program.push("argument", 0, 0, k))

    def _tree(self, tree: TreeDef, at: int) -> None:
        p, cls, n = self.program, tree.cls, len(tree.children)
        if cls is None:
            self.leaves.append(at)
        elif cls is TreeDef:
            value = tree.meta.value
            p.op(*(("class", at, p.object(type(value))) if tree.meta.followed else ("equal", at, p.object(value))))
            self.statics.append((at, value))
        elif issubclass(cls, (tuple, list)):
            first = p.push("tuple" if issubclass(cls, tuple) else "list", at, p.object(cls), n, pushes=n)
            self._trees(tree, range(first, first + n))
        elif cls is dict:
            self._trees(tree, self.values(at, tree.meta))
        elif cls is Structured:
            self._structured(tree, at)
        elif dataclasses.is_dataclass(cls):
            self._fields(tree, at)
        else:
            raise NoProgram

    def _trees(self, tree: TreeDef, at: Sequence[int]) -> None:
        for child, word in zip(tree.children, at):
            self._tree(child, word)

    def values(self, at: int, keys: Sequence[Any]) -> Sequence[int]:
        """The values of a dict of just these keys."""
        p = self.program
        first = p.push("dict", at, p.table([p.object(k) for k in (dict, *keys)]), len(keys), pushes=len(keys))
        return range(first, first + len(keys))

    def _fields(self, tree: TreeDef, at: int) -> None:
        p = self.program
        names = tree.meta.names
        if not {f.name for f in dataclasses.fields(tree.cls)} <= set(names):  # type: ignore[arg-type]
            raise NoProgram
        p.op("class", at, p.object(tree.cls))
        if getattr(tree.cls, "__dictoffset__", 0):  # it has just these attributes
            self._trees(tree, self.values(p.push("attribute", at, p.object("__dict__")), names))
            return
        for name, child in zip(names, tree.children):
            self._tree(child, p.push("attribute", at, p.object(name)))

    def _structured(self, tree: TreeDef, at: int) -> None:
        """A structured array: its class and dtype, then its fields. One that was given before is that one."""
        first = len(self.leaves)
        earlier = self.infos[first].alias if first < len(self.infos) else None
        original = next((word for leaf, word in self.records if leaf == earlier), None)
        self.records.append((first, at))
        if original is None or earlier is None:
            self.record_type(at, tree.meta.cls, tree.meta.dtype)
            self._record(tree, at)
        else:
            self.program.op("same", at, 0, original)
            self.leaves += self.leaves[earlier : earlier + tree.size]

    def record_type(self, at: int, cls: type, dtype: np.dtype) -> None:
        """Check that there is a structured array of this class and dtype."""
        if cls in SCALARS:
            raise NoProgram
        p = self.program
        p.op("class", at, p.object(cls))
        p.op("equal", p.push("attribute", at, p.object("dtype")), p.object(dtype))

    def _record(self, tree: TreeDef, at: int) -> None:
        """The fields of a structured array of known dtype."""
        for f, child in zip(tree.meta.fields, tree.children):
            if f.kind == "number" and not f.dtype.isnative:
                raise NoProgram
            word = self._field(at, f)
            if child.cls is None:
                self.leaves.append(word)
            else:
                self._record(child, word)

    def _field(self, at: int, f: Field) -> int:
        if f.kind != "bytes":
            return self.program.push("item", at, self.program.object(f.name))
        return self.python(functools.partial(_bytes_field, f), at)

    # ---- paths ----

    def ours(self, path: Path) -> bool:
        """Does a path lead only through what irad has made: the function around the called one, or a transform?

        That never changes; what a transform was made from is part of the key of its specialisations.
        """
        if path.root != "fn":
            return False
        if path.steps[: len(self.root.steps)] != self.root.steps:
            return True
        at = self.root
        for step in path.steps[len(self.root.steps) : -1]:
            if not (step == ("attr", "fun") and isinstance(self.object(at), Transform)):
                return False
            at = at.child(*step)
        names = ("kind", "argnums", "has_aux", "mode")
        last = path.steps[-1] if path.steps else None
        return last is not None and last[0] == "attr" and last[1] in names and isinstance(self.object(at), Transform)

    def _path(self, path: Path) -> tuple[int, Any]:
        """The register of the object at a path, and the object there now."""
        if path not in self.paths:
            self.paths[path] = self._step(path)
        return self.paths[path]

    def _step(self, path: Path) -> tuple[int, Any]:
        p = self.program
        if path.root == GIVEN:
            return self._among_arguments(path), None
        if path == self.root:
            return p.push("function"), self.object(path)
        if not path.steps:
            return self._root(path.root)
        (kind, key), before = path.steps[-1], Path(path.root, path.steps[:-1])
        at, obj = self._path(before)
        if kind == "cell":
            code = obj.__code__
            p.op("code", at, p.object(code))
            return p.push("cell", at, 0, code.co_freevars.index(key)), self.object(path)
        if kind == "global":
            return p.push("global", at, p.object(key)), self.object(path)
        if kind == "item" and type(obj) in (list, tuple, dict):
            return p.push("item", at, p.object(key)), self.object(path)
        if kind in ("item", "nth", "array", "base array", "dict", "stream", "found", "asked"):
            return self.python(functools.partial(_stepped, kind, key), at), self.object(path)
        if kind == "bytes":
            return self._field(at, next(f for f in fields(obj.dtype) if f.name == key)), self.object(path)
        attribute, item = _ATTRIBUTES[kind]
        at = p.push("attribute", at, p.object(key if attribute is None else attribute))
        if item:
            at = p.push("item", at, p.object(key))
        return at, self.object(path)

    def _among_arguments(self, path: Path) -> int:
        """The register of a container or object that is found from the arguments of the call."""
        (_, pair), (_, key), *steps = path.steps
        if steps:
            kind, key = steps[-1]
            return self.python(functools.partial(_stepped, kind, key), self.at(Path(GIVEN, path.steps[:-1])))
        return self.program.push("argument", 0, 0, self.names[pair, key])

    def _root(self, root: Any) -> tuple[int, Any]:
        if isinstance(root, Fixed):
            return self.program.push("object", 0, self.program.object(root.obj)), root.obj
        n = len(self.statics)
        return self.statics[root] if root < n else (self.records[root - n][1], None)


_ATTRIBUTES: dict[str, tuple[str | None, bool]] = {  # step of a path -> (attribute, whether its item is meant)
    "attr": (None, False),
    "default": ("__defaults__", True),
    "kwdefault": ("__kwdefaults__", True),
    "self": ("__self__", False),
    "func": ("__func__", False),
    "partial": ("func", False),
    "partial_arg": ("args", True),
    "partial_kw": ("keywords", True),
    "wrapped": ("__wrapped__", False),
}


def _stepped(kind: str, key: Any, x: Any) -> Any:
    """A step of a path; where it leads nowhere, a thing that no guard fits."""
    try:
        return STEPS[kind](x, key)
    except Exception:
        return NotImplemented


def _bytes_field(f: Field, x: np.ndarray) -> np.ndarray:
    return child_of(x, f)


def contiguous(t: Type, strides: Sequence[int]) -> bool:
    """Is an array with these strides (in bytes) C-contiguous?"""
    step = t.numpy.itemsize
    for d, s in zip(reversed(t.shape), reversed(strides)):
        assert isinstance(d, int)
        if d > 1 and s != step:
            return t.size == 0
        step *= d
    return True
