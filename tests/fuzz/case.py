"""A case: one generated program as the text of a Python file that checks itself; how it is run, and what counts as a fault."""

from __future__ import annotations

import linecache
import random
import re
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from irad.core.switches import SWITCHES, without
from irad.errors import IradError, ParseError, VerifyError

RULES = re.compile(
    r"must yield equal types|spec has \d+ items|is not defined here|which is not in scope"
)  # of graphs, not of Python
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
        run = "    main()\n"
        if self.without:
            names = ", ".join(map(repr, self.without))
            run = f"    from irad.core.switches import without\n\n    with without({names}):\n        main()\n"
        return f'"""{self.generator}, seed {self.seed}."""\n\n{self.source}\n\nif __name__ == "__main__":\n{run}'


class Fault(AssertionError):
    """What a check found wrong."""


def check(case: Case) -> str:
    """Run `main` of the case: "ok", or "refused: reason" for an error of irad at a line of the user's. Raises for a fault."""
    main = load(case.source, f"<{case.generator} {case.seed}>")["main"]
    try:
        with without(*case.without):
            main()
    except OURS:
        raise
    except IradError as e:
        if RULES.search(e.message):
            raise Fault(f"refused by a rule of the graph: {e.message}") from e
        if e.loc is None:
            raise Fault(f"refused without a line: {type(e).__name__}: {e.message}") from e
        return f"refused: {e.message.splitlines()[0]}"
    return "ok"


def load(source: str, name: str) -> dict[str, Any]:
    """The names that a source defines. The source can be read by `inspect`, as irad does."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    module = types.ModuleType("case")
    sys.modules["case"] = module  # where dataclasses look
    module.__file__ = name
    exec(compile(source, name, "exec"), vars(module))
    return vars(module)


def swarm(seed: int, names: Iterable[str]) -> frozenset[str] | None:
    """The features that the case of this seed may have: all in one of four cases (None), else some, few or many."""
    r = random.Random(f"swarm {seed}")
    if r.random() < 0.25:
        return None
    keep = r.uniform(0.2, 0.9)
    return frozenset(n for n in names if r.random() < keep)


def left_out(seed: int) -> tuple[str, ...]:
    """The parts of the compiler that the case of this seed runs without: none in half of the cases, else a few."""
    r = random.Random(f"without {seed}")
    if r.random() < 0.5:
        return ()
    share = r.choice((0.05, 0.15, 0.4))
    return tuple(n for n in SWITCHES if r.random() < share)
