"""docs/numpy.md and docs/scipy.md are what their generators write."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys

import numpy as np
import pytest
import scipy

from tests.support import ROOT


def test_docs_table_is_up_to_date() -> None:
    """Run docs/numpy_table.py where this fails. The committed table is that of the newest NumPy."""
    script = ROOT / "docs" / "numpy_table.py"
    made = runpy.run_path(str(script))
    text = (script.parent / "numpy.md").read_text(encoding="utf-8")
    if f"for NumPy {'.'.join(np.__version__.split('.')[:2])};" in text:
        assert text == made["table"]()
    for name in ("sum", "sort", "det", "fft"):
        assert f"| `{name}` | works |" in text


def test_the_table_of_functions_is_up_to_date() -> None:
    """Run docs/scipy_table.py where this fails. The committed table is that of the newest SciPy."""
    script = ROOT / "docs" / "scipy_table.py"
    if f"for SciPy {'.'.join(scipy.__version__.split('.')[:2])};" not in script.with_name("scipy.md").read_text(encoding="utf-8"):
        pytest.skip("another SciPy")
    run = subprocess.run(
        [sys.executable, str(script), "--check"], cwd=script.parents[1], env={**os.environ, "PYTHONPATH": "."}, check=False
    )
    assert run.returncode == 0
