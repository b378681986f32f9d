"""Loops in which a variable changes its kind (a number that becomes an array, a list, an array of real numbers a complex one).

The first trips are written out, the rest is kept as a loop. Where the number of trips depends on data, what follows the loop in its
block is read once for each number of trips up to these, since the variables are of other kinds there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.core.lazy_dataclass import dataclass
from irad.errors import IradError, UnsupportedError
from irad.frontend.activations import Rest
from irad.frontend.control.facts import learn
from irad.frontend.control.flow import Live, branch, finish, flag, settle
from irad.frontend.control.merge import Joiner
from irad.frontend.control.regions import Dead, EveryTripRaises, attempt, kept_exception, raise_always, run_region
from irad.frontend.control.templates import disagrees
from irad.frontend.control.trips import LoopStatement, stop_flag, trip
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import UNDEFINED, AliasError, StructureError
from irad.frontend.values.state import Name, Region
from irad.ops.text import escaped

PEELED = 3  # trips that are written out, at most


@dataclass(eq=False)
class Peeled:
    """A loop of which some trips are written out. `more(k)`: is there a trip k? `roll(k)`: the loop from trip k on."""

    r: Reader
    loop: LoopStatement
    more: Callable[[int], Any]
    roll: Callable[[int], None]
    position: Callable[[int], Any]
    otherwise: Callable[[Any, Any], None]  # the else clause

    def run(self, error: StructureError) -> None:
        """Write out more and more trips until the loop can be compiled. This also runs what follows the loop in its block.

        Called while the flags of the loop are in force. Raises `error` if more trips do not help.
        """
        for self.peel in range(1, PEELED + 1):
            self.after: IradError | None = None
            try:
                attempt(self.r, lambda: self._from(0))
                return
            except IradError as e:
                if follows(self.r, e):
                    raise
                if not isinstance(e, StructureError) or e is self.after:
                    raise (e if error.sources is None else error) from None  # with them the number of trips can be known
        self.r.lenient.add(self.loop.stmt)
        self.peel = 0
        try:
            attempt(self.r, lambda: self._from(0))
        except StructureError:
            raise error from None

    def _from(self, k: int) -> None:
        """The trips from k on, and what follows."""
        if k == self.peel:
            try:
                self.roll(k)
            except EveryTripRaises:
                if self.more(k) is not False:  # else there are no more trips
                    raise
            self._done()
            return
        more = self.more(k)
        if isinstance(more, Arr):
            self._split(k, more)
        elif more:
            self._trip(k, more)
        else:
            self._done()

    def _split(self, k: int, more: Arr) -> None:
        """Run trip k if there is one, else what follows the loop. If the two return results of different kinds, that is an error
        at run time."""
        r = self.r
        a = run_region(r, lambda: self._trip(k, more))
        b = run_region(r, self._none)
        why = self._results_differ(a, b)
        if why:
            b = run_region(r, lambda: self._no_result(k, why))
        finish(r, more, a, b, self._live())

    def _results_differ(self, a: Region, b: Region) -> str:
        """Why the program has no one result, where both sides return one; else ""."""
        if a.dead or b.dead or len(self.r.frames) > 2:
            return ""
        mine, other = (x.value(Name(self.r.frame.flags, "value")) for x in (a, b))
        return disagrees(Joiner().join(mine, other)) if UNDEFINED not in (mine, other) else ""

    def _no_result(self, k: int, why: str) -> None:
        few = "no trip" if k == 0 else "one trip" if k == 1 else f"{k} trips"
        words = f"after {few} of this loop the result is of another kind than after more, which compiled code cannot give: {why}"
        self._raise(UnsupportedError(words))

    def _raise(self, e: IradError) -> None:
        """Raise an error of the compiler at run time."""
        raise_always(kept_exception(self.r, e.at(self.r.place(self.loop.stmt))), escaped(str(e)))
        raise Dead from None

    def _trip(self, k: int, more: Any) -> None:
        r = self.r
        learn(r, more, True)
        trip(r, self.loop, self.position(k))
        stop = stop_flag(r)
        if stop is False:
            self._from(k + 1)
        elif stop is True:
            self._done()
        else:
            branch(r, stop, self._left, lambda: self._from(k + 1), self._live())

    def _left(self) -> None:
        settle(self.r)
        self._done()

    def _none(self) -> None:
        """There are no more trips. What cannot be compiled after so few trips raises its error at run time instead."""
        r, depth = self.r, len(self.r.frames)
        try:
            self._done()
        except IradError as e:
            if follows(r, e):
                raise
            del r.frames[depth:]
            self._raise(e)

    def _done(self) -> None:
        """After the loop."""
        loops = self.r.frame.loops
        stop, broken = stop_flag(self.r), flag(loops[-1], "break")
        env = loops.pop()
        try:
            self.otherwise(stop, broken)
            for rest in self._rest():
                rest.taken = True
                rest.follow()
        except IradError as e:
            self.after = e
            raise
        finally:
            loops.append(env)

    def _rest(self) -> list[Rest]:
        """What follows the loop."""
        rest = self.r.frame.rest
        return rest.chain() if rest is not None and rest.stmt is self.loop.stmt else []

    def _live(self) -> Live:
        found = self._rest()
        return found[-1].live if found else self.loop.after


def follows(r: Reader, e: BaseException) -> bool:
    """Is the function read again for this error, with loops in which arrays are followed?"""
    return isinstance(e, AliasError) and not r.doubtful <= r.tracked
