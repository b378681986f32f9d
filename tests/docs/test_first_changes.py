"""The three first changes that the docs show as diffs: each is applied to a copy of the package, where what the page says of it must hold."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT


def changed(text: str, hunk: list[str]) -> str:
    """The text with a hunk of a diff: lines that start with " " or "-" are there, once, and those with " " or "+" replace them."""
    old = "\n".join(line[1:] for line in hunk if line[:1] in " -")
    new = "\n".join(line[1:] for line in hunk if line[:1] in " +")
    assert not text or text.count(old) == 1, f"found {text.count(old)} times:\n{old}"
    return text.replace(old, new) if text else new + "\n"


def apply(diff: str, root: Path) -> list[Path]:
    """The files that a diff has changed below `root`."""
    files = []
    for part in re.split(r"^--- .*\n", diff, flags=re.MULTILINE)[1:]:
        head, *hunks = re.split(r"^@@\n", part, flags=re.MULTILINE)
        path = root / head.strip().removeprefix("+++ b/")
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for hunk in hunks:
            text = changed(text, hunk.rstrip("\n").split("\n"))
        path.write_text(text, encoding="utf-8")
        files.append(path)
    return files


@pytest.mark.parametrize("page, places", [("add-an-op", 1), ("add-a-pass", 3), ("add-a-numpy-function", 1)])
def test_the_diff_on_the_page_works(page: str, places: int, tmp_path: Path) -> None:
    for folder in ("irad", "passes", "codegen"):
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    (diff,) = re.findall(r"^```diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (check,) = re.findall(r"^```python after the diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    script = tmp_path / "check.py"
    script.write_text(check)
    before = subprocess.run(
        [sys.executable, str(script)], cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert before.returncode != 0  # it is the diff that makes it hold
    assert len(apply(diff, tmp_path)) == places
    after = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert after.returncode == 0, after.stderr
