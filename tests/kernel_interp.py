"""The meaning of kernel form, one iteration after another, in Python: what the emitter's lanes must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.codegen import kform as kf
from irad.ops.core import OPS
from irad.types import DTYPES

_LANE = "lane"  # the iteration of the vec loop around


class _Lanes(list[Any]):
    """A variable with lanes, each an element of its own."""


class Raised(Exception):
    """A kernel left by `Raise` with this code."""


def run(kernel: kf.Kernel, *args: Any) -> int:
    """Run on arrays (changed in place) and numbers; the kernel's code. vec, par and unroll loops run in order."""
    env: dict[str, Any] = {p.name: a for p, a in zip(kernel.params, args)}
    try:
        _block(kernel.body, env)
    except Raised as e:
        return e.args[0]
    return 0


def _index(x: Any, env: dict[str, Any]) -> int:
    return sum(k * int(np.prod([int(env[n]) for n in names])) for names, k in kf.Aff.of(x).terms.items())


def _value(x: Any, env: dict[str, Any]) -> Any:
    if isinstance(x, kf.Const):
        return DTYPES[x.dtype].type(x.value)
    if isinstance(x, str):
        return env[x][env[_LANE]] if isinstance(env[x], _Lanes) else env[x]
    return np.int64(_index(x, env))


def _at(idx: Sequence[Any], env: dict[str, Any]) -> tuple[int, ...]:
    at = tuple(_index(i, env) for i in idx)
    assert min(at, default=0) >= 0
    return at


def _expression(s: kf.Let, env: dict[str, Any]) -> Any:
    e = s.expr
    if isinstance(e, kf.Load):
        return env[e.buf][_at(e.idx, env)]
    if isinstance(e, kf.Part):
        return env[e.fold][1][_at(e.idx, env)][e.k]
    if isinstance(e, kf.LinScan):
        env[e.var] = _value(e.k, env) * env[e.var] + _value(e.x, env)
        return env[e.var]
    args = [_value(a, env) for a in e.args]
    return OPS["cast"].eval(args[0], dtype=s.dtype) if e.op == "cast" else OPS[e.op].eval(*args)  # type: ignore[misc]


def _combine(s: kf.Combine, env: dict[str, Any]) -> None:
    comb, slots = env[s.fold]
    at, new = _at(s.idx, env), [_value(v, env) for v in s.values]
    old = slots[at]
    if comb in ("argmax", "argmin"):
        best = np.array([old[0], new[0]])
        first = getattr(np, comb)(best if new[1] > old[1] or old[1] < 0 else best[::-1])
        swapped = not (new[1] > old[1] or old[1] < 0)
        slots[at] = new if old[1] < 0 or (first == 1) != swapped else old
    else:
        slots[at] = [OPS[comb].eval(old[0], new[0])]  # type: ignore[misc]


def _block(body: Sequence[kf.Stmt], env: dict[str, Any]) -> None:
    for s in body:
        _statement(s, env)


def _statement(s: kf.Stmt, env: dict[str, Any]) -> None:
    if isinstance(s, kf.Let):
        env[s.name] = _expression(s, env)
    elif isinstance(s, kf.Store):
        at, v = _at(s.idx, env), _value(s.value, env)
        env[s.buf][at] = env[s.buf][at] + v if s.add else v
    elif isinstance(s, kf.Var):
        init = _value(s.init, env)
        env[s.name] = _Lanes([init] * s.lanes) if s.lanes > 1 else init
    elif isinstance(s, kf.Assign):
        if isinstance(env.get(s.name), _Lanes):
            env[s.name][env[_LANE]] = _value(s.value, env)
        else:
            env[s.name] = _value(s.value, env)
    elif isinstance(s, kf.Fold):
        env[s.name] = (s.comb, {at: [_value(v, env) for v in s.init] for at in np.ndindex(*s.shape)})
    elif isinstance(s, kf.Combine):
        _combine(s, env)
    elif isinstance(s, kf.For):
        lo = _index(s.lo, env)
        for i in range(lo, _index(s.hi, env), s.step):
            env[s.var] = np.int64(i)
            if s.kind == "vec":
                env[_LANE] = i - lo
            _block(s.body, env)
    elif isinstance(s, kf.If):
        _block(s.then if _value(s.cond, env) else s.orelse, env)
    elif isinstance(s, kf.While):
        while True:
            _block(s.test, env)
            if not _value(s.cond, env):
                break
            _block(s.body, env)
    elif isinstance(s, kf.Raise):
        if _value(s.cond, env):
            raise Raised(s.code)
    elif isinstance(s, kf.Swap):
        env[s.a], env[s.b] = env[s.b], env[s.a]
    else:
        raise NotImplementedError(type(s).__name__)
