"""Checkpoints for long loops: when the states that a backward reads are too much to keep, which of them to keep.

A loop is run in *blocks* of trips. The forward keeps what the loop carries at the start of each block; the backward runs one
block again with a tape and sweeps it, then the block before. At the price of one more run of the loop, with the same bits, the
memory grows as the square root of the trips (Chen et al., "Training deep nets with sublinear memory cost", 2016). Where only the
run says how many trips there are, the first block is taped right away, and is as long as a budget permits: a loop within the
budget costs nothing more. Trips that need nothing of those before are blocks of their own: the backward runs each again, and what
it keeps for a trip is used at once. The blocks of a `while` grow one after the other, which keeps O(sqrt(n)) states *online*,
with n unknown to the end (Stumm and Walther, "New algorithms for optimal online checkpointing", 2010, keep fewer and copy more).

Under a budget that the user gives, a block that does not fit is divided again and again in the backward: several levels
(Griewank and Walther, "Algorithm 799: revolve", 2000). irad.passes.derivatives.checkpointed builds the loops.
"""

from __future__ import annotations

from math import isqrt

from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass
from irad.core.notes import Notes, size_text
from irad.ops.constant import scalar
from irad.ops.elementwise import cast, maximum, minimum, sqrt

BUDGET = 1 << 22  # bytes of tape that a loop may fill
STATE = 1 << 12  # bytes a trip; loops that save less are never cut
UNKNOWN_STATE = 1 << 10  # the same where only the run says how many trips there are
BLOCK = 8  # trips of a block, at least
GAIN = 16  # a tape shorter than so many checkpoints is kept
SLOTS = 4  # states that a user's budget has room for, at least


@dataclass(frozen=True)
class Asked:
    """What a differentiation is asked for. `budget`: bytes that the tape of a loop may take, from the user; `notes`: see there."""

    budget: int | None = None
    notes: Notes | None = None


NOTHING_ASKED = Asked()


@dataclass(frozen=True)
class Blocks:
    """How a loop is run in blocks. `saved`, `carried`: bytes that a trip saves, and that a checkpoint keeps.

    `first`: trips that are taped right away, 0 for none; `size`: of a block, at least; `ratio`: by how many trips the blocks of a
    `while` grow; `slots`: how many states to keep, None where blocks are run again in one piece.
    """

    saved: int
    carried: int
    first: int
    size: int
    ratio: int
    slots: int | None = None

    @property
    def alone(self) -> bool:
        """Is each trip a block of its own, which starts from nothing?"""
        return self.size == 1 and not self.carried and not self.first and self.slots is None

    def text(self) -> str:
        """For `explain`."""
        kept = f"checkpoints of {size_text(self.carried)}"
        if self.slots is not None:
            return (
                f"{kept}: about {self.slots} of them; the first {self.first} trips keep {size_text(self.saved)} each, later ones "
                f"run again in blocks of up to {self.size} trips"
            )
        if self.first:
            return (
                f"the first {self.first} trips keep {size_text(self.saved)} each; beyond them {kept}, as many as the square root of "
                "the trips: the backward runs blocks again"
            )
        if self.alone:
            return f"needs no state: the backward runs each trip again, which keeps {size_text(self.saved)}"
        return f"{kept} every {self.size} trips: the backward runs blocks again, which keep {size_text(self.saved)} a trip"


def blocks_of_known(trips: int, saved: int, carried: int, budget: int | None = None, exact: bool = True) -> Blocks | None:
    """For a loop of about (if `exact`, just) so many trips; None if it is better in one piece."""
    whole = trips * saved
    if budget is not None:
        return None if whole <= budget else _within(budget, saved, carried)
    if trips <= 2 * BLOCK or saved < STATE or whole <= BUDGET or whole <= GAIN * carried:
        return None
    if not carried:
        return Blocks(saved, 0, 0, 1, 0)
    if not exact:
        return Blocks(saved, carried, 0, BLOCK, -(-carried // saved))
    size = min(max(BLOCK, isqrt(max(1, trips * carried // saved) - 1) + 1), trips)
    return Blocks(saved, carried, 0, size, 0)


def blocks_of_unknown(saved: int, carried: int, budget: int | None = None) -> Blocks | None:
    """For a loop whose trips only the run counts; None if it saves too little to matter."""
    if budget is not None:
        return _within(budget, saved, carried)
    if saved < UNKNOWN_STATE:
        return None
    size = max(BLOCK, BUDGET // saved)
    ratio = -(-carried // saved)
    return Blocks(saved, carried, max(size, GAIN * ratio), size, ratio)


def _within(budget: int, saved: int, carried: int) -> Blocks:
    size, slots = max(1, budget // 2 // saved), max(SLOTS, budget // 2 // max(1, carried))
    return Blocks(saved, carried, size, size, 1, slots)


def size_of_known(blocks: Blocks, left: Value) -> Value:
    """Emit how many trips each block of a `for` has, given the trips after the first block."""
    if not blocks.first and not blocks.ratio:
        return scalar(blocks.size, "i64")
    left = maximum(left, 0)
    if blocks.slots is not None:
        half = max(1, blocks.slots // 2)  # the others are there to divide blocks
        return maximum(blocks.size, _ceil(left, scalar(half, "i64")))
    root = cast(sqrt(cast(left * blocks.ratio, dtype="f64")), dtype="i64")
    return maximum(blocks.size, root)


def size_of_next(blocks: Blocks, number: Value) -> Value:
    """Emit how many trips block `number` (from 0, after the first one) of a `while` has."""
    least = scalar(blocks.size, "i64")
    if blocks.slots is None:
        return maximum(least, number * blocks.ratio)
    beyond = number - blocks.slots // 2  # the others are there to divide blocks
    growth = 1 + maximum(beyond, 0)
    return least * (growth * growth)


def part(blocks: Blocks, trips: Value, held: Value) -> Value:
    """Emit how many trips to run ahead of a block that is too long for a tape, with so many states held: then one more is kept."""
    assert blocks.slots is not None
    free = maximum(blocks.slots - held, 1)
    units = _ceil(trips, scalar(blocks.size, "i64"))
    return minimum(_ceil(units, free + 1), units - 1) * blocks.size


def _ceil(a: Value, b: Value) -> Value:
    """Emit a / b, rounded up."""
    return (a + b - 1) // b


def number_of(left: Value, size: Value) -> Value:
    """Emit how many blocks so many trips are."""
    return _ceil(maximum(left, 0), size)
