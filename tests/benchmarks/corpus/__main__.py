"""Programs that nobody tuned irad to: right numbers, and how long they take beside NumPy and Numba.

    python -m tests.benchmarks.corpus                       all; or names
    python -m tests.benchmarks.corpus --out last.json       keeps the records
    python -m tests.benchmarks.corpus --write               and writes the table in docs/corpus.md

CPU time of one thread; irad, NumPy and Numba take turns; a time is the least of some blocks. Each program has a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.corpus import table

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "IRAD_CACHE": "0"}


def one(name: str, seconds: float) -> None:
    from tests.benchmarks.corpus.measure import measured
    from tests.benchmarks.corpus.programs import PROGRAMS

    program = PROGRAMS[name]
    for n in program.sizes:
        print(json.dumps(measured(program, n, seconds)), flush=True)


def records(names: list[str], seconds: float, out: Path | None) -> list[dict[str, Any]]:
    found = []
    for name in names:
        command = [sys.executable, "-m", "tests.benchmarks.corpus", name, "--here", "--seconds", str(seconds)]
        done = subprocess.run(command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or [f"signal {-done.returncode}"])[-1]
            lines.append({"name": name, "n": 0, "failed": reason})
            print(name, done.stderr, sep="\n", file=sys.stderr)
        for line in lines:
            print(table.line(line), flush=True)
        found += lines
        if out:
            out.write_text("".join(json.dumps(r) + "\n" for r in found))
    return found


def main() -> None:
    from tests.benchmarks.corpus.programs import PROGRAMS

    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*")
    options.add_argument("--here", action="store_true", help="in this process, records as lines")
    options.add_argument("--seconds", type=float, default=1.0)
    options.add_argument("--out", type=Path)
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    names = chosen.names or list(PROGRAMS)
    if chosen.here:
        for name in names:
            one(name, chosen.seconds)
        return
    found = records(names, chosen.seconds, chosen.out)
    print(table.summary(found))
    if chosen.write:
        table.write(table.PROGRAMS, [*table.rows(found), "", table.summary(found)])


if __name__ == "__main__":
    main()
