"""The listings in docs/*.md: python blocks run, all of a file in one namespace; irad blocks parse and verify."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from irad.core.text import parse, show
from irad.core.verify import verify
from irad.ops import OPS
from tests.support import ROOT

FILES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("README.md")])


def blocks(path: Path, language: str) -> Iterator[tuple[int, str]]:
    """(line of the first code line, code) of each fenced block."""
    text = path.read_text(encoding="utf-8")
    for m in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, m.start(1)) + 1, m[1]


SAYS_SIZES = {"explain"}  # pages that show sizes of memory, which are others in code that checks it
PAGES = [pytest.param(p, marks=[pytest.mark.plain] * (p.stem in SAYS_SIZES), id=p.stem) for p in FILES]


@pytest.mark.parametrize("path", PAGES)
def test_python_blocks_run(path: Path) -> None:
    """Compiled at their own lines of the file, so tracebacks, and whatever reads source, find them there."""
    namespace: dict[str, Any] = {"__name__": f"docs_{path.stem.replace('-', '_')}"}
    known = set(OPS)
    try:
        for line, code in blocks(path, "python"):
            exec(compile("\n" * (line - 1) + code, str(path), "exec"), namespace)
    finally:
        for name in set(OPS) - known:  # ops that a listing defines are its own
            del OPS[name]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_irad_blocks_parse(path: Path) -> None:
    for line, code in blocks(path, "irad"):
        program = verify(parse(code, f"{path.name}, block at line {line}"))
        assert show(parse(show(program))) == show(program)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_fences_have_a_language(path: Path) -> None:
    """A block without a language would not be run by accident: say `text` or `sh` where nothing is to run."""
    fences = re.findall(r"^```(\w*)(?: after the diff)?$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert all(fences[::2]) and not any(fences[1::2]), f"{path.name}: opening fences name a language, closing ones do not"


def test_there_are_listings() -> None:
    names = {p.stem for p in FILES if any(True for _ in blocks(p, "python"))}
    assert {"ir", "add-a-pass", "add-an-op"} <= names


def test_environment_variables_are_documented() -> None:
    code = "".join(p.read_text(encoding="utf-8") for d in ("irad", "codegen", "passes") for p in (ROOT / d).rglob("*.py"))
    names = set(re.findall(r'"(IRAD_[A-Z_]+)"', code))
    text = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert names and all(f"`{name}" in text for name in names)


def test_operations_without_derivative_have_a_reason() -> None:
    text = (ROOT / "docs" / "edges.md").read_text(encoding="utf-8").split("## Operations without a derivative")[1]
    without = {op.name for op in OPS.values() if op.vjp is None and op.jvp is None and op.effects == "none" and not op.regions}
    assert "callback" in OPS and all(f"`{name}`" in text for name in ("callback", "pure_callback", "loop", "load")), without


def test_page_of_passes_is_up_to_date() -> None:
    """Run docs/passes_table.py where this fails."""
    script = ROOT / "docs" / "passes_table.py"
    made = runpy.run_path(str(script))
    assert (script.parent / "passes.md").read_text(encoding="utf-8") == made["page"]()


def test_page_of_the_architecture_is_up_to_date() -> None:
    """Run docs/architecture_page.py where this fails."""
    script = ROOT / "docs" / "architecture_page.py"
    assert (script.parent / "architecture.md").read_text(encoding="utf-8") == runpy.run_path(str(script))["page"]()
