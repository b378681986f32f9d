"""Assigning what a call changes outside: attributes, globals, variables of functions around, containers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from irad.core.foreign import base_method, fill, own_names
from irad.frontend.values.guards import Fixed, Path
from irad.frontend.values.traced import GIVEN, Result, Write


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
        if gone:
            _delete(owner, w)
        else:
            assign(w, owner, value)


def assign(w: Write, owner: Any, value: Any) -> None:
    """Give an owner its new value."""
    if w.kind == "items":
        _refill(owner, value)
    elif w.kind == "append":
        base_method(owner, "extend")(value)
    elif w.kind == "attr":
        (type if isinstance(owner, type) else object).__setattr__(owner, w.name, value)
    elif w.kind == "global":
        owner.__globals__[w.name] = value
    else:
        owner.__closure__[owner.__code__.co_freevars.index(w.name)].cell_contents = value


def assign_all(writes: Sequence[Write], found: tuple[Any, ...]) -> None:
    """Assign what a program of the call machine has found: owners and values by turns."""
    for k, w in enumerate(writes):
        assign(w, found[2 * k], found[2 * k + 1])


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
    if type(container) is dict and len(container) == len(value) and all(map(operator.is_, container, value)):
        container.update(value)  # at once: another thread may read it
    elif isinstance(container, dict):
        base_method(container, "clear")()
        fill(container, value.items())
    elif isinstance(container, list):
        list.__setitem__(container, slice(None), value)  # at once, too
    else:
        base_method(container, "clear")()
        base_method(container, "extend")(value)
