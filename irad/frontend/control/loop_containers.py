"""What a loop may do with containers: lists that grow hold what they are given, and a container that is changed is known by one name."""

from __future__ import annotations

from typing import Any

from irad.core.ir import Value
from irad.frontend.control.holders import is_known, is_last_result, names_of
from irad.frontend.control.list_rules import Taken, grown_parts
from irad.frontend.control.list_rules import lock_taken as lock_in
from irad.frontend.control.loop_arrays import containers
from irad.frontend.control.templates import Composite, Grown, bare
from irad.frontend.control.trips import Carry
from irad.frontend.reader import Reader
from irad.frontend.values.objects import StructureError
from irad.frontend.values.runs import Run
from irad.frontend.values.state import Items, Name, Region, Storage

_CONTAINERS = "a list, dict or object is changed and also rebound in this loop, and may be known by another name; make a new one in each trip"


class Containers:
    """The lists, dicts and objects that a loop carries: which it may change, and which may not be changed any more after it.

    `entered`: those that variables hold at the start of a trip. `made`: by the id of a template, the container that it became.
    """

    def __init__(self, r: Reader, carries: dict[Any, Carry]):
        self.r, self.carries = r, carries
        self.entered: list[Any] = []
        self.made: dict[int, Any] = {}
        self.before, self.taken = Taken(), Taken()

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
        return self.r.state.made(obj)

    def stand(self, c: Carry, value: Any) -> None:
        """What a variable is given at the start of a trip is, in the first one, what it held before the loop."""
        whole = [(None, c.init, value)] if isinstance(bare(c.template), Grown) else []
        for _, init, entered in [*whole, *containers(c.template, c.init, value)]:
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
            if self.r.state.born(x) is not body.builder and not any(x is y for y in self.entered) and body.changes(x):
                raise StructureError(
                    f"a {type(x).__name__} is put into a list in each trip of this loop, and changed; put a copy into the list"
                )
        self.taken = taken
        return taken

    def check(self, body: Region) -> None:
        """The contents alone say what containers that are changed are, if nothing else knows those that a variable is given."""
        pairs = [(x, y) for _, x, y in self.carried(body)]
        mine = {id(x) for x in self.entered}
        for _, final in pairs:
            made = final is None or id(final) in mine or self.r.state.born(final) is body.builder
            if (
                not made
                or self.r.state.locked(final)
                or [id(y) for _, y in pairs].count(id(final)) > (1 if final is not None else len(pairs))
            ):
                raise StructureError(_CONTAINERS)
        for k, c in self.carries.items():
            if not isinstance(c.place, (Storage, Items)) and isinstance(bare(c.template), Grown):
                final = c.after(body, k)
                if final is not c.init and not (id(final) in mine or self.r.state.born(final) is body.builder):
                    raise StructureError(_CONTAINERS)
                pairs.append((c.init, final))
        inner = self._of_outer_functions()
        if any(x is not None and (names_of(self.r, x) > 1 or inner) for x, _ in pairs):
            raise StructureError(_CONTAINERS)

    def _of_outer_functions(self) -> bool:
        """Does a called function carry what is not its own variables? Expressions around the call may know it."""
        local = all(isinstance(c.place, Name) and c.place.owner is self.r.frame.env for c in self.carries.values())
        return not local and len(self.r.frames) > 2

    def carried(self, body: Region, result: bool = True) -> list[tuple[Composite, Any, Any]]:
        """What variables are given, and what is in it; of a container that is changed only what is in it: it is not another.

        Without `result`, what a `return` has given is left out where nothing can change it any more.
        """
        out = []
        for k, c in self.carries.items():
            if not result and is_last_result(self.r, c.place):
                continue
            if not isinstance(c.place, Storage):
                found = list(containers(c.template, c.init, c.after(body, k)))
                out += found[1:] if isinstance(c.place, Items) else found
        return out

    def lock_known(self, body: Region, found: list[tuple[Composite, Any, Any]], perhaps_none: bool) -> None:
        """Containers that variables were given may not change from now on where they are known otherwise: which would is not followed."""
        inner = self._of_outer_functions()
        mine = {id(x) for x in self.entered}
        for k, (node, init, final) in enumerate(found):
            others = [x for j, x in enumerate(found) if j != k and x[0] is not node]
            known = [x for x in (init,) if x is not None and perhaps_none and (inner or is_known(self.r, x))]
            if final is not None and self.r.state.locked(final):
                known.append(final)
            elif final is not None and id(final) not in mine and self.r.state.born(final) is not body.builder:
                known += [final] if inner or is_known(self.r, final) else []
            shared = final is not None and any(y is final for _, _, y in others)
            shared = shared or (init is not None and perhaps_none and any(x is init for _, x, _ in others))
            if known or shared:
                for x in (*known, self.made.get(id(node))):
                    if x is not None:
                        self.r.state.lock(x)

        for key, c in self.carries.items():
            if not isinstance(c.place, (Storage, Items)) and isinstance(bare(c.template), Grown):
                final = body.log.new.get(key, c.init)
                rebound = final is not c.init and id(final) not in mine
                if rebound and (self.r.state.locked(final) or perhaps_none and (inner or is_known(self.r, c.init))):
                    self.r.state.lock(c.place.get())

    def note_made(self, obj: Any, node: Any = None) -> Any:
        self.made[id(node)] = obj
        return self.r.state.made(obj)

    def lock_taken(self, body: Region, outs: list[Value]) -> None:
        """Containers that are in a list that grew may not change any more, nor what stands for them after the loop."""
        taken = self.taken.containers
        for x in taken.values():
            if self.r.state.born(x) is not body.builder:
                self.r.lock(x, outs[0])
        for key, c in self.carries.items() if taken else ():
            if not isinstance(c.place, Storage):
                lock_in(c.template, body.log.new.get(key, c.init), c.place.get(), taken, lambda x: self.r.lock(x, outs[0]))
