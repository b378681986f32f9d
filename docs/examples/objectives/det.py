"""The determinant by expansion along the first remaining row; columns leave and come back in a linked list."""

from __future__ import annotations

from typing import Any

import numpy as np


def minor(A: Any, following: Any, row: int, size: int) -> Any:
    """The determinant of the rows from `row` on and the columns in the list, of which position `size` is the head."""
    if row == size:
        return 1.0
    total, sign, before = 0.0, 1.0, size
    for _ in range(size - row):
        column = following[before]
        following[before] = following[column]
        total += sign * A[row, column] * minor(A, following, row + 1, size)
        following[before] = column
        before, sign = column, -sign
    return total


def determinant(A: Any) -> Any:
    """Of A (l, l), as l! products."""
    size = len(A)
    following = np.arange(1, size + 2)
    following[size] = 0
    return minor(A, following, 0, size)


def generate(size: int, seed: int = 0) -> tuple[Any, ...]:
    return (np.random.default_rng(seed).normal(size=(size, size)),)
