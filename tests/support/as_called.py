"""Running a traced function on the interpreter as a call of the compiled one would be, and comparing it with Python."""

from __future__ import annotations

import copy
from types import FunctionType
from typing import Any

import numpy as np

from irad.core.interp import interpret
from irad.core.ir import walk
from irad.core.tree import TreeDef, flatten, is_leaf
from irad.frontend.trace import trace
from irad.frontend.values.traced import Traced
from irad.ops.control import RaisedInGraph
from tests.support.agree import agree


def statics(tree: TreeDef) -> list[Any]:
    if tree.cls is TreeDef:
        return [tree.meta.value]
    return [s for c in tree.children for s in statics(c)]


def run(traced: Traced, fn: Any, args: tuple, kwargs: dict | None = None) -> Any:
    """What a call of the compiled function does: result as Python would give it, arguments and captures changed; or what it
    raises, and they are changed by what it has done before."""
    leaves, tree = flatten((tuple(args), dict(kwargs or {})))
    assert tree == traced.in_tree
    for leaf, x in zip(traced.in_leaves, leaves):
        assert leaf.param is not None or x == leaf.value
    dynamic = [x for leaf, x in zip(traced.in_leaves, leaves) if leaf.param is not None and leaf.alias is None]
    captured = [c.get(fn, statics(tree)) for c in traced.captures]
    quiet = not any(n.op.effects == "io" for g in traced.program.values() for n in walk(g))
    target = lambda kind, k: leaves[k] if kind == "arg" else captured[k]
    try:
        out = [np.array(x)[()] for x in (agree if quiet else interpret)(traced.program, *dynamic, *captured)]
    except RaisedInGraph as e:
        kept = {k: np.array(x) for k, x in e.kept.items()}
        for m in traced.mutated:
            if m.index in kept:
                target(*m.target)[...] = kept[m.index]
        raise
    for m in traced.mutated:
        target(*m.target)[...] = out[m.index]
    convert = {"int": int, "float": float, "bool": bool, "ndarray": np.asarray, "generic": lambda x: x}
    results = []
    for r in traced.results:
        if r.same_as is not None:
            results.append(leaves[r.same_as[1]] if r.same_as[0] == "arg" else captured[r.same_as[1]])
        else:
            results.append(r.value if r.kind == "static" else convert[r.kind](out[r.index]))
    return traced.out_tree.unflatten(results)


def assert_same(got: Any, want: Any, exact: bool = True, kinds: bool = True) -> None:
    """Same structure, dtypes, shapes and numbers; and `kinds`: Python number, NumPy scalar or array."""
    if is_leaf(want) or isinstance(want, (bool, np.bool_)):
        assert not kinds or type(got) is type(want), (got, want)
        assert np.shape(got) == np.shape(want)
        assert np.asarray(got).dtype == np.asarray(want).dtype or not (kinds or isinstance(want, np.ndarray))
        np.testing.assert_allclose(got, want, rtol=0 if exact else 1e-12, atol=0 if exact else 1e-13)
        return
    if isinstance(want, (list, tuple)):
        assert type(got) is type(want) and len(got) == len(want)
        for g, w in zip(got, want):
            assert_same(g, w, exact, kinds)
    elif isinstance(want, dict):
        assert type(got) is type(want) and list(got) == list(want)
        for k in want:
            assert_same(got[k], want[k], exact, kinds)
    elif hasattr(want, "__dict__") and not isinstance(want, (type, FunctionType)):
        assert type(got) is type(want)
        assert_same(vars(got), vars(want), exact, kinds)
    else:
        assert got == want


def check(fn: Any, *args: Any, exact: bool = True, kinds: bool = True, others: tuple = (), **kwargs: Any) -> Traced:
    """fn means on the interpreter what it means in Python, for these arguments and for `others` without tracing again."""
    traced = trace(fn, copy.deepcopy(args), copy.deepcopy(kwargs))
    for a in (args, *others):
        mine, theirs = copy.deepcopy((a, kwargs)), copy.deepcopy((a, kwargs))
        with np.errstate(all="ignore"):
            want = fn(*theirs[0], **theirs[1])
        got = run(traced, fn, *mine)
        assert_same(got, want, exact, kinds)
        assert_same(mine, theirs, exact)
    return traced
