"""Signatures are kept: mypy and pyright accept what is right in typed_sample.py, and refuse the lines that say `# error`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

SAMPLE = Path(__file__).with_name("typed_sample.py")
WRONG = {k for k, line in enumerate(SAMPLE.read_text(encoding="utf-8").splitlines(), 1) if line.endswith("# error")}


@pytest.mark.slow  # mypy reads the package
def test_mypy() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports", "--follow-imports=silent", str(SAMPLE)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = {int(m) for m in re.findall(rf"{SAMPLE.name}:(\d+): error", run.stdout)}
    assert found == WRONG and len(WRONG) == 4, run.stdout + run.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright() -> None:
    command = ["pyright", "--outputjson", "--pythonpath", sys.executable, str(SAMPLE)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [d for d in json.loads(run.stdout)["generalDiagnostics"] if d["severity"] == "error"]
    assert {d["range"]["start"]["line"] + 1 for d in errors} == WRONG, errors
