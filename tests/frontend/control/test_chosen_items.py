"""Items of lists, tuples and strings at a position that depends on data: plain Python beside the compiled function, and slopes."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.41, 0.71, 0.92])
EDGES = [(0, 1), (1, 2), (2, 0), (0, 2)]


def pairs_in_random_order(x: np.ndarray) -> Any:
    total = 0.0
    for i in np.random.RandomState(0).permutation(4):
        a, b = EDGES[i]
        total = total + x[a] * x[b] ** 2
    return total


def numbers_of_two_classes(x: np.ndarray) -> Any:
    table = [0, 1.5] + [v for v in x]
    return table[int(x[0] * 9)] * x[1] + table[-1 - int(x[1] * 3)]


def rows_of_a_table(x: np.ndarray) -> Any:
    table = [[0.0, 1.0, x[0]], [1.0, 0.0, x[1]], [2.0, x[2], 1.0]]
    i, j = int(x[0] * 4), int(x[1] * 3)
    return table[i][j] * 3 + table[j][i]


def many_rows_with_a_constant_column(x: np.ndarray) -> Any:
    rows = [(i, 0.5 * i, "cm") for i in range(40)]
    i = int(x[0] * 10)
    k, v, unit = rows[i]
    return k * x[0] + v * x[2] + len(unit)


def arrays(x: np.ndarray) -> Any:
    parts = [np.array([1.0, 2.0]), x[:2], x[1:]]
    return np.sum(parts[int(x[0] * 5)] ** 2)


def a_string_by_letter(x: np.ndarray) -> Any:
    letter = "CDEFGHJKLMNPQRSTUVWXX"[int(x[0] * 30)]
    north = letter.lower() >= "n"
    return x[1] * 2 if north else x[2] * (1 + letter.isupper())


def parts_of_a_chosen_string(x: np.ndarray) -> Any:
    s = ["ab", "b", "cde"][int(x[0] * 4)]
    return (
        x[0] * len(s)
        + (x[1] if "b" in s else x[2])
        + (x[1] if s[0] == "b" else 0.0)
        + (2.0 if s.upper().startswith("B") else 3.0)
    )


def a_spline(x: np.ndarray) -> Any:
    knots, slopes = [v for v in x], [1.0, x[0], 2.0]
    total = 0.0
    for k in range(6):
        i = max(bisect.bisect(knots, 0.15 * k) - 1, 0)
        total += knots[i] + slopes[i] * k
    return total


def out_of_range(x: np.ndarray) -> Any:
    try:
        return [(1, 2), (3, 4)][int(x[0] * 10)][0] * x[0]
    except IndexError as e:
        return x[1] * len(str(e))


PLACES = {"low": 1, "high": 2, "top": 3, "over": 3}


def places_that_a_name_leads_to(x: np.ndarray) -> Any:
    name = "low"
    if x[0] > 0.9:
        name = "over"
    elif x[0] > 0.1:
        name = "high"
    found = (name, x[0] * 2, x[1] * 3, [x[2]])
    picked = [name, x[1], x[2] ** 2, x[0]][PLACES[name]]
    return picked * x[0] + found[1 if x[1] > 0.5 else -2]


PROGRAMS = [
    pairs_in_random_order, numbers_of_two_classes, rows_of_a_table, many_rows_with_a_constant_column, arrays, a_string_by_letter,
    parts_of_a_chosen_string, a_spline, out_of_range, places_that_a_name_leads_to,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_slope(f: Any) -> None:
    value, slope = irad.compile(f).value_and_grad(X)
    assert np.isclose(value, f(X), rtol=1e-14)
    e = np.eye(3) * 1e-6
    np.testing.assert_allclose(slope, [(f(X + d) - f(X - d)) / 2e-6 for d in e], rtol=1e-6, atol=1e-8)


def test_an_argument_is_known_rather_than_chosen() -> None:
    """A whole number of the arguments: another program for another value, with the item itself."""

    def f(x: np.ndarray, k: int) -> Any:
        return [np.sin, np.cos][k](x[0])

    c = irad.compile(f)
    assert c(X, 0) == np.sin(X[0]) and c(X, 1) == np.cos(X[0])


def test_what_is_made_of_a_chosen_list_keeps_it_as_it_is() -> None:
    def f(x: np.ndarray) -> Any:
        rows = ([1.0, 2.0], [3.0, 4.0])
        pair = (rows[int(x[0] * 4)], x[0])
        rows[1][0] = x[1]
        return pair[0][0] * x[2]

    with pytest.raises(irad.UnsupportedError, match="a list is changed that is one of several"):
        irad.compile(f)(X)
