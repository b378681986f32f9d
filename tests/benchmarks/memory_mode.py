"""What code that checks its memory costs: ten textbook kernels, value and gradient, compiled and called both ways, in CPU time.

python -m tests.benchmarks.memory_mode
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import irad
from tests.kernels import dynamics, learning, linalg, stencils

R = np.random.default_rng(0)


def u(*shape: int) -> np.ndarray:
    return R.uniform(0.5, 1.0, shape)


def stored(f: Callable[..., Any], *which: int) -> Callable[..., Any]:
    """The sum of the arrays that `f` changes; of copies, so that each call does the same."""

    def loss(*args: Any) -> Any:
        copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
        f(*copies)
        return sum(np.sum(copies[k]) for k in which)

    return loss


def summed(f: Callable[..., Any], *_: int) -> Callable[..., Any]:
    def loss(*args: Any) -> Any:
        return np.sum(f(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in args]))

    return loss


Case = tuple[Callable[..., Any], Callable[..., Any], tuple[int, ...], tuple[Any, ...]]  # how to make the loss, of what
CASES: list[Case] = [
    (summed, dynamics.nbody, (), (u(30, 1), u(30, 3), u(30, 3), 0.01, 20)),
    (summed, dynamics.lotka_volterra, (), (u(2), np.array([1.5, 1.0, 1.0, 3.0]))),
    (summed, learning.covariance, (), (u(300, 40),)),
    (summed, learning.conv2d, (), (u(4, 18, 18, 3), u(3, 3, 3, 8))),
    (summed, learning.rnn, (), (u(40, 30) / 40, u(40, 40) / 40, u(50, 30))),
    (summed, learning.logistic_regression, (), (u(30), 0.1, u(1000, 30), (u(1000) > 0.75) * 1.0)),
    (stored, linalg.lu, (0,), (u(50, 50) + 50 * np.eye(50),)),
    (summed, linalg.cholesky, (), (u(40, 40) + 40 * np.eye(40),)),
    (stored, stencils.jacobi_2d, (0, 1), (u(100, 100), u(100, 100), 20)),
    (summed, stencils.adi, (), (u(40, 40), 5)),
]


def once(case: Case, check: str | None) -> tuple[float, float]:
    """CPU seconds to compile, and to call: the least of three, and of several blocks of calls."""
    make, f, which, args = case
    firsts = []
    for _ in range(3):
        compiled = irad.compile(irad.value_and_grad(make(f, *which)), check=check)
        compiled.clear()  # equal functions share what is compiled
        t = time.process_time()
        compiled(*args)
        firsts.append(time.process_time() - t)
    least = np.inf
    until, block = time.process_time() + 1.0, 1
    while time.process_time() < until:
        t = time.process_time()
        for _ in range(block):
            compiled(*args)
        spent = (time.process_time() - t) / block
        least = min(least, spent)
        block = max(1, int(0.05 / max(spent, 1e-7)))
    return min(firsts) - least, least


def main() -> None:
    ratios: list[tuple[float, float]] = []
    once((summed, linalg.durbin, (), (u(6),)), None)  # imports, libraries
    print(f"{'':24}{'compile, ms':>20}{'call, us':>24}")
    for case in CASES:
        plain, checked = once(case, None), once(case, "memory")
        ratios.append((checked[0] / plain[0], checked[1] / plain[1]))
        compile_, call = (f"{a * s:.0f} -> {b * s:.0f}" for a, b, s in zip(plain, checked, (1e3, 1e6)))
        print(f"{case[1].__name__:24}{compile_:>16} x{ratios[-1][0]:<5.1f}{call:>20} x{ratios[-1][1]:.1f}", flush=True)
    for name, found in zip(("compile", "call"), zip(*ratios)):
        print(f"{name}: x{statistics.geometric_mean(found):.2f} (geometric mean), {min(found):.1f} to {max(found):.1f}")


if __name__ == "__main__":
    main()
