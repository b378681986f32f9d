"""What an op is: one row with all that is known of it, its name, type rule, meaning, derivative and cost; and the op table.

`infer(*input types, **attrs, **regions) -> result types`   raises an `IradError` that states both types
`eval(*arrays, **attrs) -> array or tuple of arrays`        the meaning, in NumPy; never changes its arguments
`vjp(ad, node, cts, adj)`                                   reverse rule: emits nodes that add to `adj`. See irad.passes.derivatives.autodiff:
    ad.need(v)    the forward value v, readable in the backward     ad.active(v)  does v carry a derivative?
    adj.add(v, c) add a cotangent                                   adj.take(v)   hand over v's accumulator (zeros if none)
    adj.scatter(v, c, idx, spec)  add c at a place of array v, in place, see irad.ops.array
    adj[v] = c    put an accumulator back                           cts[k]        cotangent of output k, None is a symbolic zero
`jvp(ad, node, tan) -> tangents of the outputs`             forward rule: `tan.get(v)` is the tangent of v, None a symbolic zero
    The engines call a rule only where it counts: an operand carries a derivative, and an output a cotangent (an operand a tangent).
    So the rule of an op with one operand need not ask.
`intervals`                                                 integers: (lo, hi) of the result from those of the operands

The native code of an op is found by its name, in irad.codegen. What passes ask about an op is a fact on its row, never in a table of
op names elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irad.core import ir
from irad.core.ir import Node, Value, current, emit
from irad.core.lazy_dataclass import dataclass, field
from irad.core.types import Type
from irad.errors import IradTypeError

OPS: dict[str, Op] = ir.OPS
HEAVY = 10.0


@dataclass(frozen=True, eq=False)
class Op:
    """A row of the op table."""

    name: str
    infer: Callable[..., tuple[Type, ...]]
    eval: Callable[..., Any] | None
    vjp: Callable[..., None] | None = None  # None: an active operand is an error, unless the outputs are not floats
    jvp: Callable[..., Any] | None = None
    regions: tuple[str, ...] = ()
    effects: str = "none"  # none, raise or io; a node with regions has the union of theirs, see `effects`
    commutes: bool = False
    elementwise: bool = False
    cheap: bool = False  # recompute in the backward rather than save
    cheap_in_lanes: bool = False  # the same of arrays of real floats: less than a store and a load of each element
    linear: bool = False  # linear in the inputs that the jvp differentiates: nothing is saved
    domain: tuple[tuple[float, float], ...] = ()  # per input, where tests sample it
    intervals: Callable[..., tuple[float, float]] | None = None
    wraps: bool = False  # of integers: a result that the dtype cannot hold is another one, within its bounds
    exact: bool = False  # `intervals` hold of floats too, as of what moves: nothing is rounded
    cost: float = 1.0  # of an element, in additions, about; 0 where nothing is computed. From HEAVY on it is a library function
    unit: Any = None  # elementwise: what a fold may start with, where that is one number for all dtypes
    extreme: int = 0  # elementwise: the larger operand: 1; the smaller one: -1
    adds: int = 0  # a sum of two: the sign of the second one, 1 or -1
    compares: bool = False  # a comparison of two operands
    mirror: str = ""  # a comparison: the one that says the same of the operands exchanged, and stands for both
    chooses: bool = False  # the result is that of one of two sides, as the first operand says
    idempotent: bool = False  # of two equal operands it gives that one
    fold: str = ""  # reductions: the elementwise op that they are made of; argmax and argmin name themselves
    fills: bool = False  # makes an array of one number, or of none yet, or holds a constant one
    moves: bool = False  # the elements of the result are elements of the first operand
    keeps_order: bool = False  # of what moves: in the order of the operand, each once or several times in turn
    each_once: bool = False  # of what moves: all of them, each once
    stacks: bool = False  # takes any number of leading axes and hands them on: a stack of matrices, a batch
    flat: bool = False  # elementwise: the slope is 0 everywhere
    finite: bool = False  # finite where the float operands are
    ends: bool = True  # False: it may run for ever
    divides: bool = False  # of integers: right only where the program asks for it, with a divisor that is not zero
    # Where a result may be 0: where "any" or "all" operands are, where the operand of that number is, "anywhere", "nowhere".
    zero_at: str | int = "any"
    doc: str = ""
    partials: Callable[..., Sequence[Any]] | None = None  # elementwise only: d out / d input, see `elementwise`
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.name not in OPS, f"op {self.name} is defined twice"
        OPS[self.name] = self

    def __call__(self, *inputs: Value, **attrs: Any) -> Any:
        """Emit a node into the current builder; its output, or the tuple of its outputs."""
        outs = emit(self, *inputs, **attrs)
        return outs[0] if len(outs) == 1 else outs

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def cost_of(name: str) -> float:
    """`Op.cost` by name; 1 for what is no row."""
    return OPS[name].cost if name in OPS else 1.0


Keeps = tuple[int, ...]  # numbers of results of the program


class Raising(Op):
    """An op that may raise when stores have been made that the program's caller sees.

    Its last operands are what the results `keeps` of the program hold then. A call emits a node that keeps what the builder
    says (`Builder.kept`), if the call does not say it.
    """

    def __call__(self, *inputs: Value, **attrs: Any) -> Any:
        builder = current()
        if "keeps" not in attrs and builder.kept is not None:
            held = builder.kept()
            inputs, attrs = (*inputs, *held.values()), {**attrs, "keeps": tuple(held)}
        if not attrs.get("keeps", True):
            del attrs["keeps"]
        return emit(self, *inputs, **attrs)


def kept(node: Node) -> dict[int, Value]:
    """Results of the program that hold something if the node raises, by their numbers, and what."""
    numbers: Keeps = node.attrs.get("keeps", ())
    return dict(zip(numbers, node.inputs[len(node.inputs) - len(numbers) :]))


def effects(node: Any) -> str:
    """none < raise < io: the strongest effect of a node and of the nodes in its regions."""
    own: str = node.op.effects
    for r in node.regions:
        if "effects" not in r.memo:
            r.memo["effects"] = max((effects(n) for n in r.nodes), key=_RANK.__getitem__, default="none")
        own = max(own, r.memo["effects"], key=_RANK.__getitem__)
    return own


_RANK = {"none": 0, "raise": 1, "io": 2}


def type_error(what: str, *ts: Type) -> IradTypeError:
    return IradTypeError(f"{what}; got {', '.join(map(str, ts))}")
