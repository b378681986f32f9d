"""Loops kept as loops: what they carry is found by a fixed point over trial trips, then one `for` or `while` is emitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irad.core.ir import Graph, Value, emit
from irad.core.once import import_later
from irad.core.types import I64, affine
from irad.frontend.control.filling import Maker, holes, leaves, zero
from irad.frontend.control.flow import Live, bool_value, branch, finish, flag, negated, settle
from irad.frontend.control.holders import is_last_result
from irad.frontend.control.list_rules import OfLoop
from irad.frontend.control.loop_arrays import ArrayRules, another, unchanged
from irad.frontend.control.loop_containers import Containers
from irad.frontend.control.loop_hints import Hints, mark, noted
from irad.frontend.control.merge import Joiner
from irad.frontend.control.regions import Emitted, EveryTripRaises, assume_no_return, run_region, undecided
from irad.frontend.control.sequences import Seq
from irad.frontend.control.templates import Ary, Bad, Num, disagrees, equal
from irad.frontend.control.trips import Carry, LoopStatement, Rotate, Track, Unrollable, assigns, shown, stop_flag, trip
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, NeedStatic
from irad.frontend.values.choices import Outside
from irad.frontend.values.kept import resolved
from irad.frontend.values.objects import STALE, UNDEFINED, AliasError, Array, Maybe, Nullable, Poison, StructureError, describe
from irad.frontend.values.state import Attribute, Items, Name, Place, Region, Storage
from irad.ops.constant import scalar
from irad.ops.control import for_, while_
from irad.ops.core import effects
from irad.ops.elementwise import cast_to
from irad.ops.intervals import affine_of, bound, interval, ordered

_ATTEMPTS = 12
LIMIT = 4096  # trips of a loop that are written out if it cannot be kept


class Rolled:
    """A loop kept as a loop: `for` over positions `first`.. of a sequence, or `while` a test holds. `checks`: lists may grow in it by
    numbers of elements that nothing bounds but checks."""

    def __init__(
        self,
        r: Reader,
        loop: LoopStatement,
        seq: Seq | None,
        first: int,
        test: Callable[[], Any] | None = None,
        checks: bool = True,
    ):
        self.r, self.loop, self.seq, self.first, self.test, self.checks = r, loop, seq, first, test, checks
        self.carries: dict[Any, Carry] = {}
        self.containers = Containers(r, self.carries)
        self.arrays = ArrayRules(r, loop.stmt)
        self.trips: Value | None = None  # how many trips were made
        self.trip_number: Value | None = None  # in the body, where that is needed
        self.endless = False  # the test is true at compile time: the loop ends by a jump only
        self.scopes = ((r.frame.env, loop.head, loop.after), *(s[:3] for s in r.frame.around_loops))
        self.rotated = assigns(loop.stmt)  # the test changes state: it runs inside the trips

    # ---- the fixed point ----

    def run(self) -> None:
        if self.r.quiet:
            raise Emitted
        self.count = self._count()
        if self.seq is not None:
            self.seq.prepare()
            self.seq.check_lengths()
        self.lists = OfLoop(
            None if self.count is None else affine_of(self.count), self._unbounded, self.r.room if self.checks else None
        )
        hints = Hints(self)
        if hints.take() or self.loop.stmt in self.r.tracked:
            self.arrays.track()
        for _ in range(_ATTEMPTS):
            body = self._body()
            if undecided(body):
                self._skip()
                return
            if self._update(body) or not self.arrays.settled(self.carries, body):
                continue
            known = hints.note()
            try:
                self._emit(body)
                hints.leave(known)
                return
            except Rotate:
                self.rotated = True
                hints.start(known)
            except Track:
                self.arrays.track()
        raise StructureError("the types of the variables of this loop do not settle after several trips")

    def _count(self) -> Value | None:
        if self.seq is None:
            return None
        n = self.seq.length
        if isinstance(n, int):
            return scalar(n - self.first, "i64")
        v = cast_to(n.value, "i64")
        return v - self.first if self.first else v

    def _body(self) -> Region:
        """A trial trip with the carries as parameters."""
        index = Value(I64, self.loop.name) if self.seq is not None else None
        phis = [Value(t, name) for t, name in self._holes()]
        if index is not None and self.seq is not None and isinstance(self.seq.length, Arr):
            self.r.counts[index] = self.seq.length
            if not self.r.may_be_known(self.seq.length):
                self.r.open_ended.add(self.loop.stmt)
        mark(self.r, self.loop.stmt, self.carries, phis, index)
        try:
            region = run_region(self.r, lambda: self._trip(index, phis))
        except NeedStatic as e:
            if self.r.sources_of(e) & {*phis, index}:
                raise Unrollable(e) from None
            raise
        if region.dead and not undecided(region):
            raise EveryTripRaises(region)
        region.params = (*([index] if index is not None else []), *phis)
        return region

    def _unbounded(self) -> NeedStatic | None:
        """The error for a loop that fills a list: its trips must be known, or those of the loops around that they depend on. None if
        they are computed from what is not known before the call."""
        assert self.count is not None
        length, found = Arr(self.count, True), self.r.sources_of_number(self.count)
        counted = lambda v: v in self.r.counts or v not in self.r.loop_of  # what a loop computes may have come from data
        if not self.r.may_be_known(length) or not all(map(counted, found)):
            return None
        outer = next((self.r.counts[v] for v in found if v in self.r.counts), length)
        return NeedStatic(outer, "the number of trips of a loop that fills a list")

    def _skip(self) -> None:
        """No trip returns as far as is known: what comes after the loop is read for no trips, if there may be none."""
        self.carries.clear()
        first = run_region(self.r, self.test) if self.test is not None and not self.rotated else None
        if self.rotated or self._trips()[0] >= 1 or (first is not None and (first.dead or first.result is True)):
            raise assume_no_return()

    def _holes(self) -> list[tuple[Any, str]]:
        seen: set[int] = set()
        out = []
        for c in self.carries.values():
            out += [(t, c.place.hint) for t in holes(c.template, seen)]
        return out + [(t, "") for t in self.arrays.flags(self.carries)]

    def _enter(self, phis: Sequence[Value], index: Value | None) -> None:
        """Let the carried places hold the parameters."""
        own = self.arrays.begin(self.carries)
        self.arrays.decided(self.carries, phis)
        entered = self.containers.begin()
        maker = Maker(phis, self.arrays.phi, self.containers.enter, None if index is None else affine(0, {index: 1}), False)
        for c in self.carries.values():
            held = len(entered)
            value = next(maker.values) if isinstance(c.place, Storage) and isinstance(c.template, Ary) else maker.make(c.template)
            self.r.state.give(c.place, UNDEFINED if c.filled else value)
            if c.filled:
                continue
            self.containers.given[c.place.key] = value
            if isinstance(c.place, Items):
                del entered[held:]  # its items; the container itself stays
            else:
                self.containers.stand(c, value)
        self.lists.starts.update(maker.runs)
        self.containers.watch_first_elements(maker.runs)
        self.arrays.entered(maker.sized, own)
        self.watched = self.arrays.watched()
        self.lengths = [xs.now for xs in self.seq.lists()] if self.seq is not None else []

    def _trip(self, index: Value | None, phis: Sequence[Value]) -> None:
        self._enter(phis, index)
        with self.r.kept.carried(self.watched) as self.numbers:
            self._entered_trip(index)

    def _entered_trip(self, index: Value | None) -> None:
        for env, name in self._flags():  # or there would be no such trip
            if isinstance(flag(env, name), Arr):
                self.r.state.assign(Name(env, name), False)
        position: Any = None
        if index is not None:
            assert self.count is not None
            bound(index, 0, max(interval(self.count)[1] - 1, 0))
            ordered(index, 1, affine_of(self.count) - 1)
            position = self.r.operator("add", Arr(index, True), self.first) if self.first else Arr(index, True)
        numbers = import_later("irad.frontend.control.whole_numbers")
        numbers.bound_numbers(self.r, self.loop.stmt, self.carries.values(), None if self.rotated else self.test)
        if self.rotated:
            self._rotated_trip()
        else:
            trip(self.r, self.loop, position)

    def _rotated_trip(self) -> None:
        assert self.test is not None
        t = self.test()
        env = self.r.frame.loops[-1]
        if isinstance(t, Arr):
            self.r.state.assign(Name(env, "done"), negated(t))
            branch(self.r, t, lambda: trip(self.r, self.loop, None), lambda: None)
        elif t:
            trip(self.r, self.loop, None)
        else:
            self.r.state.assign(Name(env, "done"), True)

    # ---- what is carried ----

    def _update(self, body: Region) -> bool:
        """Join what the carried places are after a trip with what they were before; True if anything is new."""
        joiner, changed, self.lists.inside = self._joiner(body), False, body.defines
        with body.builder:  # where the bounds of what a trip computes are known
            for key, (place, init) in body.log.old.items():
                old = self.carries.get(key)
                if old is None and self._temporary(place):
                    continue
                final = noted(self.r, self.loop.stmt, key, body.log.new[key])
                new = Carry(place, init, Bad(STALE)) if body.stale(final) else self._carry(joiner, place, init, final, old)
                if new is None:
                    continue
                why = disagrees(new.template)
                if why and self._needed(place) and (isinstance(new.template, Bad) or self.loop.stmt not in self.r.lenient):
                    raise StructureError(f"in this loop '{shown(place)}' changes its kind: {why}")
                if old is None or not equal(old.template, new.template) or old.filled != new.filled:
                    self.carries[key], changed = new, True
        return changed

    def _joiner(self, body: Region) -> Joiner:
        return Joiner(
            contents=(lambda x: x, body.content),
            grower=self.lists,
            outside=self.r.captures.is_object,
            standing=lambda x: self.containers.standing(body, x),
            there=Outside(True, self.r.state.born, body.defines, self.r.state.stands),
            themselves=self.r.themselves,
        )

    def _needed(self, place: Place) -> bool:
        """Is a place with no common template a mistake (rather than a variable that nobody reads again)?"""
        head = self._live(place)[0]
        return isinstance(place, (Items, Attribute)) or (isinstance(place, Name) and head is not None and place.name in head)

    def _read(self, place: Place) -> bool:
        """May a trip read what a place holds when it starts?"""
        if not isinstance(place, Name) or place.owner is self.r.frame.flags:
            return not isinstance(place, Name)
        head = next((s[1] for s in self.scopes if s[0] is place.owner), None)
        return head is None or place.name in head

    def _live(self, place: Place) -> tuple[Live, Live]:
        """Which variables of the function that a place belongs to are live before a trip, and after the loop."""
        found = next((s for s in self.scopes if s[0] is place.owner), None)
        return (self.loop.head, None) if found is None else (found[1], found[2])

    def _temporary(self, place: Place) -> bool:
        """A variable that no later trip and nothing after the loop reads."""
        if not isinstance(place, Name) or not any(s[0] is place.owner for s in self.scopes):
            return False
        head, after = self._live(place)
        return head is not None and after is not None and place.name not in head and place.name not in after

    def _carry(self, joiner: Joiner, place: Place, init: Any, final: Any, old: Carry | None) -> Carry | None:
        if isinstance(place, Storage):
            if final is init and old is None:
                return None
            whole = Array(place.owner)
            return Carry(place, init, Ary(whole.type, (whole, whole)))
        if self._last_value(place, init, final) and (old is None or old.filled):
            template = joiner.inside(final, None) if old is None else joiner.join(old.template, final)
            return Carry(place, init, template, filled=True)
        if old is None and init is None and self._always(final):
            return Carry(place, init, Bad(f"it is None before the first trip and {describe(final)} after it"))
        t = joiner.join(old.template if old is not None and not old.filled else init, final)
        if old is None and unchanged(t) and not another(t, init, final):
            return None
        if isinstance(place, Items) and isinstance(t, Bad):
            raise StructureError(
                f"a {type(place.owner).__name__} changes in this loop so that {t.message}; "
                "make an array of the final size before the loop and store into it"
            )
        return Carry(place, init, t)

    def _last_value(self, place: Place, init: Any, final: Any) -> bool:
        """A variable first assigned in the loop (or None before), by every trip, and read only after it; and there is a first trip."""
        if not (init is UNDEFINED or init is None) or not any(s[0] is place.owner for s in self.scopes):
            return False
        head = self._live(place)[0]
        if head is None or place.name in head or self.count is None or isinstance(final, (Maybe, Nullable)):
            return False
        return interval(self.count)[0] >= 1

    def _always(self, final: Any) -> bool:
        """Is a variable that starts as None something else after every trip? Then the first trip is better written out."""
        n = self.seq.length if self.seq is not None else None
        return isinstance(n, int) and self.first == 0 and n <= LIMIT and not isinstance(final, (Nullable, Maybe, Poison))

    # ---- emission ----

    def _emit(self, body: Region) -> None:
        self.containers.check(body, self._read)
        with body.builder, body.log.replayed():
            taken = self.containers.take(body)
            if self.seq is not None:
                self.seq.check_lengths(self.lengths)
            try:
                self.arrays.check(self.carries, body, self._trips(), taken)
            except AliasError:
                raise Track from None
            ends = self._finals(body)
        if self.seq is not None:
            self.trip_number = body.params[0]
        elif self.arrays.cycle:
            self.trip_number = Value(I64, "trips")
        self._resolve(body, self.trip_number)
        inits = self._inits(body)
        outs = self._op(body, inits, ends)
        found = self.containers.carried(body, lambda place: not is_last_result(self.r, place))
        self._leave(outs)
        self.containers.lock_known(body, found, self._trips()[0] < 1)
        self.containers.lock_taken(body, outs)

    def _resolve(self, region: Region, trip: Value | None) -> None:
        """Let checks keep arrays of the caller, not what variables of this loop held."""
        phases = self.arrays.phases(self.watched, self.numbers)
        region.builder.nodes[:] = resolved(region.nodes, self.numbers, phases, trip)

    def _trips(self) -> tuple[float, float]:
        return (0, float("inf")) if self.count is None else interval(self.count)

    def _finals(self, body: Region) -> list[Value]:
        seen: set[int] = set()
        read, flags = self.arrays.finals(self.carries, body)
        ends = [v for k, c in self.carries.items() for v in leaves(c.template, c.after(body, k), read, seen)]
        return ends + flags

    def _inits(self, body: Region) -> list[Value]:
        out: list[Value] = []
        seen: set[int] = set()
        read, flags = self.arrays.inits(self.carries, body)
        for c in self.carries.values():
            if c.filled:
                out += [zero(t) for t in holes(c.template, seen)]
            else:
                init = Array(c.place.owner) if isinstance(c.place, Storage) else c.init
                out += leaves(c.template, init, read, seen)
        return out + flags

    def _op(self, body: Region, inits: list[Value], ends: list[Value]) -> list[Value]:
        hints = [name for _, name in self._holes()]
        if self.seq is not None and not self._stops():
            graph = Graph(body.params, tuple(body.nodes), tuple(ends))
            self.trips = self.count
            if not inits and not any(effects(n) != "none" for n in body.nodes):
                return []
            assert self.count is not None
            outs = list(emit(for_, self.count, *inits, regions=[graph], hints=hints))
        else:
            outs = self._while(body, inits, ends, hints)
        mark(self.r, self.loop.stmt, self.carries, outs)
        return outs

    def _flags(self) -> list[tuple[Any, str]]:
        """The flags that end the loop when they are set."""
        own = [(self.r.frame.loops[-1], n) for n in ("break", "done")]
        found = [*own, (self.r.frame.flags, "return"), *((g.env, "caught") for g in self.r.frame.guards)]
        for *_, f in self.r.frame.around_loops:
            found += [(f.loops[-1], "break"), (f.flags, "return"), *((g.env, "caught") for g in f.guards)]
        return found

    def _stops(self) -> list[Carry]:
        """Carried flags that end the loop."""
        keys = {Name(env, n).key for env, n in self._flags()}
        return [c for k, c in self.carries.items() if k in keys and isinstance(c.template, Num)]

    def _while(self, body: Region, inits: list[Value], ends: list[Value], hints: list[str]) -> list[Value]:
        counter = None if self.seq is not None else Value(I64, "trips")
        condition = self._condition(counter if self.trip_number is not None else None)
        params, results = body.params, list(ends)
        if self.trip_number is not None:
            params = params if counter is None else (self.trip_number, *params)
            with body.builder:
                results = [params[0] + 1, *results]
            inits, hints = [scalar(0, "i64"), *inits], [self.loop.name or "trips", *hints]
        graph = Graph(params, tuple(body.nodes), tuple(results))
        outs = list(emit(while_, *inits, regions=[condition, graph], hints=hints))
        self.trips = outs[0] if self.trip_number is not None else None
        return outs if self.trips is None else outs[1:]

    def _condition(self, counter: Value | None) -> Graph:
        """The region that decides on another trip: the loop has not been left, and positions remain or the test holds."""
        index = Value(I64, self.loop.name) if self.seq is not None else None
        phis = [Value(t, name) for t, name in self._holes()]
        mark(self.r, self.loop.stmt, self.carries, phis)
        changed: dict[int, Any] = {}

        def decide() -> Value:
            self._enter(phis, index)
            with self.r.kept.carried(self.watched) as self.numbers, self.r.state.watched() as watch:
                go = entered()
            changed.update(watch.old)
            return go

        def entered() -> Value:
            stop = self._stopped()
            if index is not None:
                assert self.count is not None
                more = index < self.count
                return more if stop is False else more & ~bool_value(stop)
            if self.rotated:
                return ~bool_value(stop)
            assert self.test is not None
            test = self.test
            if stop is False:
                go = test()
            else:
                side = run_region(self.r, test)
                self.endless = side.result is True and not side.nodes
                go = negated(stop) if self.endless else finish(self.r, stop, run_region(self.r, lambda: False), side)
            return bool_value(go)

        region = run_region(self.r, decide)
        if changed or region.dead or any(key not in self.carries for key in region.log.old):
            raise Rotate
        first = counter if index is None else index
        self._resolve(region, first)
        params = (*([first] if first is not None else []), *phis)
        return Graph(params, tuple(region.nodes), (region.result,))

    def _stopped(self) -> Any:
        stop = stop_flag(self.r)
        done = flag(self.r.frame.loops[-1], "done")
        if stop is False or done is True:
            return done
        return stop if done is False else self.r.operator("or_", stop, done)

    def _leave(self, outs: list[Value]) -> None:
        """Let the carried places hold the results."""
        self.arrays.decided(self.carries, outs)
        self.containers.made = {}
        maker = Maker(outs, self.arrays.result, self.containers.note_made, None if self.trips is None else affine_of(self.trips))
        for c in self.carries.values():
            self.r.state.give(c.place, next(maker.values) if isinstance(c.place, Storage) else maker.make(c.template))
        self.arrays.finish(self.trips, maker.sized)
        cells = self.arrays.of_lists()
        for run in maker.runs.values():
            run.watch = tuple((c, c.content) for c in cells)
        if self.endless:
            settle(self.r)
