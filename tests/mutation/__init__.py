"""Mutation testing: a mend is taken out in a copy of the repository, and the machines of docs/testing.md look for the fault.

`python -m tests.mutation [NAME ...]` does it; `tests/mutation/mutants.py` lists what is taken out, and which machine finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """`edits`: (file, text, what stands there instead); a text is found exactly once. `machine`: generators of `tests.fuzz`, which take
    turns, or arguments of pytest. `memory`: in code that checks its memory. `features`: what all programs have, where few
    of a whole swarm have it."""

    name: str
    kind: str  # of fault, for the table
    edits: tuple[tuple[str, str, str], ...]
    machine: str
    memory: bool = False
    features: tuple[str, ...] = ()

    @property
    def pytest(self) -> bool:
        return self.machine.startswith("tests/")

    def apply(self, root: Path) -> None:
        """Change the files below `root`. Raises ValueError if a text is not there exactly once."""
        for file, old, new in self.edits:
            path = root / file
            text = path.read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: {file} has {text.count(old)} times\n{old}")
            path.write_text(text.replace(old, new), encoding="utf-8")
