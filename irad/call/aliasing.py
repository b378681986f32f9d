"""What a call gives in two places though its program takes it for two things: it matters where the program changes one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.call.conditions import apart
from irad.call.write_back import find
from irad.errors import IradValueError
from irad.frontend.values.guards import Path
from irad.frontend.values.traced import Target, Traced, record_of

_TWICE = "a container or object that the function changes is given twice, or given and captured; pass copies to differentiate it"
_OVERLAP = "an array that the function writes overlaps another one in part; pass copies to differentiate it"


def clash(traced: Traced, fn: Any, leaves: Sequence[Any], rest: Sequence[Any], given: Any) -> str:
    """Why the program cannot be run for a call; "" if it can. `given`: the arguments of the call."""
    if traced.once and _ambiguous(traced, fn, rest, given):
        return _TWICE
    return _OVERLAP if traced.apart and _overlap(traced, fn, leaves, rest) else ""


def refuse(traced: Traced, fn: Any, leaves: Sequence[Any], rest: Sequence[Any], given: Any) -> None:
    """Raises IradValueError if the program of a derivative cannot be run for a call."""
    found = clash(traced, fn, leaves, rest, given)
    if found:
        raise IradValueError(found)


def _overlap(traced: Traced, fn: Any, leaves: Sequence[Any], rest: Sequence[Any]) -> bool:
    """Does an array that is written share memory with an array that the program takes for another one?

    An argument given twice is one array to the program; an argument that is also a captured array is two.
    """
    others: list[tuple[Target, Any]] = [(("arg", k), x) for k, x in enumerate(leaves) if traced.in_leaves[k].alias is None]
    others += [(("capture", k), c.get(fn, rest)) for k, c in enumerate(traced.captures)]
    arrays = {where: x for where, x in others if isinstance(x, np.ndarray)}
    records: dict[Target, Any] | None = None
    for target in traced.apart:
        for where, x in arrays.items():
            if target == where or not (np.may_share_memory(arrays[target], x) and np.shares_memory(arrays[target], x)):
                continue
            records = record_of(traced) if records is None else records
            if where not in records or records[where] != records.get(target):
                return True
    return False


def _ambiguous(traced: Traced, fn: Any, rest: Sequence[Any], given: Any) -> bool:
    """Is a container or object that the function changes found in two places, one of them among the arguments that are taken apart?
    The program takes the two for several."""
    there = lambda paths: _found(paths, fn, rest, given)
    return not all(apart(there(group.changed), there(group.others)) for group in traced.once)


def _found(paths: Sequence[Path], fn: Any, rest: Sequence[Any], given: Any) -> list[Any]:
    """What paths lead to: those among cotangents and tangents lead nowhere while a function is linearised."""
    found = []
    for path in paths:
        try:
            found.append(find(path, fn, rest, given))
        except (LookupError, AttributeError, TypeError):
            pass
    return found
