"""What the objectives cost at the benchmark's largest sizes: value, gradient (or Jacobian), first call, memory.

    python docs/examples/objectives/measure.py [NAME ...] [--repeat N] [--loops]

Each call is in a process of its own, on one thread; times are medians of CPU time in ms. Memory is what the peak of the process grew by
from before the first call, beside the bytes of the results.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

SIZES = {
    "gmm": (1000, 64, 100),
    "ba": (13682, 4456117 // 10, 1_260_000),
    "ht": (25_600,),
    "lstm": (6, 8192),
    "ode": (100_000, 100),
    "kmeans": (10_000, 1000, 16),
    "llsq": (128, 16_392),
    "lse": (1_280_000,),
    "det": (10,),
    "particle": (),
    "saddle": (),
}


def calls(name: str, loops: bool) -> dict[str, Any]:
    """The compiled functions of an objective, by what they compute."""
    import irad

    m = importlib.import_module(name)
    one = lambda f, *wrt, **more: irad.compile(irad.value_and_grad(f, argnums=wrt or 0), threads=1)
    value = lambda f: irad.compile(f, threads=1)
    if name in ("particle", "saddle"):
        modes = {"f": "forward", "r": "reverse"}
        return {o + i: value(lambda x, o=o, i=i: m.solve(x, modes[o], modes[i])) for o in "fr" for i in "fr"}
    if name == "ba":
        return {"value": value(m.objective_loops if loops else m.objective), "gradient": value(m.jacobian)}
    if name == "ht":
        return {
            "value": value(m.errors_loops if loops else m.objective),
            "gradient": value(irad.jacobian(m.errors_loops) if loops else m.jacobian),
        }
    if name == "kmeans":
        f, g = (m.cost_loops, m.direction_loops) if loops else (m.cost, m.direction)
        return {"value": value(f), "gradient": value(g)}
    forms = {"gmm": "objective", "lstm": "loss", "ode": "last", "llsq": "residual", "lse": "logsumexp", "det": "determinant"}
    f = getattr(m, forms[name] + ("_loops" if loops and name != "det" else ""))
    wrt = {"gmm": (0, 1, 2, 3), "lstm": (0, 1)}.get(name, ())
    return {"value": value(f), "gradient": one(f, *wrt)}


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def size_of(x: Any) -> int:
    return sum(map(size_of, x)) if isinstance(x, tuple) else getattr(x, "nbytes", 8)


def measured(name: str, what: str, loops: bool, repeat: int) -> dict[str, float]:
    """One call: first in wall time, then the median of CPU times."""
    args = importlib.import_module(name).generate(*SIZES[name])
    call = calls(name, loops)[what]
    before, start = peak(), time.perf_counter()
    out = call(*args)
    first, times = time.perf_counter() - start, []
    grown = peak() - before
    for _ in range(repeat):
        start = time.process_time()
        out = call(*args)
        times.append(time.process_time() - start)
    times.sort()
    return {"ms": times[len(times) // 2] * 1e3, "first": first, "mib": grown / 2**20, "results": size_of(out) / 2**20}


def in_process(*arguments: Any) -> dict[str, float] | None:
    one = {k: "1" for k in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "IRAD_NUM_THREADS")}
    env = {
        **os.environ,
        **one,
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        "JAX_ENABLE_X64": "1",
    }
    command = [sys.executable, __file__, "--one", json.dumps(arguments)]
    out = subprocess.run(command, env=env, capture_output=True, text=True)
    if out.returncode:
        print(out.stderr.strip().splitlines()[-1] if out.stderr.strip() else f"status {out.returncode}", file=sys.stderr)
        return None
    return json.loads(out.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(SIZES))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--loops", action="store_true", help="the form of loops, instead of arrays")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(*json.loads(given.one))))
        return
    for name in given.names:
        for what in ("ff", "fr", "rf", "rr") if name in ("particle", "saddle") else ("value", "gradient"):
            found = in_process(name, what, given.loops, given.repeat)
            shown = "failed" if found is None else ", ".join(f"{k} {v:.4g}" for k, v in found.items())
            print(f"{name:9s} {what:9s} {shown}", flush=True)


if __name__ == "__main__":
    main()
