"""`python -m tests.mutation [NAME ...] [--seconds S] [--seed S] [--machine "NAMES"]`: which machine finds what is taken out, and when."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tests.fuzz.runner import Worker
from tests.mutation import Mutant
from tests.mutation.mutants import MUTANTS
from tests.support import ROOT

COPIED = ("irad", "passes", "codegen", "tests", "docs", "pyproject.toml")


def main() -> int:
    p = argparse.ArgumentParser(prog="python -m tests.mutation", description="Take mends out, and look for the faults.")
    p.add_argument("names", nargs="*", help="of mutants (default: all)")
    p.add_argument("--seconds", type=float, default=600.0, help="of the processor for each (default 600)")
    p.add_argument("--seed", type=int, default=int(time.time()), help="of the first program (default: a fresh one)")
    p.add_argument("--machine", help="generators, or arguments of pytest, instead of those of the table")
    a = p.parse_args()
    chosen = [m for m in MUTANTS if not a.names or m.name in a.names]
    missed = 0
    for m in chosen:
        m = replace(m, machine=a.machine or m.machine)
        with tempfile.TemporaryDirectory(prefix="irad-mutant-") as folder:
            root = copied(Path(folder))
            m.apply(root)
            began = _processor()
            found = _tested(m, root, a.seconds) if m.pytest else _searched(m, root, a.seconds, a.seed)
        missed += found is None
        print(f"{m.name}: {found or 'NOT FOUND'}; {_processor() - began:.0f} s ({m.machine})", flush=True)
    return min(missed, 1)


def copied(root: Path) -> Path:
    """What is tested, below a folder."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, symlinks=True)
        else:
            shutil.copy2(ROOT / name, root / name)
    return root


def _processor() -> float:
    """Seconds of the processor that ended child processes have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def environment(m: Mutant, root: Path) -> dict[str, str]:
    """Of a process that runs what is below `root`."""
    memory = {"IRAD_CHECK": "memory"} if m.memory else {}
    return {**os.environ, "PYTHONPATH": str(root), "IRAD_CACHE": "0", "IRAD_VERIFY": "1", **memory}


def _tested(m: Mutant, root: Path, seconds: float) -> str | None:
    """The first test that fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *m.machine.split()]
    try:
        run = subprocess.run(
            command, cwd=root, env=environment(m, root), capture_output=True, text=True, timeout=20 * seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if run.returncode not in (0, 1):  # no test was run
        return f"pytest ends with {run.returncode}: {(run.stdout + run.stderr)[-2000:]}"
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0][:200] if failed else None


def _searched(m: Mutant, root: Path, seconds: float, first: int) -> str | None:
    """The first program that is a fault of the copy, or refused by it, and neither of what it is a copy of."""
    names, k, busy = m.machine.split(), 0, 0.0
    mutated, whole = Worker(root, environment(m, root)), Worker(ROOT, environment(m, ROOT))
    try:
        while busy < seconds:
            for name in names:
                request = {"generator": name, "seed": first + k, **({"features": m.features} if m.features else {})}
                found = mutated.ask(request)
                busy += mutated.taken
                what = found.get("fault") or found["outcome"]
                if what != "ok" and whole.ask(request).get("outcome") == "ok":
                    return f"{name}, seed {first + k}, {k * len(names) + names.index(name) + 1} programs: {what[:150]}"
            k += 1
    finally:
        mutated.close()
        whole.close()
    return None


if __name__ == "__main__":
    raise SystemExit(main())
