"""Programs of every generator with fixed seeds, so that a failure is due to the change at hand. Fresh seeds: tests/soak.sh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.case import load
from tests.fuzz.runner import Run, generators

COUNT = 3  # a test, so that several run side by side
FIRST = (0, 3, 6)
FEWER = {"selections": (0,)}  # each is compiled for several sizes
# Seeds of faults that are known and not mended yet: a mended one goes from here. A comparison of lists of NumPy numbers is a bool, not NumPy's.
KNOWN: dict[str, set[int]] = {"python_meaning": {27}}
if np.__version__.startswith("1."):  # whose spectra of float32 are complex128
    KNOWN["spectra"] = {6}

CASES = [(name, first) for name in generators() for first in FEWER.get(name, FIRST)]


@pytest.mark.slow
@pytest.mark.parametrize("name, first", CASES)
def test_programs_of_fixed_seeds(name: str, first: int, tmp_path: Path) -> None:
    counts = Run([name], first, COUNT, None, None).go(1)[name]
    new = [f for f in counts.faults if f[0] not in KNOWN.get(name, ())]
    assert not new, "\n".join(counts.lines(name))
    assert counts.programs == COUNT
    assert counts.refused.total() < COUNT, "\n".join(counts.lines(name))


@pytest.mark.parametrize("file", sorted((Path(__file__).parent / "programs").glob("*.txt")), ids=lambda f: f.stem)
def test_programs_that_showed_faults(file: Path) -> None:
    """As they were generated, by a generator that may make others of their seeds now."""
    load(file.read_text(encoding="utf-8"), f"<{file.stem}>")["main"]()
