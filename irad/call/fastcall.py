"""Which calls run without Python code, and how: from a traced function to a program of irad.codegen.call.machine.

A program checks everything that the specialisation relies on (types and layout of the arguments, static parts, captured
state, aliases) with the machine's own checks. What they cannot express has no program (`NoProgram`): such calls, and those
for which no program fits, take the path in Python, which is exact about everything.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from irad.call.conditions import NUMBERS, Condition, Conditions
from irad.call.places import NoProgram, Places
from irad.call.write_back import assign_all
from irad.codegen.call.machine import Program
from irad.codegen.call.native import NativeCode
from irad.core.tree import TreeDef, rebuild
from irad.core.types import Type
from irad.frontend.transforms.transform import Transform
from irad.frontend.values.guards import Capture, Path
from irad.frontend.values.traced import GIVEN, Result, Traced, record_of

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
        native: NativeCode,
        fn: Any,
        raiser: Raiser,
        args: TreeDef,
        kwargs: TreeDef,
        root: Path = CALLED,
        donated: Mapping[int, int] = MappingProxyType({}),
    ):
        if any(w.there is not None or w.tree is None for w in traced.writes) or native.tapes or not native.direct:
            raise NoProgram
        sized = any(not t.static for t in (*native.params, *native.outputs))
        if sized and (
            traced.mutated
            or traced.apart
            or donated
            or any(not t.static and not m.before for t, m in zip(native.outputs, native.made))
        ):
            raise NoProgram
        self.traced, self.native, self.root = traced, native, root
        self.infos = traced.in_leaves[: args.size + kwargs.size]
        self.inputs = len(native.params)
        self.donated = donated
        self.results, self.mutated, self.apart = traced.results, traced.mutated, traced.apart
        self.program = Program(native, raiser, (len(args.children), tuple(kwargs.meta or ())))
        written = {m.target for m in self.mutated} | {("arg", k) for k in donated}
        self.places = Places(self.program, fn, root, self.infos, written)
        self.children = (*args.children, *kwargs.children)
        self.places.names = {(0, k): k for k in range(len(args.children))}
        self.places.names |= {(1, name): len(args.children) + k for k, name in enumerate(kwargs.meta or ())}
        self.arrays: dict[int, int] = {}  # number of an output -> register of its array
        self.made: list[int] = []  # registers of what stands in several places

    def given(self, conditions: Conditions) -> None:
        """What the call gives: arguments, the code of the function, captured state. All of it is checked."""
        self.places.take_apart(self.children)
        conditions.write_leaves(self.places)
        self._code()
        conditions.write_outside(self.places)
        for group in self.traced.once:
            first, *rest = group.changed
            Condition("apart", first, (tuple(rest), group.others)).write(self.places)

    def _code(self) -> None:
        """A function's code may be replaced."""
        path, obj = self.root, self.places.object(self.root)
        while isinstance(obj, Transform):
            path, obj = path.child("attr", "fun"), obj.fun
        if isinstance(obj, FunctionType):
            Condition("code", path, obj.__code__).write(self.places)

    def is_array(self, c: Capture) -> bool:
        return type(self.places.object(c.path)) is np.ndarray

    # ---- the kernel and the results ----

    def kernel(self) -> None:
        """Memory for the results, the kernel, and what it changes."""
        p = self.program
        written = {m.index: m for m in self.mutated}
        arrays = self._arrays() if self.apart or self.donated else []
        groups = {self.traced.parameter(target): group for target, group in record_of(self.traced).items()} if arrays else {}
        sizes = dict(arrays)
        for target in map(self.traced.parameter, self.apart):
            for arg, other in arrays:
                if arg != target and (arg not in groups or groups[arg] != groups.get(target)):
                    p.apart(target, sizes[target], arg, other)
        for param in self.donated.values():
            for arg, other in arrays:
                if arg != param:
                    p.apart(param, sizes[param], arg, other)
        p.copies()
        returned = {r.index for r in (*self.results, *self.traced.held) if r.kind == "ndarray"}
        for k, out in enumerate(self.native.outputs):
            if k in self.native.donated:
                self.arrays[k] = self._donated_array(k, out)
            elif k in written and self.traced.parameter(written[k].target) not in p.spread:
                p.buffer(self.inputs + k, _bytes(out))
            elif not out.static:
                dims = self.native.made[k].dims
                assert dims is not None
                self.arrays[k] = p.new_sized(out, dims, self.inputs + k)
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
        at = self.places.at(leaf)
        self.program.array(at, out, self.inputs + k, True)
        return at

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
            if kind == "made":
                p.push("again", self.made[k])
                return
            p.push("again", self.places.at(self.traced.captures[k].path if kind == "capture" else k))  # a leaf, or a path
        elif r.kind == "ndarray":
            assert r.index is not None
            p.push("again", self.arrays[r.index])
        elif r.kind not in (*NUMBERS, "bool"):
            raise NoProgram
        else:
            assert r.index is not None
            p.scalar(r.kind, self.native.outputs[r.index], self.inputs + r.index)

    def assigned(self) -> None:
        """What the call assigns outside: all of it is made before the first is assigned."""
        p, writes = self.program, self.traced.writes
        for k, axes in self.traced.turned.items():
            self.arrays[k] = self.places.python(operator.methodcaller("transpose", axes), self.arrays[k])
        for r in (*self.results, *self.traced.held):
            if r.same_as is not None and r.same_as[0] == "path":
                self.places.at(r.same_as[1])  # what stands between the parts of a value would be taken for one
        owners = [self.places.at(w.path) for w in writes]
        for tree, inside in self.traced.made:
            self.made.append(self._built(tree, inside))
        values = [self._built(w.tree, w.results) for w in writes if w.tree is not None]
        others = []
        for w, owner, value in zip(writes, owners, values):
            if w.kind == "attr" and (w.path.root == GIVEN or not isinstance(self.places.object(w.path), type)):
                p.op("set_attribute", owner, p.object(w.name), value)
                continue
            others.append(w)
            p.push("again", owner)
            p.push("again", value)
        if others:
            p.gather("tuple", 2 * len(others))
            p.push("python", 0, p.object(functools.partial(assign_all, others)), 0, pops=1)

    def _built(self, tree: TreeDef, results: Sequence[Result]) -> int:
        self.build(tree, list(results))
        return self.program.first + self.program.depth - 1

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


def _rebuilder(cls: type, meta: Any) -> Callable[[tuple[Any, ...]], Any]:
    return lambda children: rebuild(cls, meta, children)


def _bytes(t: Type) -> int:
    return t.size * t.numpy.itemsize


def write(
    traced: Traced,
    conditions: Conditions,
    native: NativeCode,
    fn: Any,
    raiser: Raiser,
    donated: Mapping[int, int],
    root: Path = CALLED,
) -> Program | None:
    """The program of a traced function, or None if the machine cannot express it. `root`: the path of the called function."""
    try:
        args, kwargs = traced.in_tree.children
        w = Writer(traced, native, fn, raiser, args, kwargs, root, donated)
        w.given(conditions)
        w.kernel()
        w.assigned()
        w.build(traced.out_tree, list(traced.results))
        return w.program.finish()
    except NoProgram:
        return None
