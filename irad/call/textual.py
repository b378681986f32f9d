"""Compiled textual graphs: the callables of `compile`, for a graph that `load` has read."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.call.compiled import Job, native_of, signature
from irad.call.specialisation import user_exception
from irad.codegen.call.native import NativeCode
from irad.core.ir import Program
from irad.core.once import import_later
from irad.core.types import Type, dtype_name
from irad.errors import IradTypeError, IradValueError
from irad.frontend.transforms.transform import OUTSIDE
from irad.ops.control import RaisedInGraph
from irad.options import DEFAULT, Options
from irad.passes.derivatives.autodiff import grad, vjp


class CompiledGraph:
    """A compiled graph: takes one array or number per parameter, returns its result, or a tuple of its results."""

    def __init__(self, program: Program, argnums: int | tuple[int, ...], options: Options = DEFAULT):
        self.program, self.argnums, self.options = program, argnums, options
        self.entry = next(iter(program.values()))
        self._made: dict[str, NativeCode] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_text, (import_later("irad.core.text").show(self.program), self.argnums, self.options)

    def _native(self, kind: str) -> NativeCode:
        if kind not in self._made:
            wrt = [self.argnums] if isinstance(self.argnums, int) else list(self.argnums)
            source = {
                "value": lambda: self.program,
                "grad": lambda: grad(self.program, wrt),
                "vjp": lambda: vjp(self.program, wrt),
            }
            program = source[kind]()
            outside = signature(next(iter(program.values())))
            self._made[kind] = native_of(Job(program, outside, self.options))
        return self._made[kind]

    def _run(self, kind: str, args: tuple[Any, ...]) -> list[Any]:
        code = self._native(kind)
        if len(args) != len(code.params):
            raise IradTypeError(f"@{self.entry.name} takes {len(code.params)} arguments, {len(args)} were given")
        hints = [v.hint for v in self.entry.params]
        names = [f"%{h}" if h else str(k) for k, h in enumerate([*hints, *[""] * (len(args) - len(hints))])]
        try:
            return code.run([_argument(x, t, name) for x, t, name in zip(args, code.params, names)])
        except RaisedInGraph as e:
            raise user_exception(e, {}) from None

    def _results(self, values: list[Any]) -> Any:
        out = tuple(v if v.shape else v[()] for v in values)
        return out[0] if len(out) == 1 else out

    def __call__(self, *args: Any) -> Any:
        """The results."""
        return self._results(self._run("value", args))

    def value_and_grad(self, *args: Any) -> Any:
        """(results, gradient of the first result with respect to the parameters `argnums`)."""
        values = self._run("grad", args)
        n = len(self.entry.results)
        grads = tuple(v if v.shape else v[()] for v in values[n:])
        return self._results(values[:n]), grads[0] if isinstance(self.argnums, int) else grads

    def grad(self, *args: Any) -> Any:
        """The gradient of the first result."""
        return self.value_and_grad(*args)[1]

    def vjp(self, *args: Any) -> tuple[Any, Any]:
        """(results, pullback): the pullback takes a cotangent for each float result and gives those of `argnums`."""
        kept = tuple(np.array(a) for a in args)

        def pullback(*cotangents: Any) -> tuple[Any, ...]:
            return tuple(self._run("vjp", (*kept, *cotangents))[len(self.entry.results) :])

        return self(*args), pullback


def compiled(graph: Any, numbers: Any, given: Options) -> CompiledGraph:
    """A graph, compiled. Raises IradValueError if `numbers` are not positions of its parameters."""
    many = numbers if isinstance(numbers, tuple) else (numbers,)
    count = len(next(iter(graph.values())).params)
    if any(isinstance(k, str) or not -count <= k < count for k in many):
        raise IradValueError(f"argnums {numbers!r}: positions of the graph's {count} parameters are wanted")
    return CompiledGraph(graph, numbers, given)


def _from_text(text: str, argnums: int | tuple[int, ...], options: Options) -> CompiledGraph:
    """A compiled graph that was pickled."""
    return CompiledGraph(import_later("irad.core.text").parse(text), argnums, options)


def _argument(x: Any, t: Type, name: str) -> np.ndarray:
    a = np.asarray(x)
    if a.shape != t.shape or not np.can_cast(a.dtype, t.numpy, "same_kind"):
        dtype = dtype_name(a.dtype)
        given = Type(dtype, a.shape) if dtype else f"dtype {a.dtype} and shape {a.shape}"
        raise IradValueError(f"argument {name} must be {t}, not {given}")
    return np.ascontiguousarray(a, t.numpy).reshape(t.dims)


for _name in ("__call__", "value_and_grad", "grad", "vjp"):
    OUTSIDE[getattr(CompiledGraph, _name)] = "a compiled graph is run as it is; call it outside, and pass what it gives"
