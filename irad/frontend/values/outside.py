"""What a program assigns outside of itself: attributes of objects, globals, variables of the functions around, and containers.

While it is read, nothing outside changes: new values are kept here, in the state of the program, so that branches and loops merge them
as they merge variables. A call writes them back when it ends; a derivative does not.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any

from irad.core.foreign import base_items, base_method, own_names
from irad.core.lazy_dataclass import dataclass
from irad.frontend.values.guards import Path
from irad.frontend.values.objects import UNDEFINED, Env
from irad.frontend.values.state import same

CONTAINERS = (list, dict, collections.deque)


@dataclass(frozen=True, eq=False)
class Assigned:
    """New values of the names of one owner, which is found by `path`: an object (kind "attr"), a function whose globals ("global") or
    variables of a function around it ("cell") they are. `first`: the values before."""

    owner: Any
    path: Path
    kind: str
    env: Env
    first: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Held:
    """A container, or an object among the arguments, that changes: what stands for it, what it held at first, and where it is found."""

    container: Any
    first: Any
    path: Path


class Outside:
    """All that is assigned outside while one function is read."""

    def __init__(self) -> None:
        self._assigned: dict[int, Assigned] = {}
        self._held: dict[int, Held] = {}

    def __bool__(self) -> bool:
        return bool(self._assigned)

    def names(self, owner: Any) -> dict[str, Any]:
        """The new values of an owner's names; UNDEFINED of those that were deleted."""
        found = self._assigned.get(id(owner))
        return {} if found is None else {name: found.env.names.get(name, UNDEFINED) for name in found.first}

    def absent_at_first(self, owner: Any, name: str) -> bool:
        """Was a name that the program assigns not there before?"""
        found = self._assigned.get(id(owner))
        return found is not None and found.first.get(name) is UNDEFINED

    def env(self, owner: Any, path: Path, kind: str, name: str, now: Any) -> Env:
        """Where the new value of a name is kept, which was `now` until it was first assigned."""
        found = self._assigned.get(id(owner))
        if found is None:
            found = self._assigned[id(owner)] = Assigned(owner, path, kind, Env(stamp=0), {})
        if name not in found.first:
            found.first[name] = now
            if now is not UNDEFINED:
                found.env.names.setdefault(name, now)
        return found.env

    def hold(self, container: Any, path: Path) -> None:
        """Note what a container holds before it is changed for the first time."""
        if id(container) not in self._held:
            first = base_method(container, "copy")() if isinstance(container, CONTAINERS) else _attributes(container)
            self._held[id(container)] = Held(container, first, path)

    def assigned(self) -> Iterator[tuple[Assigned, str, Any]]:
        """The names that have other values in the end."""
        for a in self._assigned.values():
            for name, first in a.first.items():
                value = a.env.names.get(name, UNDEFINED)
                if not same(value, first):
                    yield a, name, value
        yield from self._of_arguments()

    def held(self) -> Iterator[Held]:
        """The containers that hold other things in the end."""
        for h in self._held.values():
            now, first = h.container, h.first
            if not isinstance(now, CONTAINERS):
                continue
            if isinstance(now, dict):
                keys = list(base_method(now, "keys")())
                equal = keys == list(first) and all(same(dict.__getitem__(now, k), first[k]) for k in keys)
            else:
                held = list(base_items(now))
                equal = len(held) == len(first) and all(map(same, held, first))
            if not equal:
                yield h

    def owners(self) -> Iterator[tuple[Any, Path]]:
        """What the program changes: objects, and what stands for containers; and where they are found."""
        yield from ((a.owner, a.path) for a in self._assigned.values() if a.kind == "attr")
        yield from ((h.container, h.path) for h in self._held.values())

    def _of_arguments(self) -> Iterator[tuple[Assigned, str, Any]]:
        for h in self._held.values():
            if not isinstance(h.container, CONTAINERS):
                now = _attributes(h.container)
                for name in {**h.first, **now}:
                    value = now.get(name, UNDEFINED)
                    if not same(value, h.first.get(name, UNDEFINED)):
                        yield Assigned(h.container, h.path, "attr", Env(), {}), name, value


def _attributes(x: Any) -> dict[str, Any]:
    return {name: getattr(x, name) for name in own_names(x)}
