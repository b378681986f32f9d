"""Control flow, calls, the tape, checks and output, and the transform ops that the autodiff pass expands.

Regions read values in scope freely. A `for` counts from 0; its body takes (index, *carry) and yields the carry; a
`while` tests before each trip. Everything that crosses from one trip to the next is a carry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from irad.core.ir import Graph, Node, Value, types
from irad.core.types import BOOL, I64, TAPE, Dim, Type, complex_dtype, is_complex
from irad.errors import IradTypeError, Loc
from irad.ops.array import zeros
from irad.ops.core import Keeps, Op, Raising, kept, type_error
from irad.ops.text import filled

# ---- branches and loops: derivatives are rules of irad.passes.derivatives.autodiff and irad.passes.derivatives.forward ----------------


Swap = tuple[tuple[int, int], ...]  # pairs of carries whose buffers change places after each trip (made by pingpong)


def _infer_if(cond: Type, *, then: Graph, orelse: Graph) -> tuple[Type, ...]:
    if cond != BOOL:
        raise type_error("the condition of `if` must be a bool scalar", cond)
    if then.params or orelse.params or types(then.results) != types(orelse.results):
        raise type_error("the branches of `if` must yield equal types", *types(then.results), *types(orelse.results))
    return types(then.results)


def _infer_for(n: Type, *carry: Type, body: Graph, swap: Swap = ()) -> tuple[Type, ...]:
    if n != I64:
        raise type_error("the trip count of `for` must be an i64 scalar", n)
    if types(body.params) != (I64, *carry) or types(body.results) != carry:
        raise type_error(
            "the body of `for` must take (i64, *carry) and yield the carry", *types(body.params), *types(body.results)
        )
    return carry


def _infer_while(*carry: Type, cond: Graph, body: Graph, swap: Swap = ()) -> tuple[Type, ...]:
    if types(cond.params) != carry or types(cond.results) != (BOOL,):
        raise type_error(
            "the condition of `while` must take the carry and yield a bool", *types(cond.params), *types(cond.results)
        )
    if types(body.params) != carry or types(body.results) != carry:
        raise type_error("the body of `while` must take and yield the carry", *types(body.params), *types(body.results))
    return carry


def _eval_for(n: Any, *carry: Any, body: Callable[..., list[Any]], swap: Swap = ()) -> tuple[Any, ...]:
    out = list(carry)
    for i in range(int(n)):
        out = body(I64.numpy.type(i), *out)
    return tuple(out)


def _eval_while(*carry: Any, cond: Callable[..., list[Any]], body: Callable[..., list[Any]], swap: Swap = ()) -> tuple[Any, ...]:
    out = list(carry)
    while cond(*out)[0]:
        out = body(*out)
    return tuple(out)


if_ = Op("if", _infer_if, lambda c, *, then, orelse: tuple((then if c else orelse)()), regions=("then", "orelse"), chooses=True)
for_ = Op("for", _infer_for, _eval_for, regions=("body",))
while_ = Op("while", _infer_while, _eval_while, regions=("cond", "body"), ends=False)
call = Op(
    "call",
    lambda *ts, callee, types: tuple(types),
    None,
    ends=False,
    doc="call of another graph of the program, by name; may recurse",
)
checkpoint = Op("checkpoint", lambda *, body: types(body.results), lambda *, body: tuple(body()), regions=("body",),
                doc="the backward runs the region again instead of saving its values; a barrier to CSE")  # fmt: skip

# ---- the tape: a linear value; push and pop are each the other's adjoint --------------------------------------
# `site` names a record layout: every push and pop of a site agrees on its entries.


def _infer_push(t: Type, *entries: Type, site: int) -> tuple[Type, ...]:
    if t != TAPE or TAPE in entries:
        raise type_error("push wants a tape and values", t, *entries)
    return (TAPE,)


def _infer_pop(t: Type, *, site: int, types: tuple[Type, ...]) -> tuple[Type, ...]:
    if t != TAPE:
        raise type_error("pop wants a tape", t)
    return (TAPE, *types)


def _eval_pop(t: Any, *, site: int, types: tuple[Type, ...]) -> Any:
    if not types:
        return (t,)
    assert t is not None, f"pop[{site}] of an empty tape"
    rest, pushed, entries = t
    assert pushed == site, f"pop[{site}] met push[{pushed}]"
    return (rest, *entries)


tape_new = Op("tape", lambda: (TAPE,), lambda: (None,), doc="an empty tape")
push = Op("push", _infer_push, lambda t, *entries, site: ((t, site, entries),))
pop = Op("pop", _infer_pop, _eval_pop)

# ---- checks and output -------------------------------------------------------------------------------------------


class RaisedInGraph(Exception):
    """Carries an exception that compiled or interpreted code raises: its class name, message and the user's line.

    `kept`: contents of results of the program that stand nevertheless, by their numbers.
    """

    def __init__(self, exc: str, message: str, loc: Loc | None = None, kept: Mapping[int, Any] | None = None):
        super().__init__(f"{exc}: {message}")
        self.exc, self.message, self.loc, self.kept = exc, message, loc, dict(kept or {})


def shown(node: Node) -> tuple[Value, ...]:
    """The operands of a check that its message shows."""
    return node.inputs[1 : len(node.inputs) - len(kept(node))]


def _infer_raise_if(cond: Type, *values: Type, exc: str, message: str, keeps: Keeps = ()) -> tuple[Type, ...]:
    if len(values) < len(keeps):
        raise type_error(f"raise_if wants an operand for each of the results {keeps} that it keeps", cond, *values)
    if cond != BOOL or any(v.shape for v in values[: len(values) - len(keeps)]):
        raise type_error("raise_if wants a bool scalar and scalars for the message", cond, *values)
    return ()


def _eval_raise_if(cond: Any, *values: Any, exc: str, message: str, keeps: Keeps = ()) -> tuple[()]:
    if cond:
        n = len(values) - len(keeps)
        raise RaisedInGraph(exc, filled(message, values[:n]), kept=dict(zip(keeps, values[n:])))
    return ()


def _eval_print(*values: Any, text: str) -> tuple[()]:
    print(filled(text, values), end="")
    return ()


raise_if = Raising("raise_if", _infer_raise_if, _eval_raise_if, effects="raise", vjp=lambda ad, node, cts, adj: None,
                   jvp=lambda ad, node, tan: [], doc="raise `exc` with `message`, whose {} are the scalar operands, if the condition "
                   "holds. The last operands are what the results `keeps` of the program hold then: the stores made before")  # fmt: skip
print_ = Op("print", lambda *ts, text: (), _eval_print, effects="io", vjp=lambda ad, node, cts, adj: None,
            jvp=lambda ad, node, tan: [], doc="print `text`, whose {} are the operands")  # fmt: skip

# ---- transforms: `f` is a region over the arguments; expanded innermost first by the autodiff pass -----------------


def _infer_vjp(*ts: Type, f: Graph, wrt: tuple[int, ...]) -> tuple[Type, ...]:
    n = len(f.params)
    floats = tuple(v.type for v in f.results if v.type.differentiable)
    if types(f.params) != ts[:n] or ts[n:] != floats:
        raise type_error("vjp wants the arguments of f, then a cotangent for each float result", *ts)
    if any(not f.params[k].type.differentiable for k in wrt):
        raise IradTypeError("vjp with respect to an argument that is not a float")
    return (*types(f.results), *(f.params[k].type for k in wrt))


def _infer_jvp(*ts: Type, f: Graph, wrt: tuple[int, ...]) -> tuple[Type, ...]:
    n = len(f.params)
    if types(f.params) != ts[:n] or ts[n:] != tuple(f.params[k].type for k in wrt):
        raise type_error("jvp wants the arguments of f, then a tangent for each argument in wrt", *ts)
    return (*types(f.results), *(v.type for v in f.results if v.type.differentiable))


vjp = Op("vjp", _infer_vjp, None, regions=("f",), ends=False,
         doc="inputs: arguments of f, cotangents of its float results; outputs: results of f, cotangents of arguments `wrt`")  # fmt: skip
jvp = Op("jvp", _infer_jvp, None, regions=("f",), ends=False,
         doc="inputs: arguments of f, tangents of arguments `wrt`; outputs: results of f, tangents of its float results")  # fmt: skip


def _infer_vmap(*ts: Type, f: Graph, size: Dim, batched: tuple[bool, ...]) -> tuple[Type, ...]:
    want = tuple(v.type.with_shape((size, *v.type.shape)) if b else v.type for v, b in zip(f.params, batched))
    if len(batched) != len(f.params) or ts != want:
        raise type_error("vmap wants the arguments of f, those that are batched with the batch as first axis", *ts)
    return tuple(v.type.with_shape((size, *v.type.shape)) for v in f.results)


def _eval_vmap(*xs: Any, f: Callable[..., list[Any]], size: Dim, batched: tuple[bool, ...]) -> tuple[Any, ...]:
    rows = [f(*(x[k] if b else x for x, b in zip(xs, batched))) for k in range(size)]  # type: ignore[arg-type]
    if not rows:
        raise IradTypeError("vmap over an empty axis has no reference meaning")
    return tuple(np.stack([np.asarray(row[k]) for row in rows]) for k in range(len(rows[0])))


vmap = Op("vmap", _infer_vmap, _eval_vmap, regions=("f",),
          doc="f for each of `size` elements of the `batched` arguments' first axes; results have the batch as first axis")  # fmt: skip


def _infer_jacobian(*ts: Type, f: Graph, mode: str, symmetric: bool) -> tuple[Type, ...]:
    if types(f.params) != ts or not all(t.differentiable for t in ts):
        raise type_error("jacobian wants the arguments of f, all floats", *ts)
    floats = [v.type for v in f.results if v.type.differentiable]
    return (*types(f.results), *(jacobian_block(r, t) for r in floats for t in ts))


def jacobian_block(result: Type, argument: Type) -> Type:
    """The type of the derivatives of a result with respect to an argument: complex if either is."""
    dtype = complex_dtype(result.dtype) if is_complex(argument.dtype) else result.dtype
    return Type(dtype, (*result.shape, *argument.shape))


jacobian = Op("jacobian", _infer_jacobian, None, regions=("f",),
              doc="results of f, then for each float result its derivatives by each argument, shape result + argument; "
              'mode: "forward", "reverse" or "" for the cheaper; symmetric: f is a gradient')  # fmt: skip


def zero(t: Type) -> Value:
    """The zero of a type; a tape's zero is an empty tape."""
    return tape_new() if t == TAPE else zeros(t)
