"""Greedy colouring: columns of a Jacobian that one sweep can compute together.

Curtis, Powell and Reid 1974 (columns that share no row); Coleman and Moré 1984 and Gebremedhin, Manne and Pothen, "What
colour is your Jacobian?", SIAM Review 2005 (star colouring, which uses the symmetry of a Hessian).
"""

from __future__ import annotations

import numpy as np

from irad.passes.analyses.pattern import Pattern


def columns(p: Pattern) -> np.ndarray:
    """A colour for each column so that no row has two columns of one colour."""
    by_column = p.transposed()
    rows_of = [by_column.cols[a:b].tolist() for a, b in zip(by_column.starts[:-1], by_column.starts[1:])]
    taken = [0] * p.rows  # the colours in each row, as bits
    colour = np.zeros(p.width, np.int64)
    for c in np.argsort([-len(r) for r in rows_of], kind="stable").tolist():
        used = 0
        for r in rows_of[c]:
            used |= taken[r]
        first = ~used & (used + 1)
        colour[c] = first.bit_length() - 1
        for r in rows_of[c]:
            taken[r] |= first
    return colour


def star(p: Pattern) -> np.ndarray:
    """A colour for each column of a symmetric pattern: neighbours differ, and every path of four has three colours."""
    near = [set(p.cols[a:b].tolist()) - {r} for r, (a, b) in enumerate(zip(p.starts[:-1], p.starts[1:]))]
    colour = [-1] * p.width
    for v in sorted(range(p.width), key=lambda r: -len(near[r])):
        used = set()
        for w in near[v]:
            if colour[w] >= 0:
                used.add(colour[w])
            for x in near[w]:
                if x != v and colour[x] >= 0 and (colour[w] < 0 or _repeats(near[x], colour, w)):
                    used.add(colour[x])
        colour[v] = _free(used)
    return np.array(colour, np.int64)


def _repeats(near: set[int], colour: list[int], w: int) -> bool:
    """Is there another neighbour of w's colour?"""
    return any(y != w and colour[y] == colour[w] for y in near)


def _free(used: set[int]) -> int:
    k = 0
    while k in used:
        k += 1
    return k


def recovery(p: Pattern, colour: np.ndarray, symmetric: bool) -> tuple[np.ndarray, np.ndarray]:
    """For each entry of the pattern, in its order, the colour and the row of the compressed columns that hold it."""
    rows, cols = p.row_of(), p.cols
    if not symmetric:
        return colour[cols], rows
    keys, counts = np.unique(rows * p.width + colour[cols], return_counts=True)
    alone = counts[np.searchsorted(keys, rows * p.width + colour[cols])] == 1
    return np.where(alone, colour[cols], colour[rows]), np.where(alone, rows, cols)
