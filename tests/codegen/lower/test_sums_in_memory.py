"""Sums of rows into memory, of which several trips are added up before the destination is loaded and stored."""

from __future__ import annotations

import numpy as np
import pytest

import irad

# Of 17 rows; some several times, next to each other too.
TWICE = np.array([0, 3, 3, -17, -3, 14, 14, 1, -1, 5, 5, 5, 5, 16, 2, 0, 9])


@pytest.mark.parametrize("columns", [1, 3, 4, 8, 17])
def test_rows_that_an_array_chooses_are_summed_one_by_one(columns: int) -> None:
    x = np.arange(17.0 * columns).reshape(17, columns)
    times = np.bincount(TWICE % 17, minlength=17)[:, None]
    np.testing.assert_allclose(irad.grad(lambda x: np.sum(x[TWICE] ** 2))(x), 2 * times * x)


def test_stores_at_chosen_rows() -> None:
    def counted(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        out = np.zeros((5, 6))
        for i in range(len(rows)):
            out[rows[i]] += x[i]
        return out

    x, rows = np.arange(66.0).reshape(11, 6), np.array([4, 4, 4, 4, 0, 1, 1, 0, 2, 2, 2])
    np.testing.assert_array_equal(irad.compile(counted)(x, rows), counted(x, rows))


def test_all_rows_into_one() -> None:
    x = np.arange(88.0).reshape(11, 8)
    np.testing.assert_allclose(irad.compile(lambda x: x.sum(axis=0))(x), x.sum(axis=0))
