"""Forward or reverse: which mode differentiates a function of several numbers that gives one, if the user does not say."""

from __future__ import annotations

from irad.core.ir import current, walk
from irad.core.notes import Notes
from irad.core.types import is_complex
from irad.errors import UnsupportedError
from irad.frontend.transforms.linearise import Linearised
from irad.ops.regions import is_loop

FEW = 4  # numbers to differentiate by, up to which a loop is differentiated forward
_REVERSE_ONLY = {"call", "custom_vjp", "callback", "pure_callback", "checkpoint"}


def forward_is_cheaper(lin: Linearised) -> bool:
    """Few directions through a loop: carried along in it they need no tape, which the backward of a loop writes and reads.

    From 5 to 8 directions, one vector, either may be faster: forward takes 0.35 to 1.6 times what reverse takes, and seven
    times where a direction decays to subnormal numbers, which make every operation on its vector slow. Neither the state's
    size nor the operations per link of the longest chain tell which on functions that they were not chosen by.
    """
    sizes = [v.type.size if v.type.static else FEW + 1 for v in lin.primals]
    names = {n.op.name for n in walk(lin.graph)}
    real = not any(is_complex(v.type.dtype) for v in lin.primals)
    return real and sum(sizes) <= FEW and _looped(lin) and not names & _REVERSE_ONLY and not meets_others(lin)


def meets_others(lin: Linearised) -> bool:
    """Do other processes take part in it? One direction here is then one in each of them."""
    return any(n.op.extra.get("collective") for n in walk(lin.graph))


def check_one_direction(lin: Linearised, what: str) -> None:
    """Raises UnsupportedError for directions that would be taken by all processes at once."""
    if meets_others(lin):
        raise UnsupportedError(
            f"{what} of a function with collectives of irad.mpi: a direction would be taken by all processes at once; "
            "use irad.grad, irad.vjp (the cotangents of all processes count) or irad.jvp"
        )


def _looped(lin: Linearised) -> bool:
    return any(map(is_loop, walk(lin.graph)))


def note_mode(notes: Notes, lin: Linearised, mode: str, forward: bool) -> None:
    """Say which mode was chosen, and why."""
    count = sum(v.type.size for v in lin.primals) if all(v.type.static for v in lin.primals) else None
    name = "forward" if forward else "reverse"
    if mode:
        why = "as asked for"
    elif forward:
        why = f"{count} numbers to differentiate by (at most {FEW}) through a loop: carried along, they need no tape"
    elif not _looped(lin):
        why = f"{count if count is not None else 'run-time many'} numbers to differentiate by, no loop that would need a tape"
    else:
        why = f"{count if count is not None else 'run-time many'} numbers to differentiate by; forward takes one sweep for each"
    notes.add("mode", f"{name}: {why}", current().loc, mode=name, numbers=count, asked=mode)
