"""The kernels of kernels.py beside Numba (same source), JAX and gradients written out.

    python -m tests.benchmarks.corpus.compare           all; or names
    python -m tests.benchmarks.corpus.compare --write   and writes the table in docs/corpus.md

CPU time, one thread, the least of some blocks. Every peer is checked against NumPy, gradients against those written out.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1", IRAD_CACHE="0", OMP_NUM_THREADS="1")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import contextlib
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

import irad
from tests.benchmarks.corpus import kernels, table
from tests.benchmarks.corpus.measure import leaves, numba_function, same, shortest, weighted, weights_of


def jax_module() -> ModuleType | None:
    try:
        from tests.benchmarks.corpus import jax_kernels
    except ImportError:
        return None
    return jax_kernels


def compared(name: str, seconds: float) -> dict[str, Any]:
    from tests.benchmarks.corpus import adjoints

    args = kernels.arguments(name, np.random.default_rng(3))
    function, wrt = getattr(kernels, name), kernels.WRT[name]
    reference = function(*args)
    value = irad.compile(function, threads=1)
    record: dict[str, Any] = {"name": name, "error": same(value(*args), reference)}
    calls: dict[str, Callable[[], Any]] = {"numpy": lambda: function(*args), "irad": lambda: value(*args)}
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        compiled = numba_function(function)
        record["numba error"] = same(compiled(*args), reference)
        calls["numba"] = lambda: compiled(*args)
    if hasattr(module := jax_module(), name):
        ported = getattr(module, name)
        import jax

        moved = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
        out = ported(*moved)
        if name in ("lu", "cholesky"):  # what lies above the diagonal is not touched, or the same
            record["jax error"] = same(np.tril(out), np.tril(reference))
        else:
            record["jax error"] = same(out, reference)
        calls["jax"] = lambda: jax.block_until_ready(ported(*moved))
    weights = weights_of(reference)
    by_hand = getattr(adjoints, name)
    _, *expected = by_hand(*args, *weights)
    gradient = irad.compile(irad.value_and_grad(weighted(function, weights), argnums=wrt), threads=1)
    _, got = gradient(*args)
    record["gradient error"] = same(tuple(leaves(got)), tuple(expected))
    calls["gradient"] = lambda: gradient(*args)
    calls["by hand"] = lambda: by_hand(*args, *weights)
    record.update(shortest(calls, seconds))
    return record


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*")
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    found = []
    for name in chosen.names or list(kernels.WRT):
        found.append(compared(name, chosen.seconds))
        print(table.kernel_line(found[-1]), flush=True)
    if chosen.write:
        table.write(table.KERNELS, table.kernel_rows(found))


if __name__ == "__main__":
    main()
