"""Textbook kernels, unmodified NumPy, mean the same when read: values and every array they change."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from tests.support import ROOT
from tests.support.as_called import check

KERNELS = []
for _path in sorted((ROOT / "tests" / "kernels").glob("*.py")):
    _spec = importlib.util.spec_from_file_location(f"kernels_{_path.stem}", _path)
    _module = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(_module)
    KERNELS += _module.CASES


def test_there_are_enough():
    assert len(KERNELS) >= 40


@pytest.mark.parametrize("fn, make", KERNELS, ids=[f.__name__ for f, _ in KERNELS])
def test_value_and_changed_arrays(fn, make):
    """Equal to NumPy up to the order of sums, for the traced arguments and, without tracing again, for others."""
    first, second = make(np.random.default_rng(0)), make(np.random.default_rng(1))
    check(fn, *first, exact=False, kinds=False, others=(second,))
