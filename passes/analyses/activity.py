"""Activity: which values carry a derivative with respect to some inputs. A fixed point over loop carries.

A tape carries whatever was pushed on it: an entry of a record is `(site, position)`, active if some value pushed
there is. Called functions do not see which of their arguments are active: across a call every float is.
"""

from __future__ import annotations

from collections.abc import Iterable

from irad.core.ir import Graph, Node, Program, Value, callees, walk
from irad.core.types import TAPE
from irad.ops.regions import entries
from irad.passes.analyses.flow import Found, Step, reached

Active = Found


def carries(v: Value) -> bool:
    """Taken as active across a call: floats and tapes."""
    return v.type.differentiable or v.type == TAPE


def open_entries(program: Program) -> Active:
    """Float entries of the tape records of functions that are called: taken as active, as their parameters are.

    All but the first are, if only by what is being differentiated, which is no function of the program yet.
    """
    called = {name for g in program.values() for name in callees(g)} | set(list(program)[1:])
    pushes = (n for name in called for n in walk(program[name]) if n.op.name == "push")
    return {e for n in pushes for e, v in zip(entries(n), n.inputs[1:]) if v.type.differentiable}


def activity(graph: Graph, wrt: Iterable[Value], taped: Active) -> Active:
    """Values of `graph` and tape entries that depend on `wrt` or on the tape entries given."""
    return reached(graph, {*wrt, *taped}, _plain, {"call": _call, "stop_gradient": lambda n: None})


def _plain(n: Node) -> Step:
    return n.inputs, [v for v in n.outputs if v.type.differentiable], False


def _call(n: Node) -> Step:
    """A tape may hold anything."""
    floats = [v for v in n.outputs if v.type.differentiable]
    given = [v for v in n.inputs if v.type != TAPE]
    return (given, floats, False) if len(given) == len(n.inputs) else ((), floats, True)
