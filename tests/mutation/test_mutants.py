"""Each mutant can still be made: its texts are in their files, and what it makes of them is Python."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.fuzz.runner import generators
from tests.mutation.mutants import MUTANTS, OPEN
from tests.support import ROOT


@pytest.mark.parametrize("m", MUTANTS, ids=lambda m: m.name)
def test_applies(m) -> None:
    texts: dict[str, str] = {}
    for file, old, new in m.edits:
        text = texts.get(file) or (ROOT / file).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file} has this {text.count(old)} times:\n{old}"
        texts[file] = text.replace(old, new)
    for text in texts.values():
        ast.parse(text)


def test_page_names_what_was_found() -> None:
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    assert not [m.name for m in MUTANTS if (f"`{m.name}`" in page) == (m.name in OPEN)]


def test_machines_are_there() -> None:
    names, known = Counter(m.name for m in MUTANTS), set(generators())
    assert not [n for n, count in names.items() if count > 1] and names.keys() >= OPEN
    for m in MUTANTS:
        if m.pytest:
            assert all((ROOT / word).exists() for word in m.machine.split() if word.startswith("tests/"))
        else:
            assert set(m.machine.split()) <= known, m.name
