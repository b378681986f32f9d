"""What a loop may do with containers: lists that grow hold what they are given, and a container that is changed is known by one name."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from irad.core.foreign import with_article
from irad.core.ir import Value
from irad.frontend.control.holders import held_around, knower, names_of
from irad.frontend.control.list_rules import Taken, grown_parts
from irad.frontend.control.list_rules import lock_taken as lock_in
from irad.frontend.control.loop_arrays import containers
from irad.frontend.control.templates import Composite, Grown
from irad.frontend.control.trips import Carry
from irad.frontend.reader import Reader
from irad.frontend.values.objects import StructureError
from irad.frontend.values.runs import Run
from irad.frontend.values.state import Items, Name, Place, Region, Storage, same

_CONTAINERS = "a list, dict or object is changed and also rebound in this loop, and may be known by another name; make a new one in each trip"


class Containers:
    """The lists, dicts and objects that a loop carries: which it may change, and which may not be changed any more after it.

    `entered`: those that variables hold at the start of a trip. `made`: by the id of a template, the container that it became.
    """

    def __init__(self, r: Reader, carries: dict[Any, Carry]):
        self.r, self.carries = r, carries
        self.entered: list[Any] = []
        self.given: dict[Any, Any] = {}  # what carried places hold at the start of a trip
        self.made: dict[int, Any] = {}
        self.before, self.taken = Taken(), Taken()

    def begin(self) -> list[Any]:
        """A trip starts; the list of what variables are given."""
        self.entered, self.given = [], {}
        return self.entered

    def standing(self, body: Region, x: Any) -> bool:
        """Was a container there before the loop, so that a variable that the loop gives it holds that very container afterwards?"""
        return not any(x is y for y in self.entered) and self.r.state.born(x) is not body.builder and self.r.state.is_made(x)

    def changed(self, body: Region, x: Any) -> bool:
        """Does a trip change a container or instance that was there before it?"""
        if not body.changes(x):
            return False
        places = [(key, place) for key, (place, _) in body.log.old.items() if place.owner is x]
        return any(key not in self.given or not _unchanged(self.given[key], body.log.new[key]) for key, _ in places)

    def watch_first_elements(self, runs: dict[int, Run]) -> None:
        """Lists that grow watch what they held before the loop."""
        self.before = Taken()
        for c in self.carries.values():
            for t, xs in grown_parts(c.template, None if isinstance(c.place, Storage) else c.init):
                held = Taken()
                held.take(xs)
                if id(t) in runs:
                    runs[id(t)].watch = tuple((cell, cell.content) for cell in held.cells.values())
                self.before.containers.update(held.containers)

    def enter(self, obj: Any, node: Any = None) -> Any:
        """A container that a carried variable holds at the start of a trip."""
        self.entered.append(obj)
        self.r.state.changed.discard(id(obj))
        return self.r.state.met(obj)

    def stand(self, c: Carry, value: Any) -> None:
        """What a variable is given at the start of a trip is, in the first one, what it held before the loop."""
        for _, init, entered in containers(c.template, c.init, value):
            if init is not None and entered is not None and entered is not init:
                self.r.state.stands_for[id(entered)] = entered, init

    def take(self, body: Region) -> Taken:
        """What a trip puts into lists that grow. Runs in the final state of a trip."""
        taken = Taken()
        for k, c in self.carries.items():
            if not isinstance(c.place, Storage):
                for _, xs in grown_parts(c.template, c.after(body, k)):
                    taken.take(xs)
        taken.containers.update(self.before.containers)
        for x in taken.containers.values():
            if self.r.state.born(x) is not body.builder and not any(x is y for y in self.entered) and self.changed(body, x):
                raise StructureError(
                    f"{with_article(type(x).__name__)} is put into a list in each trip of this loop, and changed; put a copy into the list"
                )
        self.taken = taken
        return taken

    def check(self, body: Region, read: Callable[[Place], bool]) -> None:
        """The contents alone say what containers that are changed are, if nothing else knows those that a variable is given.

        `read(place)`: does a trip read what a place holds when it starts?
        """
        mine = {id(x) for x in self.entered}
        for _, init, final in self.carried(body, read):
            if any(x is not None and id(x) not in mine and self.changed(body, x) for x in (init, final)):
                raise StructureError(_CONTAINERS)  # a variable holds it, and would not see that
        if not any(id(x) in self.r.state.changed for x in self.entered if not isinstance(x, tuple)):
            return
        pairs = [(x, y) for _, x, y in self.carried(body)]
        for _, final in pairs:
            made = final is None or id(final) in mine or self.r.state.born(final) is body.builder
            if (
                not made
                or self.r.state.locked(final)
                or [id(y) for _, y in pairs].count(id(final)) > (1 if final is not None else len(pairs))
            ):
                raise StructureError(_CONTAINERS)
        around = self._around()
        if any(x is not None and (names_of(self.r, x) > 1 or around(x)) for x, _ in pairs):
            raise StructureError(_CONTAINERS)

    def _around(self) -> Callable[[Any], bool]:
        """May expressions around the call of this function know a container? Not if all that is carried are its own variables."""
        local = all(isinstance(c.place, Name) and c.place.owner is self.r.frame.env for c in self.carries.values())
        return held_around(self.r) if not local else lambda x: False

    def carried(self, body: Region, of: Callable[[Place], bool] = lambda place: True) -> list[tuple[Composite | Grown, Any, Any]]:
        """What variables are given, and what is in it; of a container that is changed only what is in it: it is not another.

        `of`: which places count.
        """
        out = []
        for k, c in self.carries.items():
            if not isinstance(c.place, Storage) and of(c.place):
                found = list(containers(c.template, c.init, c.after(body, k)))
                out += found[1:] if isinstance(c.place, Items) else found
        return out

    def lock_known(self, body: Region, found: list[tuple[Composite | Grown, Any, Any]], perhaps_none: bool) -> None:
        """Containers that variables were given may not change from now on where they are known otherwise: which would is not followed."""
        around, is_known = self._around(), knower(self.r)
        mine = {id(x) for x in self.entered}
        started = [self.r.state.stands_for.get(id(final), (None, None))[1] for _, _, final in found]
        handed = [
            x is not None and x is not init for x, (_, init, _) in zip(started, found)
        ]  # `a, b = b, a`: after some trips each may be any
        for k, (node, init, final) in enumerate(found):
            others = [x for j, x in enumerate(found) if j != k and x[0] is not node]
            before = [init] if perhaps_none else []
            before += [x for x, another in zip(started, handed) if another and handed[k]]
            known = [x for x in before if x is not None and (around(x) or is_known(x))]
            if final is not None and self.r.state.locked(final):
                known.append(final)
            elif final is not None and id(final) not in mine and self.r.state.born(final) is not body.builder:
                known += [final] if around(final) or is_known(final) else []
            shared = final is not None and any(y is final for _, _, y in others)
            shared = shared or (init is not None and perhaps_none and any(x is init for _, x, _ in others))
            if known or shared:
                for x in (*known, self.made.get(id(node))):
                    if x is not None:
                        self.r.state.lock(x)

    def note_made(self, obj: Any, node: Any = None) -> Any:
        self.made[id(node)] = obj
        return self.r.state.met(obj)

    def lock_taken(self, body: Region, outs: list[Value]) -> None:
        """Containers that are in a list that grew may not change any more, nor what stands for them after the loop."""
        taken = self.taken.containers
        for x in taken.values():
            if self.r.state.born(x) is not body.builder:
                self.r.lock(x, outs[0])
        for key, c in self.carries.items() if taken else ():
            if not isinstance(c.place, Storage):
                lock_in(c.template, body.log.new.get(key, c.init), c.place.get(), taken, lambda x: self.r.lock(x, outs[0]))


def _unchanged(given: Any, now: Any) -> bool:
    """Does a place, or a container, still hold what it was given?"""
    if isinstance(now, dict):
        return list(given) == list(now) and all(same(given[k], now[k]) for k in now)
    if isinstance(now, (list, collections.deque)):
        return len(given) == len(now) and all(map(same, given, now))
    return given == now if isinstance(now, set) else same(given, now)
