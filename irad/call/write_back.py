"""Assigning what a call changes outside: attributes, globals, variables of functions around, containers."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from irad.core.foreign import base_items, base_method, fill, own_names
from irad.frontend.values.guards import Fixed, Path
from irad.frontend.values.traced import GIVEN, Result, Traced, Write


def find(path: Path, fn: Any, rest: Sequence[Any], given: Any) -> Any:
    """What is at a path now; `given`: the arguments of the call."""
    return Path(Fixed(given), path.steps).get(fn) if path.root == GIVEN else path.get(fn, rest)


def write(writes: Sequence[Write], result: Callable[[Result], Any], fn: Any, rest: Sequence[Any], given: Any) -> None:
    """Assign the results of a call: all are found before the first is assigned."""
    made = [
        (
            w,
            find(w.path, fn, rest, given),
            _gone(w, result),
            None if w.tree is None else w.tree.unflatten([result(x) for x in w.results]),
        )
        for w in writes
    ]
    for w, owner, gone, value in made:
        if w.kind == "items":
            _refill(owner, value)
        elif w.kind == "append":
            base_method(owner, "extend")(value)
        elif gone:
            _delete(owner, w)
        elif w.kind == "attr":
            (type if isinstance(owner, type) else object).__setattr__(owner, w.name, value)
        elif w.kind == "global":
            owner.__globals__[w.name] = value
        else:
            owner.__closure__[owner.__code__.co_freevars.index(w.name)].cell_contents = value


def _gone(w: Write, result: Callable[[Result], Any]) -> bool:
    """Has a name no value in the end?"""
    return w.tree is None or (w.there is not None and not result(w.there))


def _delete(owner: Any, w: Write) -> None:
    """Delete a name that may not be there."""
    if w.kind == "attr" and w.name in own_names(owner):
        object.__delattr__(owner, w.name)
    elif w.kind == "global":
        owner.__globals__.pop(w.name, None)
    elif w.kind == "cell":
        cell = owner.__closure__[owner.__code__.co_freevars.index(w.name)]
        try:
            del cell.cell_contents
        except ValueError:
            pass  # it had none


def _refill(container: Any, value: Any) -> None:
    if isinstance(container, dict):
        base_method(container, "clear")()
        fill(container, value.items())
    else:
        base_method(container, "clear")()
        base_method(container, "extend")(value)


def ambiguous(traced: Traced, fn: Any, rest: Sequence[Any], given: Any) -> bool:
    """Is a container or object that the call changes found in two places, one of them among the arguments that are taken apart? The
    program takes the two for several."""
    parts = collections.Counter(map(id, _parts(given)))
    owners = [(w.path.root == GIVEN, id(find(w.path, fn, rest, given))) for w in traced.writes]
    if any(parts[owner] > among for among, owner in owners):
        return True
    return any(among for among, _ in owners) and not {owner for _, owner in owners}.isdisjoint(_captured(traced, fn, rest))


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
