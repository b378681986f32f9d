"""Programs of irad.codegen.call.machine for `vjp` (a result and its pullback) and for the pullback.

The pullback is called with a list of what it keeps in the place of the function: arrays of its own, and NumPy scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.call.conditions import Conditions
from irad.call.fastcall import Raiser, Writer
from irad.call.places import NoProgram
from irad.codegen.call.machine import Program
from irad.codegen.call.native import NativeCode
from irad.core.tree import TreeDef
from irad.core.types import Type, is_complex
from irad.frontend.values.guards import Path
from irad.frontend.values.traced import Result, Traced
from irad.passes.derivatives.split import Residual

CALLED = Path("fn", (("cell", "fn"),))  # where the joint function holds the one that is differentiated


class _Forward(Writer):
    def __init__(self, traced: Traced, native: NativeCode, fn: Any, raiser: Raiser, out: Sequence[Result]):
        if traced.mutated or traced.writes or traced.once or any(is_complex(t.dtype) for t in (*native.params, *native.outputs)):
            raise NoProgram
        (primals, _), kwargs = traced.in_tree.children[0].children, traced.in_tree.children[1]
        super().__init__(traced, native, fn, raiser, primals, kwargs, CALLED)
        self.results = tuple(out)

    def keep(self, residuals: Sequence[Residual], own: int) -> None:
        """What the pullback needs, into registers."""
        for r in residuals:
            if r.source == "argument":
                self._argument(r.index)
            else:
                self._output(r.index + (own if r.source == "value" else 0), r.source == "result")

    def _argument(self, param: int) -> None:
        p, t, first = self.program, self.native.params[param], self.inputs - len(self.traced.captures)
        if param >= first:
            c = self.traced.captures[param - first]
            at, array = self.places.at(c.path), self.is_array(c)
        else:
            k = next(k for k, info in enumerate(self.infos) if info.param == param and info.alias is None)
            at, array = self.places.at(k), self.infos[k].kind == "ndarray"
        if array:
            p.push("array_copy", at)
        else:
            p.scalar("generic", t, param)

    def _output(self, k: int, copy: bool) -> None:
        if k in self.arrays:
            self.program.push("array_copy" if copy else "again", self.arrays[k])
        else:
            self.program.scalar("generic", self.native.outputs[k], self.inputs + k)


def write_forward(
    traced: Traced,
    conditions: Conditions,
    native: NativeCode,
    fn: Any,
    raiser: Raiser,
    out: Sequence[Result],
    residuals: Sequence[Residual],
    finish: Callable[[tuple[Any, ...]], Any],
) -> Program | None:
    """The program of a forward; `fn` is the joint function. `finish` makes the pullback of what it keeps."""
    try:
        w = _Forward(traced, native, fn, raiser, out)
        w.given(conditions)
        w.kernel()
        w.build(traced.out_tree.children[0], list(out))
        w.keep(residuals, sum(r.index is not None for r in out))
        w.program.gather("tuple", len(residuals))
        w.program.push("python", 0, w.program.object(finish), 0, pops=1)
        w.program.gather("tuple", 2)
        return w.program.finish()
    except NoProgram:
        return None


class _Backward(Writer):
    """`kept`: what a pullback keeps; `cotangents`: the leaves of its argument."""

    def __init__(self, traced: Traced, native: NativeCode, raiser: Raiser, kept: Sequence[Any], cotangents: Sequence[Any]):
        tree = traced.out_tree.children[0]
        super().__init__(traced, native, None, raiser, TreeDef(tuple, None, (tree,)), TreeDef(dict, (), ()))
        self.kept, self.cotangents = kept, cotangents
        self.infos = self.places.infos = ()

    def inside(self) -> None:
        """What is kept, then the cotangents, as arguments of the kernel."""
        self.places.take_apart(self.children)
        p, n = self.program, len(self.kept)
        at = p.push("list", p.push("function"), p.object(list), n, pushes=n)
        late = self.traced.in_leaves[len(self.traced.in_leaves) - len(self.cotangents) :]
        taken = [(self.places.at(k), x) for k, (x, info) in enumerate(zip(self.cotangents, late)) if info.param is not None]
        for arg, (word, x) in enumerate([*((at + k, x) for k, x in enumerate(self.kept)), *taken]):
            self._input(word, x, self.native.params[arg], arg)

    def _input(self, word: int, x: Any, t: Type, arg: int) -> None:
        kind = "ndarray" if type(x) is np.ndarray else "generic" if isinstance(x, np.generic) else type(x).__name__
        if kind == "ndarray":
            self.program.array(word, t, arg)
        elif kind == "generic" or (kind == "float" and t.dtype == "f64"):
            self.program.number(word, kind, t, arg)
        else:
            raise NoProgram


def write_backward(
    traced: Traced,
    native: NativeCode,
    raiser: Raiser,
    kept: Sequence[Any],
    cotangents: Sequence[Any],
    grads: Sequence[Result],
    shift: int,
) -> Program | None:
    """The program of a pullback whose results are `grads`, numbered from `shift`."""
    if any(r.same_as is not None for r in grads):
        return None
    moved = tuple(Result(r.kind, None if r.index is None else r.index - shift, r.value) for r in grads)
    try:
        w = _Backward(traced, native, raiser, kept, cotangents)
        w.results, w.mutated, w.apart = moved, (), ()
        w.inside()
        w.kernel()
        w.build(traced.out_tree.children[1], list(moved))
        return w.program.finish()
    except NoProgram:
        return None
