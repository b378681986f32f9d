"""Derivatives of random programs: nested branches, loops, in-place stores, recursion, checkpoints, inner gradients."""

from __future__ import annotations

import numpy as np
import pytest

from irad.core.interp import interpret
from irad.core.verify import verify
from irad.passes.clean.dce import dce
from irad.passes.derivatives.expand import expand
from tests.support.agree import halves_agree
from tests.support.derivatives import check
from tests.support.random_programs import Maker, N


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6, 7, 8])
def test_random_program(seed: int) -> None:
    program = Maker(seed).program()
    rng = np.random.default_rng(seed)
    args = [rng.uniform(-1, 1), rng.uniform(-1, 1, N), np.int64(2)]
    plain = expand(verify(program))
    y = interpret(plain, *args)
    np.testing.assert_array_equal(interpret(verify(dce(plain)), *args), y)
    check(program, args, rtol=1e-5, h=1e-6)
    halves_agree(program, args, 1.0)
