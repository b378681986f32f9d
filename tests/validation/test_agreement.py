"""When two results of one program count as equal."""

from __future__ import annotations

import numpy as np

from irad.validation.agreement import agree, noise


def compared(got: object, f: object, *args: object) -> str:
    """What `got` differs in from f(*args)."""
    want = f(*args)  # type: ignore[operator]
    return agree(got, want, lambda: noise(lambda xs: f(*xs), list(args), want))  # type: ignore[operator]


def test_a_branch_that_rounding_decides_is_no_difference() -> None:
    x = np.array([-0.72, -0.07, -0.51, 0.58])  # the sum of the last three is 0, but for rounding
    assert compared(0.5, lambda x: 0.75 if x[0] > x.sum() else 0.5, x) == ""


def test_a_jump_farther_away_is_a_difference() -> None:
    x = np.array([-0.72, -0.07, -0.51, 0.58001])
    assert compared(0.75, lambda x: 0.75 if x[0] > x.sum() else 0.5, x) != ""


def test_smooth_results_are_compared_to_their_last_bits() -> None:
    x = np.array([0.3, 0.5])
    assert compared(float(np.sin(x).sum()) + 1e-7, lambda x: float(np.sin(x).sum()), x) != ""
    assert compared(float(np.sin(x).sum()) + 1e-15, lambda x: float(np.sin(x).sum()), x) == ""
