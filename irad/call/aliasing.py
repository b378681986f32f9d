"""What a call gives in two places though its program takes it for two things: it matters where the program changes one of them."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from irad.call.write_back import find
from irad.core.foreign import base_items, base_method, own_names
from irad.errors import IradValueError
from irad.frontend.values.traced import GIVEN, Target, Traced, record_of

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
    parts = collections.Counter(map(id, _parts(given)))
    owners = [(path.root == GIVEN, id(find(path, fn, rest, given))) for path in traced.once]
    if any(parts[owner] > among for among, owner in owners):
        return True
    found = {owner for among, owner in owners if among}
    return bool(found) and not found.isdisjoint(_captured(traced, fn, rest))


def _captured(traced: Traced, fn: Any, rest: Sequence[Any]) -> Iterator[int]:
    """Ids of what the program relies on outside."""
    for g in traced.guards:
        try:
            yield id(g.path.get(fn, rest))
        except (LookupError, AttributeError, ValueError, TypeError):
            pass


def _parts(x: Any) -> Iterator[Any]:
    """All containers and objects among the arguments that are taken apart, as often as they are found."""
    if isinstance(x, (list, tuple, collections.deque)):
        yield x
        for e in base_items(x):
            yield from _parts(e)
    elif isinstance(x, dict):
        yield x
        for e in base_method(x, "values")():
            yield from _parts(e)
    elif dataclasses.is_dataclass(x) and not isinstance(x, type):
        yield x
        for name in own_names(x):
            yield from _parts(getattr(x, name))
