"""Compile time grows with the program, not with its square: calls of Python functions are counted, not seconds."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.call import build as native
from irad.codegen.lower.arena import arena_size
from irad.core.ir import size
from irad.frontend.trace import trace
from irad.passes.fusion import groups as fuse_groups
from irad.pipeline import optimise

pytestmark = pytest.mark.plain


def chain(n: int) -> str:
    """n operations, each on the result of the last."""
    return "".join(f" y = y * x + {0.25 + k / 1000}\n" if k % 8 else " y = np.tanh(y) + x\n" for k in range(n // 2))


def windows(n: int) -> str:
    """About n operations on parts of arrays, with sums, maxima and copies."""
    part = " a = x[{0}:{1}] * {2}\n b = np.roll(a, 1) + a[::-1]\n y = y + np.sum(b * a) + np.max(b)\n"
    return "".join(part.format(k % 7, k % 7 + 8, k + 1.5) for k in range(n // 8))


def loops(n: int) -> str:
    """Loops over time, one after the other."""
    return "".join(f" for i in range(9):\n  y = y * 0.{k + 1} + np.cos(x) * i\n" for k in range(n // 4))


def stores(n: int) -> str:
    """Elements stored one by one, each made of the one before."""
    each = (f" y[{k}] = y[{k - 1}] * 0.{k} + x[{k % 7}]\n" for k in range(1, n // 2))
    return f" y = np.zeros({n})\n" + "".join(each) + " y = y * y\n"


def products(n: int) -> str:
    """Small products, each of two results before."""
    each = (f" y, w = np.sin(y) + a @ w * 0.{k + 1}, y\n" for k in range(n // 4))
    return " a = x[:9].reshape(3, 3)\n y = w = x[:3]\n" + "".join(each)


def positions(n: int) -> str:
    """Whole numbers, each one of two that were made of the one before, and checked where they read."""
    each = (f" if x[{k % 7}] > 0.1{k}:\n  k, w = w, k + 1\n y = y + x[k % 16] * x[w % 16]\n" for k in range(n // 4))
    return " k = w = int(x[0])\n" + "".join(each)


def choices(n: int) -> str:
    """Lists that one branch chooses among others."""
    made = "".join(f" a{k} = [x[{k % 7}]]\n b{k} = [x[{k % 5}]]\n" for k in range(n // 4))
    chosen = ["".join(f"  c{k} = {of}{k}\n" for k in range(n // 4)) for of in "ab"]
    return f"{made} if x[0] > 0.1:\n{chosen[0]} else:\n{chosen[1]}" + "".join(
        f" y = y + c{k}[0] * a{k}[0]\n" for k in range(n // 4)
    )


def nested(n: int) -> str:
    """Functions in the function, each of which calls the one before it twice."""
    each = [f"  t = np.tanh(t) * x[{j % 9}] + np.exp(-t)\n" for j in range(6)]
    first = " def g0(t):\n" + "".join(each) + "  return t\n"
    more = "".join(f" def g{k}(t):\n{''.join(each)}  return g{k - 1}(t) + g{k - 1}(t * x[{k % 9}])\n" for k in range(1, n // 15))
    return f"{first}{more} y = y * g{n // 15 - 1}(x[0])\n"


def function(body: Callable[[int], str], n: int) -> Any:
    text = f"def f(x):\n y = x\n{body(n)} return np.sum(y)\n"
    name = f"<{body.__name__} {n}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def front_and_passes(f: Any) -> Any:
    return optimise(trace(irad.grad(f), (np.linspace(0.1, 0.2, 16),), {}).program)


def work(f: Any, files: tuple[str, ...] = ("",)) -> int:
    """Calls that it takes from Python to LLVM text; those of builtin functions too, for what they loop over is not seen.

    `files`: how the names of files end whose calls are counted.
    """
    count = 0

    def seen(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call") and frame.f_code.co_filename.endswith(files)

    sys.setprofile(seen)
    try:
        program = front_and_passes(f)
        native.emit(native.lower(program, arena_size(next(iter(program.values())))).kernels)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(("body", "n"), [(chain, 150), (windows, 80), (loops, 24)])
def test_work_is_linear(body: Callable[[int], str], n: int) -> None:
    work(function(body, 8))  # what is made once: rules, tables
    small, large = work(function(body, n)), work(function(body, 4 * n))
    assert large < 4.8 * small, f"{small} calls for {n} operations, {large} for {4 * n}"


_OF_PARTS = [
    (stores, ("fusion/versions.py",)),
    (products, ("split.py", "fusion/nests.py")),
    (positions, ("analyses/facts.py",)),
    (choices, ("control/holders.py",)),
    (nested, ("frontend/reader.py",)),
]


@pytest.mark.parametrize(("body", "files"), _OF_PARTS)
def test_work_of_some_parts_is_linear(body: Callable[[int], str], files: tuple[str, ...]) -> None:
    small, large = work(function(body, 60), files), work(function(body, 240), files)
    assert small > 60 and large < 4.8 * small, f"{small} calls, {large} for four times as many operations"


def test_work_for_an_operation_is_bounded() -> None:
    work(function(chain, 8))
    assert work(function(chain, 400)) < 400 * 6000


def test_long_chains_of_array_operations() -> None:
    """More operations in one fused loop than Python's stack is deep."""
    f = function(chain, 1600)
    program = front_and_passes(f)
    assert size(program) > 1600


def test_a_pass_that_changes_nothing_gives_the_same_graphs() -> None:
    from irad.passes.manager import PASSES

    program = front_and_passes(function(chain, 100))
    for name in ("inline", "cse", "dce", "fold", "licm", "shorter_records", "custom", "complex_parts"):
        after = PASSES[name](program)
        assert all(after[k] is g for k, g in program.items()), name


def sines(n: int) -> str:
    return "".join(f" y = np.sin(y) * x + 0.{k}\n" for k in range(n // 3))


def test_bodies_of_loops_are_bounded() -> None:
    """What LLVM takes for a loop grows faster than its body: 300 transcendental functions do not stand in one."""
    f = function(sines, 900)
    program = optimise(trace(f, (np.linspace(0.1, 0.2, 16),), {}).program)
    loops_ = [n for g in program.values() for n in g.nodes if n.op.name == "loop"]
    poly = [sum(m.op.name == "sin" for m in n.regions[0].nodes) for n in loops_]
    assert sum(poly) == 300 and max(poly) * fuse_groups.POLY <= fuse_groups.MOST and len(loops_) <= 8
    x = np.linspace(0.1, 0.2, 16)
    np.testing.assert_allclose(irad.compile(f)(x), f(x), rtol=1e-13)
