"""A case: one generated program as the text of a Python file that checks itself; how it is run, and what counts as a fault."""

from __future__ import annotations

import linecache
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from irad.errors import IradError, ParseError, VerifyError

OURS = (VerifyError, ParseError)  # errors that no user's program may see


@dataclass(frozen=True)
class Case:
    """`source`: a Python module whose `main()` raises if irad is wrong, and lets irad's own errors through, which are refusals
    if they name a line. `features`: those that it has, for the coverage. `without`: passes that are left out.
    """

    generator: str
    seed: int
    source: str
    features: frozenset[str] = frozenset()
    without: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The case as a file to run on its own, from the top of the repository: `PYTHONPATH=. python FILE`."""
        return f'"""{self.generator}, seed {self.seed}."""\n{self.source}\n\nif __name__ == "__main__":\n    main()\n'


class Fault(AssertionError):
    """What a check found wrong."""


def check(case: Case) -> str:
    """Run `main` of the case: "ok", or "refused: reason" for an error of irad at a line of the user's. Raises for a fault."""
    main = load(case.source, f"<{case.generator} {case.seed}>")["main"]
    try:
        main()
    except OURS:
        raise
    except IradError as e:
        if e.loc is None:
            raise Fault(f"refused without a line: {type(e).__name__}: {e.message}") from e
        return f"refused: {e.message.splitlines()[0]}"
    return "ok"


def load(source: str, name: str) -> dict[str, Any]:
    """The names that a source defines. The source can be read by `inspect`, as irad does."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"__name__": "case", "__file__": name}
    exec(compile(source, name, "exec"), space)
    return space


def swarm(seed: int, names: Iterable[str]) -> frozenset[str] | None:
    """The features that the case of this seed may have: all in one of four cases (None), else some, few or many."""
    r = random.Random(f"swarm {seed}")
    if r.random() < 0.25:
        return None
    keep = r.uniform(0.2, 0.9)
    return frozenset(n for n in names if r.random() < keep)
