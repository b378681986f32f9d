"""`python -m tests.fuzz [--generator NAME] [--minutes M | --count N] [--seed S] [--jobs J] [--out FOLDER]`"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from tests.fuzz import coverage
from tests.fuzz.runner import Run, generators


def main() -> int:
    p = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Run programs that nobody wrote.")
    p.add_argument("--generator", action="append", metavar="NAME", help="one generator (default: all); may be repeated")
    length = p.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, help="for so long")
    length.add_argument("--count", type=int, help="so many programs of each generator (default 100)")
    p.add_argument("--seed", type=int, default=0, help="of the first program (default 0)")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    p.add_argument("--out", type=Path, help="folder for reproducers (default: a new temporary one)")
    p.add_argument("--coverage", action="store_true", help="what of ops, passes and schedules was met")
    a = p.parse_args()
    names = generators()
    if unknown := set(a.generator or ()) - set(names):
        p.error(f"there is no generator {', '.join(unknown)}; there are {', '.join(names)}")
    count = a.count if a.count or a.minutes else 100
    until = None if a.minutes is None else time.monotonic() + 60 * a.minutes
    out = a.out or Path(tempfile.mkdtemp(prefix="irad-fuzz-"))
    run = Run(a.generator or names, a.seed, count, until, out, a.coverage)
    found = run.go(a.jobs)
    for name, counts in found.items():
        print("\n".join(counts.lines(name)))
    if a.coverage:
        print("\n".join(coverage.report(run.seen)))
    return 1 if any(c.faults for c in found.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
