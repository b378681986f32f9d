"""Which calls run without Python code, and how: from a traced function to a program of irad.codegen.call.machine.

A program checks everything that the specialisation relies on (types and layout of the arguments, static parts, captured
state, aliases) with the machine's own checks. What they cannot express has no program (`NoProgram`): such calls, and those
for which no program fits, take the path in Python, which is exact about everything.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from irad.codegen.call.machine import Program
from irad.codegen.call.native import Native
from irad.core.structured import SCALARS, Field, Structured, fields
from irad.core.structured import child as child_of
from irad.core.tree import TreeDef, rebuild
from irad.core.types import Type
from irad.frontend.transforms.transform import Transform
from irad.frontend.values.guards import PREDICATES, STEPS, Capture, Fixed, Guard, Path
from irad.frontend.values.traced import Leaf, Result, Traced, record_of


class NoProgram(Exception):
    """The machine cannot express this specialisation."""


Raiser = Callable[[int, int], None]  # of a status and where the addresses of the kernel's arguments stand


CALLED = Path()  # the function of a call


class Writer:
    """Writes the program of one specialisation.

    `fn`: what was traced; another function of the same code may be called later. `root`: the path of the called function,
    if that is only a part of what was traced. `donated`: argument leaves whose memory the kernel may write; their parameters.
    """

    def __init__(
        self,
        traced: Traced,
        native: Native,
        fn: Any,
        raiser: Raiser,
        args: TreeDef,
        kwargs: TreeDef,
        root: Path = CALLED,
        donated: Mapping[int, int] = MappingProxyType({}),
    ):
        if traced.writes or native.tapes or not native.direct or any(not t.static for t in (*native.params, *native.outputs)):
            raise NoProgram
        self.traced, self.native, self.fn, self.root = traced, native, fn, root
        self.infos = traced.in_leaves[: args.size + kwargs.size]
        self.inputs = len(native.params)
        self.donated = donated
        self.results, self.mutated = traced.results, traced.mutated
        self.program = Program(native, raiser, (len(args.children), tuple(kwargs.meta or ())))
        self.children = (*args.children, *kwargs.children)
        self.leaves: list[int] = []  # frame words of the argument leaves' registers
        self.statics: list[tuple[int, Any]] = []  # of the static parts, and what they were
        self.records: list[tuple[int, int]] = []  # of the structured arrays: number of the first leaf, and frame word
        self.paths: dict[Path, tuple[int, Any]] = {}
        self.captured: list[int] = []
        self.arrays: dict[int, int] = {}  # number of an output -> register of its array

    # ---- arguments ----

    def arguments(self) -> None:
        """The arguments of the call, taken apart; each is checked."""
        for k, tree in enumerate(self.children):
            self._tree(tree, self.program.push("argument", 0, 0, k))
        for k, info in enumerate(self.infos):
            self._leaf(k, info)

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
            self._trees(tree, self._values(at, tree.meta))
        elif cls is Structured:
            self._structured(tree, at)
        elif dataclasses.is_dataclass(cls):
            self._fields(tree, at)
        else:
            raise NoProgram

    def _trees(self, tree: TreeDef, at: Sequence[int]) -> None:
        for child, word in zip(tree.children, at):
            self._tree(child, word)

    def _values(self, at: int, keys: Sequence[Any]) -> Sequence[int]:
        p = self.program
        first = p.push("dict", at, p.table([p.object(k) for k in (dict, *keys)]), len(keys), pushes=len(keys))
        return range(first, first + len(keys))

    def _fields(self, tree: TreeDef, at: int) -> None:
        p = self.program
        names = tree.meta.names
        if set(names) != {f.name for f in dataclasses.fields(tree.cls)}:  # type: ignore[arg-type]
            raise NoProgram
        p.op("class", at, p.object(tree.cls))
        for name, child in zip(names, tree.children):
            self._tree(child, p.push("attribute", at, p.object(name)))

    def _structured(self, tree: TreeDef, at: int) -> None:
        """A structured array: its class and dtype, then its fields. One that was given before is that one."""
        first = len(self.leaves)
        earlier = self.infos[first].alias if first < len(self.infos) else None
        original = next((word for leaf, word in self.records if leaf == earlier), None)
        self.records.append((first, at))
        if original is None or earlier is None:
            self._record_type(at, tree.meta.cls, tree.meta.dtype)
            self._record(tree, at)
        else:
            self.program.op("same", at, 0, original)
            self.leaves += self.leaves[earlier : earlier + tree.size]

    def _record_type(self, at: int, cls: type, dtype: np.dtype) -> None:
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
        p = self.program
        if f.kind != "bytes":
            return p.push("item", at, p.object(f.name))
        p.push("again", at)
        return p.push("python", 0, p.object(functools.partial(_bytes_field, f)), 0, pops=1)

    def _leaf(self, k: int, info: Leaf) -> None:
        p, at = self.program, self.leaves[k]
        if info.alias is not None:
            p.op("same", at, 0, self.leaves[info.alias])
        elif info.param is None:
            if isinstance(info.value, np.ndarray) or info.value != info.value or info.value == 0:
                raise NoProgram
            p.op("equal", at, p.object(info.value))
        elif info.kind == "ndarray":
            if info.steps is None:
                raise NoProgram
            self._array(at, info.type, info.steps, info.param, ("arg", k) in self.written())
        elif info.kind not in _NUMBERS:
            raise NoProgram
        else:
            p.number(at, info.kind, info.type, info.param, info.int32)

    def _array(self, at: int, t: Type, strides: Sequence[int], arg: int, writeable: bool) -> None:
        """An array with these strides (in bytes) is kernel argument `arg`."""
        if _contiguous(t, strides):
            self.program.array(at, t, arg, writeable)
        else:
            self.program.strided(at, t, arg, strides, writeable)

    def written(self) -> set[tuple[str, int]]:
        return {m.target for m in self.mutated} | {("arg", k) for k in self.donated}

    # ---- captured state ----

    def outside(self) -> None:
        """The code of the function, guards, then captured arrays and numbers."""
        self._code()
        for g in sorted(self.traced.guards, key=lambda g: len(g.path.steps)):
            if g.path.steps[: len(self.root.steps)] == self.root.steps and not self._known(g.path):
                self._guard(g)
        at = lambda x: self.leaves[x] if isinstance(x, int) else self._path(x)[0]
        for x, y, same in self.traced.identities:
            self._identity(at(x), at(y), same)
        first = self.inputs - len(self.traced.captures)
        for k, c in enumerate(self.traced.captures):
            self.captured.append(self._path(c.path)[0])
            self._capture(c, first + k, ("capture", k) in self.written())

    def _code(self) -> None:
        """A function's code may be replaced."""
        path, obj = self.root, self._object(self.root)
        while isinstance(obj, Transform):
            path, obj = path.child("attr", "fun"), obj.fun
        if isinstance(obj, FunctionType):
            self.program.op("code", self._path(path)[0], self.program.object(obj.__code__))

    def _known(self, path: Path) -> bool:
        """What a transform is made of never changes; what it was made from is part of the key of its specialisations."""
        at = Path(path.root, self.root.steps)
        for step in path.steps[len(self.root.steps) : -1]:
            if not (step == ("attr", "fun") and isinstance(self._object(at), Transform)):
                return False
            at = at.child(*step)
        last = path.steps[-1] if path.steps else None
        names = ("kind", "argnums", "has_aux", "mode")
        return (
            path.root == "fn"
            and last is not None
            and last[0] == "attr"
            and last[1] in names
            and isinstance(self._object(at), Transform)
        )

    def _object(self, path: Path) -> Any:
        return path.get(self.fn, [value for _, value in self.statics])

    def _path(self, path: Path) -> tuple[int, Any]:
        """The register of the object at a path, and the object there now."""
        if path not in self.paths:
            self.paths[path] = self._step(path)
        return self.paths[path]

    def _step(self, path: Path) -> tuple[int, Any]:
        p = self.program
        if path == self.root:
            return p.push("function"), self._object(path)
        if not path.steps:
            if isinstance(path.root, Fixed):
                return p.push("object", 0, p.object(path.root.obj)), path.root.obj
            n = len(self.statics)
            return self.statics[path.root] if path.root < n else (self.records[path.root - n][1], None)
        (kind, key), before = path.steps[-1], Path(path.root, path.steps[:-1])
        at, obj = self._path(before)
        if kind == "cell":
            code = obj.__code__
            p.op("code", at, p.object(code))
            return p.push("cell", at, 0, code.co_freevars.index(key)), self._object(path)
        if kind == "global":
            return p.push("global", at, p.object(key)), self._object(path)
        if kind == "item" and type(obj) in (list, tuple, dict):
            return p.push("item", at, p.object(key)), self._object(path)
        if kind in ("item", "nth", "array", "stream"):
            p.push("again", at)
            return p.push("python", 0, p.object(functools.partial(_stepped, kind, key)), 0, pops=1), self._object(path)
        if kind == "bytes":
            return self._field(at, next(f for f in fields(obj.dtype) if f.name == key)), self._object(path)
        attribute, item = _ATTRIBUTES[kind]
        at = p.push("attribute", at, p.object(key if attribute is None else attribute))
        if item:
            at = p.push("item", at, p.object(key))
        return at, self._object(path)

    def _guard(self, g: Guard) -> None:
        p = self.program
        at, _ = self._path(g.path)
        if g.kind == "len" and g.expected[0] in (list, tuple):
            p.op("length", at, p.object(g.expected[0]), g.expected[1])
        elif g.kind == "keys" and g.expected[0] is dict:
            self._values(at, g.expected[1])
        elif g.kind == "dtype":
            self._record_type(at, *g.expected)
        elif g.kind == "same":
            p.op("same", at, 0, self._path(g.expected)[0])
        elif g.kind == "typed":
            self._typed(at, g)
        elif g.kind in _CHECKS and not (g.kind == "eq" and _signed(g.expected)):
            p.op(_CHECKS[g.kind], at, p.object(g.expected))
        else:
            self._python_guard(at, g)

    def _identity(self, a: int, b: int, same: bool) -> None:
        p = self.program
        p.push("again", a)
        p.push("again", b)
        p.gather("tuple", 2)
        held = p.push("python", 0, p.object(_one_object), 0, pops=1)
        p.op("is", held, p.object(same))

    def _typed(self, at: int, g: Guard) -> None:
        """A number or array of a type, of which nothing is computed."""
        c, obj = g.expected, self._object(g.path)
        if type(obj) is np.ndarray and obj.dtype == c.type.numpy:
            self.program.like(at, c.type)
        elif type(obj) is float and c.weak:
            self.program.op("class", at, self.program.object(float))
        else:
            self._python_guard(at, g)

    def _python_guard(self, at: int, g: Guard) -> None:
        """What the machine cannot compare is compared by Python."""
        p = self.program
        p.push("again", at)
        if g.kind == "other":
            p.push("again", self._path(g.expected)[0])
            p.gather("tuple", 2)
        held = p.push("python", 0, p.object(functools.partial(_holds, g)), 0, pops=1)
        p.op("is", held, p.object(True))

    def _capture(self, c: Capture, arg: int, writeable: bool) -> None:
        p = self.program
        at, obj = self._path(c.path)
        if type(obj) is np.ndarray and obj.dtype == c.type.numpy:
            self._array(at, c.type, obj.strides, arg, writeable)
        elif type(obj) in (float, int) and c.weak:
            p.number(at, type(obj).__name__, c.type, arg, True)  # a captured int was perhaps read as one of 32 bits
        elif isinstance(obj, np.generic) and not c.weak:
            p.number(at, "generic", c.type, arg)
        else:
            raise NoProgram

    def is_array(self, c: Capture) -> bool:
        return type(self._path(c.path)[1]) is np.ndarray

    # ---- the kernel and the results ----

    def kernel(self) -> None:
        """Memory for the results, the kernel, and what it changes."""
        p = self.program
        written = {m.index: m for m in self.mutated}
        arrays = self._arrays() if self.mutated or self.donated else []
        groups = {self.traced.parameter(target): group for target, group in record_of(self.traced).items()} if arrays else {}
        for m in self.mutated:
            target, size = self.traced.parameter(m.target), _bytes(self.native.outputs[m.index])
            for arg, other in arrays:
                if arg != target and (arg not in groups or groups[arg] != groups.get(target)):
                    p.apart(target, size, arg, other)
        sizes = dict(arrays)
        for param in self.donated.values():
            for arg, other in arrays:
                if arg != param:
                    p.apart(param, sizes[param], arg, other)
        p.copies()
        returned = {r.index for r in self.results if r.kind == "ndarray"}
        for k, out in enumerate(self.native.outputs):
            if k in self.native.donated:
                self.arrays[k] = self._donated_array(k, out)
            elif k in written and self.traced.parameter(written[k].target) not in p.spread:
                p.buffer(self.inputs + k, _bytes(out))
            elif out.shape or k in returned or k in written:
                self.arrays[k] = p.new(out, self.inputs + k)
        p.run()
        for m in self.mutated:
            target = self.traced.parameter(m.target)
            if target in p.spread:
                p.store_back(target, self.arrays[m.index])
            else:
                p.copy_back(target, _bytes(self.native.outputs[m.index]), self.inputs + m.index)

    def _donated_array(self, k: int, out: Type) -> int:
        """The register of the argument whose memory output k takes."""
        leaf = next(leaf for leaf, param in self.donated.items() if param == self.native.donated[k])
        if self.infos[leaf].type != out:
            raise NoProgram
        self.program.array(self.leaves[leaf], out, self.inputs + k, True)
        return self.leaves[leaf]

    def _arrays(self) -> list[tuple[int, int]]:
        """Kernel arguments that are arrays of the caller's, with their sizes in bytes."""
        found = [(i.param, i.type) for i in self.infos if i.kind == "ndarray" and i.param is not None and i.alias is None]
        first = self.inputs - len(self.traced.captures)
        found += [(first + k, c.type) for k, c in enumerate(self.traced.captures) if self.is_array(c)]
        return [(k, _bytes(t)) for k, t in found]

    def result(self, r: Result) -> None:
        """One result leaf, into a register."""
        p = self.program
        if r.kind == "static":
            p.push("constant", 0, p.object(r.value))
        elif r.same_as is not None:
            kind, k = r.same_as
            p.push("again", self.leaves[k] if kind == "arg" else self.captured[k] if kind == "capture" else self._path(k)[0])
        elif r.kind == "ndarray":
            assert r.index is not None
            p.push("again", self.arrays[r.index])
        elif r.kind not in (*_NUMBERS, "bool"):
            raise NoProgram
        else:
            assert r.index is not None
            p.scalar(r.kind, self.native.outputs[r.index], self.inputs + r.index)

    def build(self, tree: TreeDef, results: list[Result]) -> None:
        """An object of this structure from the next results, into a register."""
        p = self.program
        if tree.cls is None:
            self.result(results.pop(0))
        elif tree.cls is TreeDef:
            p.push("constant", 0, p.object(tree.meta.value))
        else:
            for child in tree.children:
                self.build(child, results)
            n, cls = len(tree.children), tree.cls
            if cls is dict:
                p.gather("dict", n, tree.meta)
            elif cls is tuple or cls is list:
                p.gather(cls.__name__, n)
            else:
                p.gather("tuple", n)
                p.push("python", 0, p.object(_rebuilder(cls, tree.meta)), 0, pops=1)


_NUMBERS = ("float", "int", "generic")
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


_CHECKS = {"is": "is", "eq": "equal", "type": "class", "code": "code"}  # kind of guard -> operation


def _one_object(pair: tuple[Any, Any]) -> bool:
    return pair[0] is pair[1]


def _signed(x: Any) -> bool:
    """Is equality not all that counts: is there a zero that has a sign, or a NaN?"""
    if isinstance(x, (tuple, frozenset)):
        return any(map(_signed, x))
    return isinstance(x, (float, complex, np.inexact)) and (x == 0 or x != x)


def _holds(g: Guard, x: Any) -> bool:
    try:
        return x[0] is not x[1] if g.kind == "other" else PREDICATES[g.kind](x, g.expected)
    except Exception:  # an `__eq__` of the user's may raise anything
        return False


def _stepped(kind: str, key: Any, x: Any) -> Any:
    """A step of a path; where it leads nowhere, a thing that no guard fits."""
    try:
        return STEPS[kind](x, key)
    except Exception:
        return NotImplemented


def _bytes_field(f: Field, x: np.ndarray) -> np.ndarray:
    return child_of(x, f)


def _rebuilder(cls: type, meta: Any) -> Callable[[tuple[Any, ...]], Any]:
    return lambda children: rebuild(cls, meta, children)


def _bytes(t: Type) -> int:
    return t.size * t.numpy.itemsize


def _contiguous(t: Type, strides: Sequence[int]) -> bool:
    """Is an array with these strides (in bytes) C-contiguous?"""
    step = t.numpy.itemsize
    for d, s in zip(reversed(t.shape), reversed(strides)):
        assert isinstance(d, int)
        if d > 1 and s != step:
            return t.size == 0
        step *= d
    return True


def write(traced: Traced, native: Native, fn: Any, raiser: Raiser, donated: Mapping[int, int]) -> Program | None:
    """The program of a traced function, or None if the machine cannot express it."""
    try:
        args, kwargs = traced.in_tree.children
        w = Writer(traced, native, fn, raiser, args, kwargs, CALLED, donated)
        w.arguments()
        w.outside()
        w.kernel()
        w.build(traced.out_tree, list(traced.results))
        return w.program.finish()
    except NoProgram:
        return None
