"""Forward or reverse: which mode differentiates a function of several numbers that gives one, if the user does not say."""

from __future__ import annotations

from irad.frontend.linearise import Linearised
from irad.ir import Graph, Node, current, walk
from irad.notes import Notes
from irad.types import is_complex

FEW = 4  # numbers to differentiate by, up to which a loop is differentiated forward
VECTOR = 8  # the same in loops over a few numbers, where directions are the lanes of one vector
SMALL = 20  # elements of an array that counts as a few numbers

_BY_ELEMENT = {
    *("const", "iota", "empty", "broadcast", "reshape", "transpose", "concat", "index", "update", "update_add", "copy"),
    *("sum", "prod", "max", "min", "any", "all", "dot", "cumsum", "cumprod", "for", "while", "if", "raise_if", "stop_gradient"),
}
_REVERSE_ONLY = {"call", "custom_vjp", "callback", "pure_callback", "checkpoint"}


def forward_is_cheaper(lin: Linearised) -> bool:
    """Few directions through a loop: carried along in it they need no tape, which the backward of a loop writes and reads.

    Measured on loops over states of 1 to 12 numbers: with up to 8 directions, one vector, forward takes 0.5 to 1 times what
    reverse takes (1 for a state of 12); with 15 directions, two vectors, 1.5 times or more.
    """
    most = _most(lin.graph)
    sizes = [v.type.size if v.type.static else most + 1 for v in lin.primals]
    names = {n.op.name for n in walk(lin.graph)}
    real = not any(is_complex(v.type.dtype) for v in lin.primals)
    return real and sum(sizes) <= most and bool(names & {"for", "while"}) and not names & _REVERSE_ONLY


def _most(graph: Graph) -> int:
    """Directions up to which forward mode is faster through the loops of a graph."""
    loops = [n for n in walk(graph) if n.op.name in ("for", "while")]
    inside = [n for loop in loops for r in loop.regions for n in walk(r)]
    return VECTOR if all(map(_of_few_numbers, inside)) else FEW


def _of_few_numbers(n: Node) -> bool:
    """Is this node of a loop, along one direction or a vector of them, a few operations on numbers?"""
    arrays = [v for v in (*n.outputs, *(n.inputs if n.op.name != "index" else ())) if v.type.shape]
    small = all(v.type.static and v.type.size <= SMALL for v in arrays)
    return small and (n.op.elementwise or n.op.name in _BY_ELEMENT)


def note_mode(notes: Notes, lin: Linearised, mode: str, forward: bool) -> None:
    """Say which mode was chosen, and why."""
    count = sum(v.type.size for v in lin.primals) if all(v.type.static for v in lin.primals) else None
    looped = any(n.op.name in ("for", "while") for n in walk(lin.graph))
    name = "forward" if forward else "reverse"
    if mode:
        why = "as asked for"
    elif forward:
        why = f"{count} numbers to differentiate by (at most {_most(lin.graph)}) through a loop: carried along, they need no tape"
    elif not looped:
        why = f"{count if count is not None else 'run-time many'} numbers to differentiate by, no loop that would need a tape"
    else:
        why = f"{count if count is not None else 'run-time many'} numbers to differentiate by; forward takes one sweep for each"
    notes.add("mode", f"{name}: {why}", current().loc, mode=name, numbers=count, asked=mode)
