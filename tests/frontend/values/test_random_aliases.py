"""Random programs with branches, loops, jumps, views, swapped and rebound arrays: refused at compile time, or as in Python.

The generator aims at aliases: names that share arrays, views that are stored through, arguments that are changed.
"""

from __future__ import annotations

import copy
import linecache
from typing import Any

import numpy as np
import pytest

from irad.errors import IradError
from irad.frontend.trace import trace
from irad.ops.control import RaisedInGraph
from tests.fuzz.loops import Program, Raising
from tests.support.as_called import assert_same, run


def function(seed: int, kind: type[Program]) -> tuple[Any, str]:
    text = "\n".join(kind(seed).lines) + "\n"
    name = f"<random program {kind.__name__} {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), space)
    return space["f"], text


def outcome(call: Any) -> Any:
    """What a call returns, or the name of the exception it raises."""
    try:
        with np.errstate(all="ignore"):
            return call()
    except RaisedInGraph as e:
        return e.exc
    except Exception as e:
        return type(e).__name__


def agrees(seed: int, kind: type[Program] = Program) -> bool:
    """Compare with Python on several inputs; False if the program is refused."""
    f, text = function(seed, kind)
    rng = np.random.default_rng(seed)
    inputs = [(rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 4), float(rng.uniform(-1, 1)), n) for n in (3, 0, 6, 1)]
    try:
        traced = trace(f, copy.deepcopy(inputs[0]))
    except IradError as e:
        assert e.loc is not None, text
        return False
    except (ValueError, IndexError) as e:  # raised whatever the data, before anything is stored
        assert outcome(lambda: f(*copy.deepcopy(inputs[0]))) == type(e).__name__
        return False
    for args in inputs:
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        if traced.in_leaves[3].param is None:  # the program is for this number only
            try:
                traced = trace(f, copy.deepcopy(args))
            except (IradError, ValueError, IndexError):
                continue
        got, want = outcome(lambda m=mine, t=traced: run(t, f, m)), outcome(lambda t=theirs: f(*t))
        try:
            assert_same((got, mine), (want, theirs), exact=False, kinds=False)
        except AssertionError as e:
            raise AssertionError(f"{text}\ninputs: {args}\n{e}") from None
    return True


@pytest.mark.parametrize("group", range(4))
def test_random_programs(group):
    seeds = range(100 + 4 * group, 100 + 4 * (group + 1))
    assert sum(map(agrees, seeds)) >= len(seeds) // 3


@pytest.mark.parametrize("group", range(4))
def test_random_programs_that_raise(group):
    """The stores made before an exception stay."""
    seeds = range(4 * group, 4 * (group + 1))
    assert sum(agrees(seed, Raising) for seed in seeds) >= len(seeds) // 3


def test_aliases_of_swapped_lists():
    """Found by this test: programs whose lists, arrays and jumps met at odd places."""
    for seed in (9, 35, 54, 136, 168, 193, 245, 253, 724, 740):
        agrees(seed)
