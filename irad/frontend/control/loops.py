"""Loops: run at compile time while nothing traced happens, kept as `for` or `while` where numbers are traced.

What a loop carries is found by running its body until the templates of the changed places no longer change. A loop whose
structure does not allow that (a list that grows, a variable that changes type) is written out if its length is known
and small, after trying to write out the first trip only.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from irad.core.ir import current
from irad.errors import IradError, UnsupportedError
from irad.frontend.control.flow import branch, flag, loop_flags, settle, under
from irad.frontend.control.list_rules import NO_BOUND
from irad.frontend.control.peeled import PEELED, Peeled, follows
from irad.frontend.control.regions import Emitted, Ends, EveryTripRaises, attempt, quietly, run_region
from irad.frontend.control.rolled import LIMIT, Rolled
from irad.frontend.control.sequences import Seq, positions
from irad.frontend.control.trips import LoopStatement, Unrollable, assigns, stop_flag, trip
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, NeedStatic
from irad.frontend.values.objects import AliasError, StructureError
from irad.ops.control import raise_if
from irad.ops.core import effects

TINY = 4  # trips of a short loop that are written out at once
_TRIES = 2  # times that a loop is tried to be kept before it is written out at once
STATIC_LIMIT = 100_000  # trips of a loop that runs at compile time


# ---- for ------------------------------------------------------------------------------------------------------------


def run_for(r: Reader, loop: LoopStatement, seq: Seq) -> None:
    """A loop over a sequence, its else clause included."""
    with loop_flags(r), _going_over(r, seq):
        if isinstance(seq.length, int):
            _static_for(r, loop, seq, seq.length)
        else:
            try:
                _counted(r, loop, seq)
            except StructureError as e:
                _some_written_out(r, loop, seq, seq.length, e)
                return
        stop, broken = stop_flag(r), flag(r.frame.loops[-1], "break")
    otherwise(r, loop, stop, broken)


def _some_written_out(r: Reader, loop: LoopStatement, seq: Seq, n: Arr, error: StructureError) -> None:
    """A loop of a traced number of trips in which variables change their kinds, and what follows it."""
    if follows(r, error):
        raise error
    more = lambda k: r.operator("gt", n, k)
    roll = lambda k: _kept(Rolled(r, loop, seq, k))
    Peeled(r, loop, more, roll, lambda k: k, lambda stop, broken: otherwise(r, loop, stop, broken)).run(error)


@contextmanager
def _going_over(r: Reader, seq: Seq) -> Iterator[None]:
    """While a loop over a sequence runs, it knows the arrays in it."""
    iterated, depth = r.frame.iterated, len(r.frame.iterated)
    iterated.append(seq)
    try:
        yield
    finally:
        del iterated[depth:]


def _counted(r: Reader, loop: LoopStatement, seq: Seq) -> None:
    """A loop whose number of trips is traced."""
    if loop.stmt in r.unroll and isinstance(seq.length, Arr):
        raise NeedStatic(seq.length, "the number of trips of a loop that must be written out")
    try:
        _kept(Rolled(r, loop, seq, 0))
    except EveryTripRaises as e:
        _raises_at_once(r, loop, r.operator("gt", seq.length, 0), 0, e)
    except StructureError as e:
        if isinstance(seq.length, Arr) and not isinstance(e, AliasError):  # the first trip, or all, may have to be written out
            e.sources = r.sources_of_number(seq.length.value)
        raise


def _kept(loop: Rolled) -> None:
    """A loop that is written out in no case."""
    try:
        loop.run()
    except Unrollable as e:
        raise e.cause from None


def _raises_at_once(r: Reader, loop: LoopStatement, begins: Any, position: Any, e: EveryTripRaises) -> None:
    """A loop of which every trip raises an exception has one trip at most: it `begins`, or not."""
    *before, last = e.nodes
    if isinstance(begins, Arr) and len(last.inputs) == 1 and all(effects(n) == "none" for n in before):
        current().loc = last.loc  # where a handler sees it, in an expression too
        raise_if(begins.value, **last.attrs)
    elif isinstance(begins, Arr):
        branch(r, begins, lambda: trip(r, loop, position), lambda: None, loop.after)
    elif begins:
        trip(r, loop, position)


def otherwise(r: Reader, loop: LoopStatement, stop: Any, broken: Any) -> None:
    """The else clause; a jump in it belongs to the loop around. A loop that was left, and not by a break, has returned."""
    if loop.orelse is not None and stop is False:
        loop.orelse()
    elif loop.orelse is not None and isinstance(stop, Arr):
        branch(r, stop, lambda: settle(r) if broken is False else None, loop.orelse, loop.after)


def _static_for(r: Reader, loop: LoopStatement, seq: Seq, n: int) -> None:
    if n == 0:
        return
    if loop.stmt in r.unroll or not seq.rolls or n == 1:
        write_out(r, loop, seq)
        return
    if _at_compile_time(r, loop, seq, n):
        return
    if n <= TINY and _short(loop.stmt):
        write_out(r, loop, seq)
        return
    if n <= LIMIT and r.failures[loop.stmt] >= _TRIES:
        write_out(r, loop, seq)
        return
    try:
        attempt(r, lambda: Rolled(r, loop, seq, 0).run())
    except (IradError, Unrollable) as first:
        r.failures[loop.stmt] += 1
        _fall_back(r, loop, seq, n, first)


def _fall_back(r: Reader, loop: LoopStatement, seq: Seq, n: int, first: BaseException) -> None:
    """The loop cannot be kept: write out its first trip, or all of them."""
    error = first.cause if isinstance(first, Unrollable) else first
    if n > LIMIT or follows(r, first):
        raise error from None
    if isinstance(first, StructureError) and n > TINY:
        for k in range(1, PEELED):
            try:
                attempt(r, lambda k=k: _peeled(r, loop, seq, k))  # type: ignore[misc]
                r.failures[loop.stmt] -= 1
                return
            except (IradError, Unrollable):
                pass
    write_out(r, loop, seq)


def _peeled(r: Reader, loop: LoopStatement, seq: Seq, k: int) -> None:
    write_out(r, loop, seq, k)
    stop = stop_flag(r)
    if stop is False:
        Rolled(r, loop, seq, k).run()
    elif isinstance(stop, Arr):
        under(r, stop, lambda: Rolled(r, loop, seq, k).run(), None)


def write_out(r: Reader, loop: LoopStatement, seq: Seq, until: int | None = None) -> None:
    """Every trip on its own, or the first ones only."""
    for k in positions(seq, 0, until, lambda: stop_flag(r) is True):
        stop = stop_flag(r)
        if isinstance(stop, Arr):
            under(r, stop, lambda k=k: trip(r, loop, k), None)  # type: ignore[misc]
        else:
            trip(r, loop, k)
        if k > LIMIT:
            raise UnsupportedError(f"a loop of {seq.length} trips must be written out here, which is too long (limit {LIMIT})")


def _at_compile_time(r: Reader, loop: LoopStatement, seq: Seq, n: int) -> bool:
    """Run the loop at once if no trip emits anything; False (and no change) if one does."""

    def body() -> None:
        for k in positions(seq, ended=lambda: stop_flag(r) is True):
            if k > STATIC_LIMIT:
                raise Emitted
            trip(r, loop, k)

    return n <= STATIC_LIMIT and quietly(r, body)


@functools.cache
def _short(stmt: Any) -> bool:
    inner = [n for s in getattr(stmt, "body", ()) for n in ast.walk(s)]
    return len(inner) <= 120 and not any(isinstance(n, (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)) for n in inner)


# ---- while -------------------------------------------------------------------------------------------------------------


def run_while(r: Reader, loop: LoopStatement, test: Callable[[], Any]) -> None:
    """A while loop, its else clause included; `test` gives the condition as a bool or traced bool."""
    with loop_flags(r):
        if not _while_at_compile_time(r, loop, test):
            try:
                _rolled_while(r, loop, test)
            except EveryTripRaises as e:
                first = test()
                if isinstance(first, Arr) or first:  # else there are no trips
                    if assigns(loop.stmt):
                        raise
                    _raises_at_once(r, loop, first, None, e)
            except StructureError as e:
                if follows(r, e):
                    raise
                roll = lambda k: _kept(Rolled(r, loop, None, 0, test))
                after = lambda stop, broken: otherwise(r, loop, stop, broken)
                Peeled(r, loop, lambda k: test(), roll, lambda k: None, after).run(e)
                return
        stop, broken = stop_flag(r), flag(r.frame.loops[-1], "break")
    otherwise(r, loop, stop, broken)


def _rolled_while(r: Reader, loop: LoopStatement, test: Callable[[], Any]) -> None:
    if loop.stmt in r.unroll:
        _written_out_while(r, loop, test)
        return
    depth, loops = len(r.frames), len(r.frame.loops)
    try:
        try:
            attempt(r, lambda: Rolled(r, loop, None, 0, test, checks=False).run())
        except StructureError as e:
            if NO_BOUND not in e.message:
                raise
            if not _counted_while(r, loop, test):
                attempt(r, lambda: Rolled(r, loop, None, 0, test).run())
    except (StructureError, Unrollable) as first:
        error = first.cause if isinstance(first, Unrollable) else first
        if follows(r, first):
            raise error from None
        try:
            attempt(r, lambda: _written_out_while(r, loop, test))
        except IradError:
            raise error from None
    except IradError:  # said of what a trip does, at compile time
        del r.frames[depth:]
        del r.frame.loops[loops:]
        begins = test()
        if isinstance(begins, Arr) or begins:
            raise


def _counted_while(r: Reader, loop: LoopStatement, test: Callable[[], Any]) -> bool:
    """A loop that fills lists, whose condition is known at each trip: read once to count the trips, then kept as a `for` of so many."""
    trips = 0

    def counted() -> Any:
        nonlocal trips
        t = test()
        trips += not isinstance(t, Arr) and bool(t)
        return t

    ends = Ends(lambda: _written_out_while(r, loop, counted))
    try:
        run_region(r, ends, conditional=False)
        if ends.raised is not None:
            return False
        attempt(r, lambda: Rolled(r, loop, Seq(trips, lambda k: k), 0).run())
    except (IradError, Unrollable):
        return False
    return True


def _while_at_compile_time(r: Reader, loop: LoopStatement, test: Callable[[], Any]) -> bool:
    def body() -> None:
        for _ in range(STATIC_LIMIT):
            t = test()
            if isinstance(t, Arr):
                raise Emitted
            if not t:
                return
            trip(r, loop, None)
            if stop_flag(r) is True:
                return
        raise Emitted

    return quietly(r, body)


def _written_out_while(r: Reader, loop: LoopStatement, test: Callable[[], Any]) -> None:
    """A while loop whose condition is known at each trip."""
    for _ in range(LIMIT):
        t = test()
        if isinstance(t, Arr):
            raise r.needing_whole_numbers(StructureError("this while loop depends on data, so it cannot be written out"), t)
        if not t:
            return
        trip(r, loop, None)
        stop = stop_flag(r)
        if stop is True:
            return
        if isinstance(stop, Arr):
            raise StructureError("this while loop depends on data, so it cannot be written out")
    raise UnsupportedError(f"a while loop of more than {LIMIT} trips must be written out here, which is too long")
