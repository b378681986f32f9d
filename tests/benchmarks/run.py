"""Time irad and its peers: value and all gradients of each workload, on one core, in turn.

    python -m tests.benchmarks.run                          every workload, every peer that is installed
    python -m tests.benchmarks.run chain heat --peers irad,JAX
    python -m tests.benchmarks.run --write                  and put the table into docs/performance.md

Every peer must agree with the hand-written gradient before it is timed. Peers take turns, block by block, in one process; the
time is the median over blocks of the mean time of a call. The first call (tracing and compiling included) is timed apart.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
BEGIN, END = "<!-- table: python -m tests.benchmarks.run --write -->", "<!-- end of table -->"


@dataclass
class Timed:
    """A peer on one case. `calls`: per block; `times`: seconds per call, of each block."""

    peer: str
    run: Callable[[], Any]
    first: float
    calls: int = 1
    times: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.times)


def prepare(peer: str, workload: Any, args: tuple[Any, ...], want: Sequence[Any], block: float) -> Timed | None:
    """The peer, compiled, checked and with a block's number of calls; None if it does not take part."""
    from tests.benchmarks.peers import PEERS

    try:
        start = time.perf_counter()
        run = PEERS[peer](workload, args)
        if run is None:
            return None
        got = run()
        first = time.perf_counter() - start
    except ImportError:
        return None
    check(f"{workload.name}, {peer}", got, want, workload.tolerance)
    run()
    start = time.perf_counter()
    run()
    once = time.perf_counter() - start
    return Timed(peer, run, first, max(1, int(block / once)))


def check(what: str, got: Sequence[Any], want: Sequence[Any], tolerance: float) -> None:
    """Raises SystemExit if a result is off by more than `tolerance` times the largest element."""
    import numpy as np

    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g, float), np.asarray(w, float)
        error = np.max(np.abs(g - w)) / (np.max(np.abs(w)) + 1e-300)
        if g.shape != w.shape or not error <= tolerance:
            raise SystemExit(f"{what} disagrees with the hand-written gradient: {error:.1e}")


def measure(workload: Any, case: str, peers: Sequence[str], rounds: int, block: float) -> list[Timed]:
    """All peers on one case, in turn."""
    import numpy as np

    from tests.benchmarks.peers import with_numpy

    args = workload.make(np.random.default_rng(0), **workload.cases[case])
    by_hand = with_numpy(workload, args)
    assert by_hand is not None
    want = by_hand()
    timed = [t for p in peers if (t := prepare(p, workload, args, want, block)) is not None]
    for _ in range(rounds):
        for t in timed:
            start = time.perf_counter()
            for _ in range(t.calls):
                t.run()
            t.times.append((time.perf_counter() - start) / t.calls)
    return timed


def human(seconds: float) -> str:
    """Three digits and a unit."""
    unit, scale = next((u for u in (("s", 1.0), ("ms", 1e-3)) if seconds >= u[1]), ("us", 1e-6))
    x = seconds / scale
    return f"{x:.0f} {unit}" if x >= 100 else f"{x:.1f} {unit}" if x >= 10 else f"{x:.2f} {unit}"


def row(workload: Any, case: str, timed: Sequence[Timed], peers: Sequence[str]) -> str:
    """One line of the table: times, irad's ratio to the best peer, its first call."""
    by = {t.peer: t for t in timed}
    cells = [human(by[p].median) if p in by else "" for p in peers]
    others = [t for t in timed if t.peer != "irad"]
    ratio = ""
    if others and "irad" in by:
        best = min(others, key=lambda t: t.median)
        ratio = f"{by['irad'].median / best.median:.2f} of {best.peer}"
    first = human(by["irad"].first) if "irad" in by else ""
    return "| " + " | ".join([f"{workload.name.replace('_', ' ')}, {case}", *cells, ratio, first]) + " |"


def head(peers: Sequence[str]) -> list[str]:
    names = ["value and gradients", *peers, "irad / best peer", "irad, first call"]
    return ["| " + " | ".join(names) + " |", "|---" + "|--:" * (len(names) - 1) + "|"]


def setting() -> str:
    """Machine, versions, and whether anything else was running."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = models[0] if models else cpu
    versions = [f"Python {platform.python_version()}"]
    for name in ("numpy", "llvmlite", "jax", "torch", "numba"):
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    text = f"Measured {time.strftime('%Y-%m-%d')} on one core of {os.cpu_count()} of {cpu}; {', '.join(versions)}."
    load = os.getloadavg()[0]
    if load > 1.5:
        text += f" **Under load** (load average {load:.1f}): read the ratios with care."
    return text


def write(lines: Sequence[str]) -> None:
    """Exchange the table in docs/performance.md."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END + after]), encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    p = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("workloads", nargs="*", help="default: all")
    p.add_argument("--peers", help="names, separated by commas; default: all that are installed")
    p.add_argument("--rounds", type=int, default=9, help="blocks per peer (default 9)")
    p.add_argument("--block", type=float, default=0.02, help="seconds per block (default 0.02)")
    p.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    a = p.parse_args(argv)
    os.environ.update(ONE_THREAD)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    from tests.benchmarks.peers import PEERS
    from tests.benchmarks.workloads import WORKLOADS

    peers = a.peers.split(",") if a.peers else list(PEERS)
    names = a.workloads or list(WORKLOADS)
    for kind, given, known in (("workload", names, WORKLOADS), ("peer", peers, PEERS)):
        for name in given:
            if name not in known:
                p.error(f"there is no {kind} {name!r}; there are {', '.join(known)}")
    lines = head(peers)
    print("\n".join(lines), flush=True)
    for name in names:
        for case in WORKLOADS[name].cases:
            timed = measure(WORKLOADS[name], case, peers, a.rounds, a.block)
            lines.append(row(WORKLOADS[name], case, timed, peers))
            print(lines[-1], flush=True)
    lines += ["", setting()]
    print("\n" + lines[-1])
    if a.write:
        write(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
