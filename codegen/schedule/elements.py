"""Elements of loop bodies, results of loops, and what folds start from."""

from __future__ import annotations

from irad.codegen.kernel import form as kf
from irad.codegen.lower.graph import KernelBuilder
from irad.core.ir import Node, Value
from irad.core.lazy_dataclass import dataclass
from irad.ops.loop import Out, fold_width, load, neutral

REGISTER = 64  # bytes
SHORT_SUM = 1024  # elements: a float32 sum of so many is folded in float32 (16 lanes or more: 64 additions each)


@dataclass
class LoopResult:
    """One out of a loop: its destinations, result values, yielded operands' sources."""

    out: Out
    dests: list[Value]
    values: list[Value]
    extra: list[Value]
    finals: list[Value]


def results(node: Node) -> list[LoopResult]:
    """The outs of a loop with their destinations, values and results."""
    (body,) = node.regions
    out, k, j = [], 0, 0
    for o in node.attrs["outs"]:
        w = o.width
        out.append(
            LoopResult(
                o,
                list(node.inputs[k : k + w]),
                list(body.results[j : j + w]),
                list(body.results[j + w : j + w + o.extra]),
                list(node.outputs[k : k + w]),
            )
        )
        k, j = k + w, j + w + o.extra
    return out


def element(f: KernelBuilder, n: Node) -> None:
    """A node of a loop body: a load or a scalar op."""
    if n.op is load:
        x, *idx = n.inputs
        at = f.flat(x, n.attrs["map"], [f.aff(i) for i in idx])
        f.env[n.outputs[0]] = f.let(kf.Load(f.address(x).buf, (at,)), x.type.dtype, x.hint or "x")
    elif n.op.name in ("const", "empty", "copy"):
        f.node(n)
    else:
        f.scalar(n)


def identity(kind: str, dtype: str) -> tuple[object, ...]:
    """What a fold starts with."""
    return (neutral(kind, dtype), -1)[: fold_width(kind)]


def accumulator(kind: str, dtype: str, trips: int | None = None) -> str:
    """Sums of narrow floats are folded in wider ones, unless few are added (each lane then adds a handful)."""
    if kind != "add" or dtype not in ("f32", "f16"):
        return dtype
    return "f32" if trips is not None and trips <= SHORT_SUM else "f64"
