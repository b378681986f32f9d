"""Ops whose derivative the user gives, that stop a derivative, or that call back into Python.

`custom_vjp` and `custom_jvp` hold the function and its rule as regions; irad.passes.derivatives.custom_rules differentiates by the rule and
puts the function itself wherever nothing is differentiated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from irad.core.ir import Graph, types
from irad.core.types import DTYPES, Type, type_of
from irad.errors import IradTypeError, UnsupportedError
from irad.ops.core import Keeps, Op, Raising, type_error

stop_gradient = Op("stop_gradient", lambda t: (t,), lambda x: np.array(x)[()], vjp=lambda ad, node, cts, adj: None,
                   jvp=lambda ad, node, tan: [None], cheap=True, intervals=lambda a: a, stacks=True, doc="x, as a constant for every derivative")  # fmt: skip


def float_types(values: Sequence[Any]) -> tuple[Type, ...]:
    """The types of the values that carry derivatives."""
    return tuple(v.type for v in values if v.type.differentiable)


def _infer_custom_vjp(*ts: Type, f: Graph, fwd: Graph, bwd: Graph) -> tuple[Type, ...]:
    outs, kept = types(f.results), keeps(fwd, ts, len(f.results))
    if types(f.params) != ts or types(fwd.params) != ts:
        raise type_error("custom_vjp: the function and its forward take the operands", *ts, *types(f.params), *types(fwd.params))
    if fwd.results and types(fwd.results)[: len(outs)] != outs:
        raise type_error("custom_vjp: the forward must give what the function gives, then residuals", *outs, *types(fwd.results))
    if types(bwd.params) != (*kept, *float_types(f.results)) or types(bwd.results) != ts:
        raise type_error("custom_vjp: the backward takes residuals and cotangents, and gives cotangents", *types(bwd.params))
    return outs


def keeps(fwd: Graph, operands: tuple[Type, ...], outputs: int) -> tuple[Type, ...]:
    """Types of the residuals: the operands, if the forward gives nothing."""
    return types(fwd.results)[outputs:] if fwd.results else operands


def _infer_custom_jvp(*ts: Type, f: Graph, rule: Graph) -> tuple[Type, ...]:
    outs = types(f.results)
    if types(f.params) != ts or types(rule.params) != (*ts, *ts):
        raise type_error("custom_jvp: the rule takes the operands, then their tangents", *ts, *types(rule.params))
    if types(rule.results) != (*outs, *float_types(f.results)):
        raise type_error("custom_jvp: the rule gives the results, then tangents of the floats", *outs, *types(rule.results))
    return outs


custom_vjp = Op("custom_vjp", _infer_custom_vjp, lambda *xs, f, fwd, bwd: tuple(f(*xs)), regions=("f", "fwd", "bwd"),
                doc="f(x) -> y; fwd(x) -> (y, residuals); bwd(residuals, ct) -> cotangents of x. A fwd without results: f itself, residuals x")  # fmt: skip
custom_jvp = Op("custom_jvp", _infer_custom_jvp, lambda *xs, f, rule: tuple(f(*xs)), regions=("f", "rule"),
                doc="f(x) -> y; rule(x, dx) -> (y, dy), for the derivative")  # fmt: skip

# ---- calls of Python -------------------------------------------------------------------------------------------------------


class HostFunction:
    """A Python function that compiled code calls: arrays in, results checked against `types`.

    `call(*arrays)` gives as many arrays as there are types. A graph names it; whoever runs the graph keeps it alive.
    `plain`: irad's own, which takes scalars as Python numbers and whose results are what it promises; `why` it has no derivative.
    """

    def __init__(
        self, call: Callable[..., Sequence[Any]], types: tuple[Type, ...], label: str, plain: bool = False, why: str = ""
    ):
        clean = "".join(c if c.isalnum() or c == "_" else "_" for c in label).strip("_") or "f"
        self.call, self.types, self.label, self.plain, self.why = call, types, label, plain, why
        self.name = f"{clean}_{next(_numbers)}"
        HOSTS[self.name] = self

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """Raises IradTypeError if the results have not the promised types; what the function raises comes out."""
        found = self.call(*(x if x.ndim or not self.plain else x.item() for x in arrays))
        if len(found) != len(self.types):
            raise IradTypeError(f"callback {self.label} returned {len(found)} leaves; its result_types promise {len(self.types)}")
        return tuple(_promised(x, t, self.label) for x, t in zip(found, self.types))


def _promised(x: Any, t: Type, label: str) -> np.ndarray:
    """A result as an array of the promised type; a Python number fits any dtype that holds it."""
    weak = isinstance(x, (int, float)) and not isinstance(x, np.generic)
    found = type_of(x)
    fits = found.shape == t.shape and (found.dtype == t.dtype or weak and np.can_cast(type(x), DTYPES[t.dtype], "same_kind"))
    if not fits:
        raise IradTypeError(f"callback {label} returned {found}, its result_types promise {t}")
    return np.ascontiguousarray(np.asarray(x, t.numpy)).reshape(t.dims)


_numbers = itertools.count()
HOSTS: WeakValueDictionary[str, HostFunction] = WeakValueDictionary()


def host(name: str) -> HostFunction:
    """The Python function of that name. Raises UnsupportedError if it is gone: a graph read from text has none."""
    found = HOSTS.get(name)
    if found is None:
        raise UnsupportedError(f"there is no Python function {name!r} in this process to call back")
    return found


def _eval_callback(*xs: Any, name: str, types: tuple[Type, ...], keeps: Keeps = ()) -> tuple[Any, ...]:
    return tuple(x[()] for x in host(name)(*map(np.asarray, xs[: len(xs) - len(keeps)])))


callback = Raising("callback", lambda *ts, name, types, keeps=(): tuple(types), _eval_callback, effects="io",
                   doc="call of a Python function, in program order with all other effects. The last operands are what the "
                   "results `keeps` of the program hold if it raises")  # fmt: skip
pure_callback = Op("pure_callback", lambda *ts, name, types: tuple(types), _eval_callback,
                   doc="call of a Python function without effects: it may be left out, repeated or moved")  # fmt: skip
