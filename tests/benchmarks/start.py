"""Time to the first result: importing irad, compiling each workload in a new process, and programs of growing size.

    python -m tests.benchmarks.start                    everything
    python -m tests.benchmarks.start --runs 9 chain     one workload, nine processes

CPU milliseconds, the least of several processes. `import`: what `import irad` adds to NumPy and llvmlite; `first`: the first
value and gradients, the import of the compiler included; `again`: the same compiled anew in the same process.
"""

from __future__ import annotations

import argparse
import linecache
import subprocess
import sys
import time
from typing import Any

SIZES = (200, 1000, 2000, 5000)

CHILD = """
import time, sys
import numpy, llvmlite.binding
from tests.benchmarks.workloads import WORKLOADS
clock = time.process_time
w = WORKLOADS[sys.argv[1]]
case = next(iter(w.cases.values()))
args = lambda: w.make(numpy.random.default_rng(0), **case)
a = clock()
import irad
b = clock()
x = args(); c = clock()
irad.value_and_grad(w.f, w.wrt)(*x)
d = clock()
import irad.call.runtime
irad.call.runtime._caches.clear()
x = args(); e = clock()
irad.value_and_grad(w.f, w.wrt)(*x)
print(b - a, d - c, clock() - e)
"""


def start(name: str, runs: int) -> list[float]:
    """Milliseconds: import, first, again."""
    found = []
    for _ in range(runs):
        run = subprocess.run([sys.executable, "-c", CHILD, name], capture_output=True, text=True, check=True)
        found.append([1e3 * float(t) for t in run.stdout.split()])
    return [min(column) for column in zip(*found)]


def chain(n: int) -> Any:
    """A function of n array operations, each on the result of the last."""
    import numpy as np

    lines = [f" y = y * x + {0.25 + k / 1000}\n" if k % 8 else " y = np.tanh(y) + x\n" for k in range(n // 2)]
    text = "def f(x):\n y = x\n" + "".join(lines) + " return np.sum(y)\n"
    name = f"<chain of {n}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def growth() -> None:
    import numpy as np

    import irad

    x = np.linspace(0.1, 0.2, 16)
    irad.grad(chain(8))(x)
    for n in SIZES:
        t = time.process_time()
        irad.grad(chain(n))(x)
        t = time.process_time() - t
        print(f"{n:6} operations and their gradient {t:8.2f} s {1e3 * t / n:8.2f} ms each", flush=True)


def main() -> None:
    from tests.benchmarks.workloads import WORKLOADS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="workloads; by default all, and programs of growing size")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    print(f"{'':16}{'import':>8}{'first':>8}{'again':>8}  ms")
    for name in options.names or WORKLOADS:
        print(f"{name:16}" + "".join(f"{t:8.1f}" for t in start(name, options.runs)), flush=True)
    if not options.names:
        growth()


if __name__ == "__main__":
    main()
