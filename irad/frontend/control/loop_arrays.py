"""Array variables that a loop rebinds: which storage they mean after some trips, and whether stores into them are sound.

In `u, v = v, u` the names change places and the storage stays; in `u = f(u)` each trip makes new storage. A loop carries
the *contents* that names see. That is exact as long as nobody stores into a carried array, or if its storage is known to
nobody else; a permutation of names is followed exactly. Anything else is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from irad.core.ir import Value
from irad.core.types import Type
from irad.frontend.control.filling import storage_of, watch_sides
from irad.frontend.control.holders import names_of, references
from irad.frontend.control.list_rules import Taken
from irad.frontend.control.templates import Ary, Composite, Grown, Opt, Same, Sized, Template, arrays_in, structure, walk
from irad.frontend.control.tracked import CarriedArray, Tracked, held
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import CLOCK, AliasError, Array, Cell, Either, StructureError
from irad.frontend.values.state import Name, Region, Storage
from irad.ops.constant import scalar
from irad.ops.elementwise import eq


def containers(t: Template, init: Any, final: Any) -> Iterator[tuple[Composite | Grown, Any, Any]]:
    """The lists, dicts and objects of a carried variable: template, what it is before the loop and after a trip (None: not there)."""
    for part, found in walk(t, init, final):
        if isinstance(part, Grown):
            yield part, *(x if type(x) is part.cls else None for x in found)  # type: ignore[misc]
        elif isinstance(part, Composite) and part.cls is not tuple:
            yield part, *(None if structure(x) is None else x for x in found)  # type: ignore[misc]


_TAKEN = (
    "an array is put into a list in each trip of this loop, and also stored into; put a copy into the list (xs.append(x.copy()))"
)


def unchanged(t: Template) -> bool:
    return isinstance(t, Same) or (isinstance(t, Composite) and all(map(unchanged, t.kids)))


def another(t: Template, init: Any, final: Any) -> bool:
    """Is it another list, dict or object, though it holds the same? What is stored into one of them is not in the other."""
    return final is not init and any(x is not y for _, x, y in containers(t, init, final))


class Reading:
    """How the arrays of variables are read at the end of a trip; `elements`: how those in lists are."""

    def __init__(self, read: Callable[[Array], Any], elements: Callable[[Array], Any]):
        self.read, self.elements = read, elements

    def __call__(self, x: Array) -> Any:
        return self.read(x)


class ArrayRules:
    """The array variables of one loop."""

    def __init__(self, r: Reader, loop: Any):
        self.r, self.loop, self.start = r, loop, next(CLOCK)  # what is younger was made while the body was read
        self.phis: dict[int, Array] = {}  # id of a template -> the array that stands for it in a trip
        self.names: dict[int, Any] = {}  # id of a template -> its carry, where that is a whole variable
        self.results: dict[int, Array] = {}
        self.doubts: dict[int, tuple[str, tuple[Cell, ...]]] = {}  # why a result is frozen, and what it may share
        self.shares: dict[int, set[Cell]] = {}  # id of a template -> storage that a trip's array may share
        self.mates: dict[
            int, set[int]
        ] = {}  # id of a template of several sizes -> variables that a trip may leave the same array in
        self.disordered: set[int] = set()  # ids of templates of arrays that a trip makes in another memory order than C
        self.own: dict[int, tuple[Cell, ...]] = {}  # id of a template of several sizes -> its storage, if nobody else knows it
        self.sole: dict[int, bool] = {}  # was the array known by one variable only before the loop?
        self.cycle: list[Any] = []  # carries whose arrays a trip permutes
        self.shared: list[int] = []  # ids of templates of variables whose array is in a list too
        self.lasting: list[Cell] = []  # storage that elements of lists share, and others know
        self.order: list[int] = []  # where the array of each of them goes
        self.tracked: Tracked | None = None  # where contents alone are not enough

    # ---- bools that say which array a variable holds, where that is followed ----

    def track(self) -> None:
        self.tracked = Tracked(self.r)

    def flags(self, carries: dict[Any, Any]) -> list[Type]:
        return [] if self.tracked is None else self.tracked.flags(_templates(carries))

    def finals(self, carries: dict[Any, Any], body: Region) -> tuple[Callable[[Array], Any], list[Value]]:
        """How to read what variables hold after a trip, and the bools. Called in the final state of a trip."""
        if self.tracked is None:
            return self.r.read, []
        arrays = self.held(carries, body)
        return self._reader({id(h.final): (h, h.final) for h in arrays}, self.tracked.content), self.tracked.finals(arrays)

    def inits(self, carries: dict[Any, Any], body: Region) -> tuple[Callable[[Array], Any], list[Value]]:
        """The same before the loop."""
        if self.tracked is None:
            return self.r.read, []
        arrays, start = self.held(carries, body), self.tracked.start
        return self._reader({id(h.init): (h, h.init) for h in arrays}, lambda h, x: start(h)), self.tracked.inits(arrays)

    def _reader(
        self, known: dict[int, tuple[CarriedArray, Any]], content: Callable[[CarriedArray, Array], Value]
    ) -> Callable[[Array], Any]:
        return Reading(lambda x: Arr(content(*known[id(x)])) if id(x) in known else self.r.read(x), self.r.read)

    # ---- trips ----

    def decided(self, carries: dict[Any, Any], values: Sequence[Value]) -> None:
        """The last of the values that a loop carries are the bools."""
        if self.tracked is not None:
            self.tracked.begin(_templates(carries), values[len(values) - len(self.flags(carries)) :])

    def begin(self, carries: dict[Any, Any]) -> dict[int, tuple[Cell, ...]]:
        """Before the places are given their parameters. Returns the storage, before the loop, of arrays of several sizes that nobody
        else knows."""
        self.phis = {}
        self.names = {id(c.template): c for c in carries.values() if isinstance(c.place, Name) and isinstance(c.template, Ary)}
        if self.tracked is not None:
            return {}
        sized = [c for c in carries.values() if isinstance(c.place, Name) and isinstance(c.template, Sized)]
        arrays = [h for c in sized for h in held(c.template, c.place.name, c.init, None, self._local(c))]
        return {id(h.template): storage_of(h.init) for h in arrays if h.init is not None and self._sole(h)}

    def _local(self, c: Any) -> bool:
        return isinstance(c.place, Name) and c.place.owner in (self.r.frame.env, self.r.frame.flags)

    def phi(self, t: Ary, value: Value) -> Array:
        """The array that a carried variable holds at the start of a trip."""
        if self.tracked is not None:
            return self.tracked.array(t, value)
        carry = self.names.get(id(t))
        out = Array(Cell(value, value.hint))
        init = carry.init if carry is not None and isinstance(carry.init, Array) else None
        if id(t) in self.disordered or (init is not None and not init.contiguous):
            out.laid_out(None)
        self.phis[id(t)] = out
        return out

    def entered(self, sized: list[tuple[Sized, Array]], own: dict[int, tuple[Cell, ...]]) -> None:
        """All carried places hold their parameters: from now on, shared storage must not change."""
        watch_sides(sized, own)
        self._watch_mates(sized, self.phis)
        if self.tracked is not None:
            self.tracked.given()
            return
        for key, phi in self.phis.items():
            phi.watch = tuple((c, c.content) for c in self.shares.get(key, ()))
        self.phis.update((id(t), x) for t, x in sized if id(t) in own)

    def watched(self) -> list[Cell]:
        """The arrays of the carried variables, if one of them may be an array of the program's caller."""
        known = [k for k, c in self.names.items() if type(c.init) is Array and not c.init.steps]
        if self.tracked is not None or all(self.r.kept.number(self.names[k].init) is None for k in known):
            return []
        return [self.phis[k].cell for k in known]

    # ---- after the fixed point ----

    def held(self, carries: dict[Any, Any], body: Region) -> list[CarriedArray]:
        """The arrays of the carried variables that are followed."""
        return [h for h in self._held(carries, body) if self.tracked is None or isinstance(h.template, Ary)]

    def _held(self, carries: dict[Any, Any], body: Region) -> list[CarriedArray]:
        """The arrays of the carried variables."""
        out: dict[int, CarriedArray] = {}
        for key, c in carries.items():
            if not isinstance(c.place, Storage):
                init, final = None if c.filled else c.init, body.log.new.get(key, c.init)
                final = final.child if isinstance(final, Opt) else final
                for h in held(c.template, str(c.place.name or "a list"), init, final, self._local(c)):
                    out.setdefault(id(h.template), h)
        return list(out.values())

    def settled(self, carries: dict[Any, Any], body: Region) -> bool:
        """Is it known what storage of the outside the arrays of a trip may share? False if more was found now."""
        with body.log.replayed():
            arrays, others = self.held(carries, body), self._held(carries, body)
        found = [(self.mates.setdefault(id(h.template), set()), h) for h in others if isinstance(h.template, Sized)]
        more = [(known, _mates(h, others) - known) for known, h in found]
        for known, mates in more:
            known |= mates
        if any(mates for _, mates in more):
            return False
        if self.tracked is not None:
            return not self.tracked.learn(arrays, self._sole, body)
        self.sole = {id(h.template): h.init is None or self._sole(h) for h in arrays}
        arrays = [h for h in arrays if isinstance(h.template, Ary)]
        outer = {id(h.template): self._outer(h.final, body) | self._of_init(h) for h in arrays}
        new = {k: cells | self.shares.get(k, set()) for k, cells in outer.items()}
        other = {id(h.template) for h in arrays if self._reordered(h)} - self.disordered
        self.disordered |= other
        if not other and all(self.shares.get(k, set()) == cells for k, cells in new.items()):
            return True
        self.shares = new
        self._doubt(any(new.values()))
        return False

    def _doubt(self, some: bool) -> None:
        """Some variables may share storage with others, which is not followed."""
        if some and isinstance(self.loop, ast.AST):
            self.r.doubtful.add(self.loop)

    def _reordered(self, h: CarriedArray) -> bool:
        """Was the array taken for C-contiguous, and is not after a trip?"""
        phi = self.phis.get(id(h.template))
        return phi is not None and bool(phi.contiguous) and h.final is not None and not h.final.contiguous

    def _outer(self, x: Array | None, body: Region) -> set[Cell]:
        """Storage of an array that was there before the trip (parameters excepted)."""
        mine = {p.cell for p in self.phis.values()}
        cells = x.shared() if x is not None else ()
        return {c for c in cells if c.stamp < self.start and self.r.state.born(c) is not body.builder and c not in mine}

    def _of_init(self, h: CarriedArray) -> set[Cell]:
        return set() if h.init is None or self.sole[id(h.template)] else set(h.init.shared())

    def check(self, carries: dict[Any, Any], body: Region, trips: tuple[float, float], taken: Taken) -> None:
        """Raise AliasError for what the contents alone do not express. Runs in the final state of a trip."""
        self.doubts, self.cycle, self.own = {}, [], {}
        self._check_taken(carries, body, taken)
        if self.tracked is not None or self._permutation(body, taken):
            return
        arrays = self.held(carries, body)
        ends = [id(c) for h in arrays if h.final is not None for c in set(h.final.shared())] + list(taken.cells)
        arrays = [h for h in arrays if id(h.template) in self.phis]
        for h in arrays:
            phi = self.phis[id(h.template)]
            fresh = self._fresh(h.final, body) and ends.count(id(h.final.cell)) == 1  # type: ignore[union-attr]
            sole = self.sole[id(h.template)]
            if phi.cell.written and not (sole and (fresh or h.final is phi)):
                raise AliasError(f"'{h.name}' is stored into and also rebound in this loop")
            if isinstance(h.template, Sized):
                if fresh and h.init is not None and id(h.final.cell) not in taken.cells:  # type: ignore[union-attr]
                    self.own[id(h.template)] = storage_of(h.init)
                continue
            certain = sole or trips[0] >= 1
            if not (fresh and certain):
                cells = set() if fresh else self._outer(h.final, body)
                cells |= set() if certain else self._of_init(h)
                self.doubts[id(h.template)] = (
                    f"after the loop '{h.name}' may be the same array as another variable; write "
                    f"{h.name} = {h.name}.copy() before storing into it",
                    tuple(cells),
                )
        self._doubt(bool(self.doubts))

    def _check_tracked(self, carries: dict[Any, Any], body: Region, taken: Taken) -> None:
        """The same where it is followed which array each variable holds."""
        assert self.tracked is not None
        slots = {id(x.cell): x.cell for x in self.tracked.slots.values()}
        ends = {id(h.template): h.final for h in self.held(carries, body) if h.final is not None}
        shared = {k for k, x in ends.items() if any(id(c) in taken.cells for c in x.shared())}
        self.shared = [k for k in self.tracked.slots if k in shared]
        known = set(slots) | {id(c) for k in shared for c in ends[k].shared()}
        if any(c.written for c in slots.values()) and any(k in known for k in taken.cells):
            raise StructureError(_TAKEN)
        self.lasting = [c for k, c in taken.cells.items() if k not in slots and self.r.state.born(c) is not body.builder]
        self.lasting += [c for k in taken.cells if k in slots for x in self.tracked.outer.values() for y in x for c in y.shared()]
        if any(Storage(c).key in body.log.old for c in self.lasting):
            raise StructureError(_TAKEN)

    def of_lists(self) -> list[Cell]:
        """Storage that elements of lists share after the loop, and others know."""
        if self.tracked is None:
            return self.lasting
        return [*self.lasting, *(self.tracked.slots[k].cell for k in self.shared)]

    def _check_taken(self, carries: dict[Any, Any], body: Region, taken: Taken) -> None:
        """Arrays that lists take in each trip must keep their content; `lasting` are those that others know after the loop."""
        if not taken.cells:
            self.lasting, self.shared = [], []
            return
        if self.tracked is not None:
            self._check_tracked(carries, body, taken)
            return
        phis = {id(p.cell): key for key, p in self.phis.items()}
        init = {id(h.template): h for h in self.held(carries, body)}
        finals = {key: h.final for key, h in init.items()}
        self.lasting = []
        for c in taken.cells.values():
            key = phis.get(id(c))
            if key is not None:
                self.lasting += [*self.shares.get(key, ()), *self._of_init(init[key])] if key in init else []
                kept = [x for x in finals.values() if x is not None]  # a variable may hold another's array after the trip
                changes = c.written and any(c is d for x in kept for d in x.shared())
            else:
                changes = self.r.state.born(c) is not body.builder and Storage(c).key in body.log.old
                self.lasting += [] if self.r.state.born(c) is body.builder else [c]
            if changes:
                raise StructureError(_TAKEN)

    def _fresh(self, x: Any, body: Region) -> bool:
        """Made in this trip, and whole."""
        return isinstance(x, Array) and x.fresh_whole and self.r.state.born(x.cell) is body.builder

    def _sole(self, h: CarriedArray) -> bool:
        """Is the array known by one variable only? Expressions that are being evaluated in functions around may know it too."""
        x = h.init
        if not (isinstance(x, Array) and x.fresh_whole and x.cell.parts is not None and (h.local or len(self.r.frames) <= 2)):
            return False
        return references(self.r, x.cell) <= 1 and all(names_of(self.r, c) <= 1 for c in h.inside)

    # ---- permutations ----

    def _permutation(self, body: Region, taken: Taken) -> bool:
        """Do the names permute their arrays (u, v = v, u), which are whole, distinct and not touched otherwise?"""
        carries = [c for c in self.names.values() if type(c.init) is Array and not c.init.steps]
        phis = [self.phis[id(c.template)] for c in carries]
        finals = [body.value(c.place) for c in carries]
        mine = [(c, p, f) for c, p, f in zip(carries, phis, finals) if any(f is q for q in phis) and f is not p]
        if not mine:
            return False
        carries, phis, finals = (list(x) for x in zip(*mine))
        order = [next((k for k, p in enumerate(phis) if p is f), -1) for f in finals]
        cells = {id(c.init.cell) for c in carries}
        if sorted(order) != list(range(len(order))) or len(cells) != len(carries) or len(self.names) != len(carries):
            return False
        if not any(p.cell.written for p in phis):
            return False
        if any(references(self.r, c.init.cell) for c in carries) or any(id(p.cell) in taken.cells for p in phis):
            return False  # known otherwise, where a store by these names would not be seen
        self.cycle, self.order = carries, order
        return True

    def result(self, t: Ary, value: Value) -> Array:
        """The array that a carried variable holds after the loop."""
        if self.tracked is not None:
            return self.tracked.array(t, value)
        out = Array(Cell(value, value.hint), frozen=self.doubts.get(id(t), ("", ()))[0])
        phi = self.phis.get(id(t))
        if phi is not None:
            out.strides, out.loose = phi.strides, phi.loose
        self.results[id(t)] = out
        return out

    def finish(self, count: Value | None, sized: list[tuple[Sized, Array]]) -> None:
        """After a permutation: give the contents back to the arrays the names started with, and rebind the names."""
        watch_sides(sized, self.own)
        self._watch_mates(sized, self.results)
        if self.tracked is not None:
            self.tracked.given()
        for key, (_, cells) in self.doubts.items():
            if key in self.results:
                self.results[key].watch = tuple((c, c.content) for c in cells)
        if not self.cycle:
            return
        assert count is not None
        powers = self._powers()
        contents = [self.results[id(c.template)] for c in self.cycle]
        arrays = [c.init for c in self.cycle]
        self._settle(count, powers, contents, arrays)

    def _watch_mates(self, sized: list[tuple[Sized, Array]], arrays: dict[int, Array]) -> None:
        """What a variable of several sizes holds is not known any more once the same array changes that another variable holds."""
        known = arrays if self.tracked is None else self.tracked.slots
        for t, out in sized:
            out.watch += tuple((known[k].cell, known[k].cell.content) for k in self.mates.get(id(t), ()) if k in known)

    def _powers(self) -> list[list[int]]:
        """The powers of the permutation: after n trips, name k has the array that name powers[n % period][k] started with."""
        power = list(range(len(self.order)))
        powers: list[list[int]] = []
        while not powers or power != powers[0]:
            powers.append(power)
            power = [self.order[k] for k in power]
        return powers

    def phases(self, cells: list[Cell], numbers: list[int]) -> list[dict[int, int]]:
        """For `irad.frontend.values.kept.resolved`, given the numbers of the watched cells."""
        if not self.cycle or not numbers:
            return []
        number = dict(zip(map(id, cells), numbers))
        phis = [number[id(self.phis[id(c.template)].cell)] for c in self.cycle]
        targets = [self.r.kept.number(c.init) for c in self.cycle]
        return [{t: phis[p.index(j)] for j, t in enumerate(targets) if t is not None} for p in self._powers()]

    def _settle(self, count: Value, powers: list[list[int]], contents: list[Array], arrays: list[Array]) -> None:
        period = scalar(len(powers), "i64")
        phase = count % period
        names: list[Any] = []
        for k in range(len(arrays)):
            names.append(arrays[powers[-1][k]])
        stores = [contents[powers[-1].index(j)].cell.content for j in range(len(arrays))]
        for p in reversed(range(len(powers) - 1)):
            cond = Arr(eq(phase, p), True)
            now = [contents[powers[p].index(j)].cell.content for j in range(len(arrays))]
            stores = self.r.choose(cond, now, stores)
            names = [(cond, arrays[powers[p][k]], names[k]) for k in range(len(arrays))]
        for a, v in zip(arrays, stores):
            self.r.put(a, v)
        for k, c in enumerate(self.cycle):
            self.r.state.assign(c.place, self._alias(names[k], contents[k].cell.content))

    def _alias(self, choice: Any, merged: Any) -> Array:
        if isinstance(choice, Array):
            return choice
        cond, left, right = choice
        other = self._alias(right, merged)
        return Either(cond, left, other, merged)


def _mates(h: CarriedArray, others: Sequence[CarriedArray]) -> set[int]:
    """The other variables that may hold the same array after a trip."""
    cells = set(h.final.shared()) if h.final is not None else set()
    return {id(g.template) for g in others if g is not h and g.final is not None and not cells.isdisjoint(g.final.shared())}


def _templates(carries: dict[Any, Any]) -> list[Ary]:
    """The templates of the arrays of the carried variables, each once."""
    found = (t for c in carries.values() if not isinstance(c.place, Storage) for t in arrays_in(c.template))
    return list({id(t): t for t in found}.values())
