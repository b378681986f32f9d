"""The size of a register tile: how many rows and columns of sums stay in registers at once.

With r rows of v vectors, a step of the inner axis loads v vectors and r broadcast scalars for r*v multiply-adds. Two of either
start per cycle, so a step takes about max(r*v, r + v)/2 cycles; fewer than 8 sums leave the adders' latency uncovered. Where a
vector is two or four registers of the machine, it takes as many loads, multiply-adds and registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod

from irad.codegen.jit import WIDE, Registers
from irad.core.lazy_dataclass import dataclass

REGISTERS = 28  # sums of 32 registers: the rest hold the loaded vectors and a broadcast
LATENCY = 8  # multiply-adds in flight
VARIANT = 100_000  # cycles that another piece of code (for rows or columns left over) must save: what compiling it costs, shared


@dataclass(frozen=True)
class Tile:
    """`rows` per row axis, `columns` (a multiple of `lanes` unless that is all there are), and the lanes of a vector."""

    rows: tuple[int, ...]
    columns: int
    lanes: int


@dataclass(frozen=True)
class Room:
    """The registers of a machine, for numbers of so many bytes."""

    registers: Registers = WIDE
    itemsize: int = 8

    def most(self, v: int, lanes: int, groups: int) -> int:
        """How many rows of v vectors stay in registers."""
        width = self.registers.of(lanes, self.itemsize)
        free = REGISTERS if self.registers.count >= 32 and width == 1 else self.registers.count - 1 - v * width
        return free // (v * width * groups)


DEFAULT = Room()


def choose_tile(rows: Sequence[int], columns: int, lanes: int, groups: int, steps: int, room: Room = DEFAULT) -> Tile:
    """The cheapest tile for a result of these extents, with `groups` sums per element; the inner axes take `steps` steps in all."""
    while lanes > 1 and lanes // 2 >= columns:
        lanes //= 2
    heights, columns_ = _choose(tuple(rows), columns, lanes, groups, steps, room)
    return Tile(heights, min(columns_ * lanes, columns), lanes)


@cache
def _choose(rows: tuple[int, ...], columns: int, lanes: int, groups: int, steps: int, room: Room) -> tuple[tuple[int, ...], int]:
    vectors, width = -(-columns // lanes), room.registers.of(lanes, room.itemsize)
    best: tuple[float, tuple[int, ...], int] | None = None
    for v in range(1, max(1, min(vectors, 6)) + 1):
        most = room.most(v, lanes, groups)
        if v > 1 and most < 1:
            break
        for heights in _heights(rows, max(1, most)):
            cycles, variants = _cost(rows, heights, vectors, v, groups, width)
            cost = cycles * steps + VARIANT * variants
            if best is None or cost < best[0]:
                best = (cost, heights, v)
    assert best is not None
    return best[1], best[2]


def _heights(rows: tuple[int, ...], most: int) -> list[tuple[int, ...]]:
    """Tile extents along the row axes with at most `most` rows: the last axes whole, then a part of one, then 1 each."""
    out = []
    for k in range(len(rows)):
        whole = prod(rows[k + 1 :])
        if whole > most:
            continue
        out += [(*(1 for _ in rows[:k]), h, *rows[k + 1 :]) for h in range(1, min(rows[k], most // whole) + 1)]
    return out


def _cost(rows: tuple[int, ...], heights: tuple[int, ...], vectors: int, v: int, groups: int, width: int) -> tuple[float, int]:
    """Cycles per step of the inner axis over all tiles, and the number of pieces of code."""
    total, variants = 0.0, 1
    blocks: list[tuple[int, int]] = [(1, 1)]  # (how many tiles, rows in each)
    for n, h in zip(rows, heights):
        parts = [(n // h, h)] + ([(1, n % h)] if n % h else [])
        variants *= len(parts)
        blocks = [(c * d, r * s) for c, r in blocks for d, s in parts]
    widths = [(vectors // v, v)] + ([(1, vectors % v)] if vectors % v else [])
    variants *= len(widths)
    for count, r in blocks:
        for many, w in widths:
            sums = w * groups * width
            step = max(r * sums, r + sums, LATENCY) / 2 + 0.5
            total += count * many * step
    return total, variants
