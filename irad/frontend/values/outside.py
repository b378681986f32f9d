"""What a program assigns outside of itself: attributes of objects, globals, variables of the functions around, and containers.

While it is read, nothing outside changes: new values are kept here, in the state of the program, so that branches and loops merge them
as they merge variables. A call writes them back when it ends; a derivative does not.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any

from irad.core.foreign import base_items, base_method, own_attributes
from irad.core.lazy_dataclass import dataclass
from irad.errors import UnsupportedError
from irad.frontend.values.guards import Path
from irad.frontend.values.objects import UNDEFINED, Cell, Env
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
    """A container, or an object among the arguments, that changes: what stands for it, the items and attributes that it had at first, and
    where it is found."""

    container: Any
    first: Any
    attributes: dict[str, Any]
    path: Path


@dataclass(eq=False)
class Copied:
    """A copy that a transform works on, what it is a copy of, and where that is found, if it is outside. `twice`: there are several
    copies of it, or it is given itself, too."""

    copy: Any
    of: Any
    path: Path | None
    twice: bool = False


class Outside:
    """All that is assigned outside while one function is read."""

    def __init__(self) -> None:
        self._assigned: dict[int, Assigned] = {}
        self._held: dict[int, Held] = {}
        self._copies: dict[int, Copied] = {}  # by the id of the copy
        self.written: set[Cell] = set()  # storage of arrays of which a transform's copy is written
        self.changed: dict[Path, Any] = {}  # what is changed, or a copy of it in a transform: where it is found -> itself

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
            if kind == "attr":
                self.changed[path] = owner
        if name not in found.first:
            found.first[name] = now
            if now is not UNDEFINED:
                found.env.names.setdefault(name, now)
        return found.env

    def hold(self, container: Any, path: Path) -> None:
        """Note what a container holds before it is changed for the first time."""
        if id(container) not in self._held:
            first = base_method(container, "copy")() if isinstance(container, CONTAINERS) else None
            self._held[id(container)] = Held(container, first, own_attributes(container), path)
            self.changed[path] = container

    def copied(self, x: Any, copy: Any, path: Path | None) -> Copied:
        """A transform works on a copy of x, which is found at a path unless it is a copy itself, or made in the program."""
        old = self._copies.get(id(x))
        first = old if path is None and old is not None and old.copy is x else Copied(x, x, path)
        new = self._copies[id(copy)] = Copied(copy, first.of, first.path, first.twice)
        return new

    def note(self, x: Any) -> None:
        """What changes may be a copy. Raises UnsupportedError where there is another copy, which would not change."""
        found = self._copies.get(id(x))
        if found is None or found.copy is not x:
            return
        if found.twice:
            raise UnsupportedError(
                f"{'an array' if isinstance(x, Cell) else f'a {type(x).__name__}'} that is given twice to a function under a derivative or vmap is changed there; give a copy of it"
            )
        if isinstance(x, Cell):
            self.written.add(found.of)
        elif found.path is not None:
            self.changed[found.path] = found.of

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

    def _of_arguments(self) -> Iterator[tuple[Assigned, str, Any]]:
        for h in self._held.values():
            now = own_attributes(h.container)
            for name in {**h.attributes, **now}:
                value = now.get(name, UNDEFINED)
                if not same(value, h.attributes.get(name, UNDEFINED)):
                    yield Assigned(h.container, h.path, "attr", Env(), {}), name, value
