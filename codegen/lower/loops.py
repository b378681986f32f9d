"""Lowering of the loops of a program, `for` and `while`, whose trips run one after another."""

from __future__ import annotations

from collections.abc import Sequence

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import integer
from irad.codegen.lower.control import bind, freeze, region, variables
from irad.codegen.lower.graph import KernelBuilder, rule
from irad.codegen.lower.tape import TapedCarry, carry_on_tape, end_on_tape, start_on_tape, taped_carries
from irad.codegen.schedule.lane_vars import in_registers
from irad.codegen.schedule.notes import note_for
from irad.core.ir import Node, Value


@rule("for")
def _for(f: KernelBuilder, node: Node) -> None:
    trips, *init = node.inputs
    (body,) = node.regions
    names = variables(f, node.outputs, [None if v.type.shape or v.type.dtype == "tape" else f.operand(v) for v in init])
    i = f.fresh(body.params[0].hint or "i")
    taped = taped_carries(node)
    note_for(f, node, f.aff(trips), [c.k for c in taped])
    f.env[body.params[0]] = integer(i)
    bind(f, body.params[1:], names)
    first = []
    if taped:
        start_on_tape(f, node, taped)
        first = f.within(lambda: carry_on_tape(f, node, taped))
    stmts = [*first, *region(f, body, names), *_swaps(f, node, body.params[1:], taped)]
    r = in_registers(f, node, [stmts])
    f.block += [*r.before, kf.For(i, "seq", 0, f.aff(trips), r.blocks[0]), *r.after]
    freeze(f, node.outputs, names)
    for c in taped:
        end_on_tape(f, node, c)


@rule("while")
def _while(f: KernelBuilder, node: Node) -> None:
    cond, body = node.regions
    names = variables(f, node.outputs, [None if v.type.shape or v.type.dtype == "tape" else f.operand(v) for v in node.inputs])
    bind(f, cond.params, names)
    bind(f, body.params, names)
    test = f.within(lambda: f.nodes(cond))
    stop = f.operand(cond.results[0])
    r = in_registers(f, node, [test, region(f, body, names) + _swaps(f, node, body.params)])
    f.block += [*r.before, kf.While(r.blocks[0], stop, r.blocks[1]), *r.after]
    freeze(f, node.outputs, names)


def _swaps(f: KernelBuilder, node: Node, params: Sequence[Value], taped: Sequence[TapedCarry] = ()) -> list[kf.Stmt]:
    """Buffers of carries that change places after each trip."""
    stay = {c.k for c in taped}
    pairs = [(a, b) for a, b in node.attrs.get("swap", ()) if a not in stay]
    return [kf.Swap(f.address(params[a]).buf, f.address(params[b]).buf) for a, b in pairs]
