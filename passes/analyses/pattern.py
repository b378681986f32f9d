"""Sparse boolean matrices: for each row the columns it depends on, sorted, in compressed rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Pattern:
    """`cols[starts[r] : starts[r + 1]]` are the columns of row r. Never changed."""

    __slots__ = ("starts", "cols", "width")

    def __init__(self, starts: np.ndarray, cols: np.ndarray, width: int):
        self.starts, self.cols, self.width = starts, cols, width

    @property
    def rows(self) -> int:
        return len(self.starts) - 1

    @property
    def longest(self) -> int:
        """How many columns the row with the most of them has."""
        return int(np.diff(self.starts).max(initial=0))

    @staticmethod
    def unit(rows: int, width: int, first: int) -> Pattern:
        """Row r depends on column first + r."""
        return Pattern(np.arange(rows + 1), first + np.arange(rows), width)

    @staticmethod
    def none(rows: int, width: int) -> Pattern:
        return Pattern(np.zeros(rows + 1, np.int64), np.zeros(0, np.int64), width)

    @staticmethod
    def of(rows: np.ndarray, cols: np.ndarray, count: int, width: int) -> Pattern:
        """From pairs of row and column, in any order, possibly repeated."""
        keys = _distinct(rows * width + cols)
        r = keys // width if width else keys
        return Pattern(np.searchsorted(r, np.arange(count + 1)), keys - r * width, width)

    @staticmethod
    def union(parts: Sequence[Pattern]) -> Pattern:
        """Row by row, of patterns of one shape."""
        if len(parts) == 1 or all(p is parts[0] for p in parts):
            return parts[0]
        if len(parts) == 2 and parts[0] == parts[1]:
            return parts[0]
        rows, cols = np.concatenate([p.row_of() for p in parts]), np.concatenate([p.cols for p in parts])
        return Pattern.of(rows, cols, parts[0].rows, parts[0].width)

    @staticmethod
    def stack(parts: Sequence[Pattern]) -> Pattern:
        """The rows of one after those of the other."""
        starts, end = [np.zeros(1, np.int64)], 0
        for p in parts:
            starts.append(p.starts[1:] + end)
            end += len(p.cols)
        return Pattern(np.concatenate(starts), np.concatenate([p.cols for p in parts]), parts[0].width)

    def row_of(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(self.rows), np.diff(self.starts))

    def taken(self, rows: np.ndarray) -> Pattern:
        """Row k is row rows[k] of this one."""
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        at = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], counts)
        return Pattern(starts, self.cols[at], self.width)

    def kept(self, keep: np.ndarray) -> Pattern:
        """Rows that are not kept depend on nothing."""
        if keep.all():
            return self
        counts = np.where(keep, np.diff(self.starts), 0)
        return Pattern(np.concatenate([[0], np.cumsum(counts)]), self.cols[keep[self.row_of()]], self.width)

    def grouped(self, to: np.ndarray, rows: int) -> Pattern:
        """Row r of this one goes into row to[r] of `rows`."""
        return Pattern.of(to[self.row_of()], self.cols, rows, self.width)

    def related(self, source: np.ndarray, to: np.ndarray, rows: int) -> Pattern:
        """Row to[k] depends on what row source[k] of this one does, for all k."""
        return self.taken(source).grouped(to, rows)

    def transposed(self) -> Pattern:
        order = np.lexsort((self.row_of(), self.cols))
        return Pattern(np.searchsorted(self.cols[order], np.arange(self.width + 1)), self.row_of()[order], self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pattern) or len(self.cols) != len(other.cols) or self.rows != other.rows:
            return False
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.cols, other.cols)

    __hash__ = None  # type: ignore[assignment]


def _distinct(keys: np.ndarray) -> np.ndarray:
    """Sorted, each once. np.unique goes through a hash table, which is several times slower for millions of keys."""
    if np.all(keys[1:] > keys[:-1]):
        return keys
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
