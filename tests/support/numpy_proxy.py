"""Runs plain NumPy lambdas through the front end's table: `np` is a proxy, arrays are traced, results are interpreted."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from irad.call.compiled import signature
from irad.core.interp import interpret
from irad.core.ir import Graph, Value, build
from irad.core.types import Type, type_of
from irad.core.verify import verify
from irad.errors import IradError, UnsupportedError
from irad.frontend.numpy import table
from irad.frontend.values.arr import Arr
from irad.pipeline import native, optimise

BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv", "mod": "mod", "pow": "pow",
    "matmul": "matmul", "and": "and_", "or": "or_", "xor": "xor", "lshift": "lshift", "rshift": "rshift",
}  # fmt: skip


class Traced:
    """A traced array with NumPy's operators, methods and attributes, all through the table."""

    __array_ufunc__ = None

    def __init__(self, arr: Arr):
        self.arr = arr

    def __getattr__(self, name: str) -> Any:
        if name in table.ATTRIBUTES:
            return wrap(table.ATTRIBUTES[name](self.arr))
        if name not in table.METHODS:
            raise AttributeError(name)
        return lambda *args, **kw: wrap(table.METHODS[name](self.arr, *unwrap(args), **unwrap(kw)))

    def __getitem__(self, key: Any) -> Any:
        return wrap(table.getitem(self.arr, unwrap(key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.arr = Arr(table.setitem(self.arr, unwrap(key), unwrap(value)))

    def __index__(self) -> int:
        raise TypeError("traced")


def _operators() -> None:
    def forward(op: str) -> Any:
        return lambda x, *y: wrap(table.OPERATORS[op](x.arr, *unwrap(y)))

    def backward(op: str) -> Any:
        return lambda x, y: wrap(table.OPERATORS[op](unwrap(y), x.arr))

    for dunder, op in BINARY.items():
        setattr(Traced, f"__{dunder}__", forward(op))
        setattr(Traced, f"__r{dunder}__", backward(op))
    for name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert", "divmod", "round"):
        setattr(Traced, f"__{name}__", forward(name))
    Traced.__rdivmod__ = backward("divmod")


_operators()


def wrap(x: Any) -> Any:
    if isinstance(x, Arr):
        return Traced(x)
    return type(x)(map(wrap, x)) if isinstance(x, (tuple, list)) else x


def unwrap(x: Any) -> Any:
    if isinstance(x, Traced):
        return x.arr
    if isinstance(x, _Function):
        return x._real
    if inspect.isfunction(x):
        return lambda *args: unwrap(x(*map(wrap, args)))
    if isinstance(x, slice):
        return slice(unwrap(x.start), unwrap(x.stop), unwrap(x.step))
    if isinstance(x, dict):
        return {k: unwrap(v) for k, v in x.items()}
    return type(x)(map(unwrap, x)) if type(x) in (tuple, list) else x


class Namespace:
    """`np` or `scipy.special` whose functions go through the table whenever an argument is traced."""

    def __init__(self, real: Any):
        self._real = real

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        builder = table.lookup(real)
        if builder is None:
            return Namespace(real) if callable(real) or inspect.ismodule(real) else real
        return _Function(real, builder)

    def __call__(self, *args: Any, **kw: Any) -> Any:
        if table.is_traced(unwrap(args)) or table.is_traced(unwrap(kw)):
            raise NotImplementedError(f"{self._real} is not in the table")
        return self._real(*args, **kw)


class _Function:
    def __init__(self, real: Any, builder: Any):
        self._real, self._builder = real, builder

    def __call__(self, *args: Any, **kw: Any) -> Any:
        args, kw = unwrap(args), unwrap(kw)
        if not (table.is_traced(args) or table.is_traced(kw)):
            return self._real(*args, **kw)
        return wrap(self._builder(*args, **kw))

    def __getattr__(self, name: str) -> Any:
        return getattr(Namespace(self._real), name)


NP = Namespace(np)


def parameter(x: Any) -> tuple[Value, Any]:
    """A parameter for an example argument, and the traced array over it; Python numbers are weak."""
    t = type_of(x)
    value = Value(t)
    weak = isinstance(x, (bool, int, float)) and not isinstance(x, np.generic)
    return value, Traced(Arr(value, weak))


def run(fn: Any, *args: Any, module: Any = NP) -> Any:
    """fn(np, *args) traced, verified and interpreted; same structure as fn returns, static results as they are."""
    params = [parameter(a) for a in args]
    out: list[Any] = []

    def body(*_: Value) -> list[Value]:
        out.append(unwrap(fn(module, *(t for _, t in params))))
        return [x.value for x in _leaves(out[0]) if isinstance(x, Arr)]

    graph = build([v for v, _ in params], body)
    verify(graph)
    found = interpret(graph, *args)
    same = run_native(graph, args)
    if same is not None:
        _agree(found, same)
    values = iter(found)
    return _fill(out[0], values)


def run_native(graph: Graph, args: Any) -> list[np.ndarray] | None:
    """The results of the graph's native code; None where an integer of no known bound shapes an array, which is refused."""
    try:
        code = native(optimise({"f": graph}), signature(graph))
    except UnsupportedError as e:
        assert "has no bound that could be found" in e.message
        return None
    return code.run([np.array(a, v.type.numpy, order="C").reshape(v.type.shape) for a, v in zip(args, graph.params)])


def _agree(want: Any, got: Any) -> None:
    for w, g in zip(want, got, strict=True):
        w, g = np.asarray(w), np.asarray(g)
        eps = 2048 * float(np.finfo(w.dtype).eps) if w.dtype.kind in "fc" else 0
        np.testing.assert_allclose(g, w, rtol=eps, atol=eps, equal_nan=True, err_msg="native code")


def _leaves(x: Any) -> list[Any]:
    return [leaf for e in x for leaf in _leaves(e)] if isinstance(x, (tuple, list)) else [x]


def _fill(x: Any, values: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return type(x)(_fill(e, values) for e in x)
    if not isinstance(x, Arr):
        return x
    v = next(values)
    return np.asarray(v, x.type.numpy)[()].item() if x.weak else np.asarray(v)


def check(fn: Any, *args: Any, module: Any = NP, real: Any = np, ulps: float = 64, numpy_1: str = "") -> None:
    """The traced function and NumPy itself agree in structure, shape, dtype and value.

    `numpy_1`: what NumPy 1 gives where irad gives what NumPy 2 does: "wider", float64 for float32; "legacy", the same, but not while it
    promotes as NumPy 2.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with promotion("legacy" if numpy_1 == "legacy" else ""):
                want = fn(real, *[np.array(a) if isinstance(a, np.ndarray) else a for a in args])
        except (TypeError, OverflowError):  # what NumPy refuses is refused
            with pytest.raises(IradError):
                run(fn, *args, module=module)
            return
        got = run(fn, *args, module=module)
        if numpy_1 == "wider":
            assert want.dtype == np.float64  # irad gives NumPy 2's: float32, unless another operand is wider
            want = want.astype(got.dtype)
        compare(got, want, ulps)


@contextmanager
def promotion(kind: str) -> Iterator[None]:
    """Of NumPy 1, if a kind is given."""
    if not kind:
        yield
        return
    before = np._get_promotion_state()  # type: ignore[attr-defined]
    np._set_promotion_state(kind)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        np._set_promotion_state(before)  # type: ignore[attr-defined]


def compare(got: Any, want: Any, ulps: float) -> None:
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), f"{len(got)} results, NumPy gives {len(want)}"
        for g, w in zip(got, want):
            compare(g, w, ulps)
        return
    if isinstance(want, (bool, int, float)) and not isinstance(want, np.generic):
        assert type(got) is type(want) or isinstance(got, np.ndarray), f"{type(got)} instead of {type(want)}"
    if isinstance(want, (np.dtype, type)):
        assert got == want
        return
    g, w = np.asarray(got), np.asarray(want)
    assert g.shape == w.shape, f"shape {g.shape}, NumPy gives {w.shape}"
    assert g.dtype == w.dtype, f"dtype {g.dtype}, NumPy gives {w.dtype}"
    if w.dtype.kind == "f":
        tiny = float(np.finfo(w.dtype).eps) * ulps
        np.testing.assert_allclose(g, w, rtol=tiny, atol=tiny, equal_nan=True)
    else:
        np.testing.assert_array_equal(g, w)


__all__ = ["NP", "Namespace", "Type", "check", "run"]
