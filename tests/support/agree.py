"""Runs a program on the interpreter and as native code, and compares: the tests of derivatives run through this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.call.compiled import signature
from irad.codegen.call.native import NativeCode
from irad.core.interp import interpret
from irad.core.ir import Graph, Program, walk
from irad.core.types import TAPE, Type
from irad.core.verify import verify
from irad.errors import UnsupportedError
from irad.ops.control import RaisedInGraph
from irad.passes.derivatives.autodiff import vjp
from irad.passes.derivatives.expand import expand
from irad.passes.derivatives.split import split
from irad.pipeline import native, optimise

ULPS = 64.0


_last: list[Any] = []  # a program and its code: tests run one at several points


def entry(program: Program | Graph) -> Graph:
    return program if isinstance(program, Graph) else next(iter(program.values()))


def run_native(program: Program | Graph, *args: Any) -> list[Any]:
    """Results of the program's native code, with NumPy scalars for arrays of rank 0, as `interpret` gives them."""
    graph = entry(program)
    if not _last or _last[0] is not program:
        whole = {graph.name or "f": graph} if isinstance(program, Graph) else program
        _last[:] = [program, native(optimise(whole), signature(graph))]
    code = _last[1]
    given = [
        a if p.type == TAPE else np.array(a, p.type.numpy, order="C") if not p.type.static else _shaped(a, p.type)
        for a, p in zip(args, graph.params, strict=True)
    ]
    return [x[()] if isinstance(x, np.ndarray) else x for x in run_keeping(code, given)]


def run_keeping(code: NativeCode, given: Sequence[Any]) -> list[Any]:
    """Run native code; what it raises says what results hold nevertheless, as the interpreter's exceptions do."""
    kept: dict[int, np.ndarray] = {}
    try:
        return code.run(given, kept)
    except RaisedInGraph as e:
        e.kept = {k: x[()] for k, x in kept.items()}
        raise


def _shaped(a: Any, t: Type) -> np.ndarray:
    return np.array(a, t.numpy, order="C").reshape(t.dims)


def agree(program: Program | Graph, *args: Any, ulps: float = ULPS, floor: float = 1.0) -> list[Any]:
    """What `interpret` gives for the program; native code gives the same, or raises the same.

    Integers and bools are equal. Floats are within `ulps` of the largest number of their array (or of `floor`, where what
    cancels is of that size), with the same NaNs and infinities; signs of zeros agree too where no derivative is, whose sums
    may start from either zero. With a `floor` of 0 each element is within `ulps` of its own size; else what amplifies the last bits of the
    arguments may amplify those of its own steps. Arrays of no known bound are refused by native code, and are not compared.
    """
    plain = program if isinstance(program, Graph) else expand(program)
    want = outcome(lambda: interpret(plain, *args))
    try:
        got = outcome(lambda: run_native(program, *args))
    except UnsupportedError as e:
        assert "has no bound that could be found" in e.message
        got = want
    if isinstance(want, RaisedInGraph) or isinstance(got, RaisedInGraph):
        assert raised(want) == raised(got), f"{want!r}, native code: {got!r}"
        assert list(want.kept) == list(got.kept)
        same(list(got.kept.values()), list(want.kept.values()), ulps, floor, False)
        raise want
    signs = not has_derivative(plain)
    try:
        same(got, want, ulps, floor, signs)
    except AssertionError:
        if not floor:
            raise
        same(got, want, ulps, floor, signs, noise(plain, args, want))
    return want


def halves_agree(program: Program, args: Sequence[Any], ct: Any) -> None:
    """`split`: forward then backward give the bits of the joint graph; as native code they agree with it."""
    joint = vjp(program, results=[0])
    entry_ = entry(program)
    s = split(joint, len(entry_.params), len(entry_.results))
    verify(s.forward), verify(s.backward)
    want = interpret(joint, *args, ct)

    def run(how: Callable[..., list[Any]]) -> list[Any]:
        m, out = len(entry_.results), how(s.forward, *args)
        sources = {"argument": args, "result": out[:m], "value": out[m:]}
        return [*out[:m], *how(s.backward, *[sources[r.source][r.index] for r in s.residuals], ct)]

    for a, b in zip(run(interpret), want, strict=True):
        np.testing.assert_array_equal(a, b)
    try:
        got = run(run_native)
    except UnsupportedError as e:
        assert "has no bound that could be found" in e.message
    else:
        same(got, want, slack=noise(joint, [*args, ct], want))


def outcome(run: Callable[[], list[Any]]) -> Any:
    try:
        return run()
    except RaisedInGraph as e:
        return e


def raised(outcome: Any) -> tuple[str, str] | None:
    return (outcome.exc, outcome.message) if isinstance(outcome, RaisedInGraph) else None


def noise(program: Program | Graph, args: Sequence[Any], want: list[Any]) -> list[np.ndarray]:
    """How far results move when each float argument moves by its last bit."""
    rng = np.random.default_rng(0)
    out = [np.zeros(np.shape(w)) for w in want]
    for _ in range(4):
        moved = [_moved(rng, a, p.type) for a, p in zip(args, entry(program).params)]
        for k, (m, w) in enumerate(zip(interpret(program, *moved), want)):
            if np.asarray(w).dtype.kind == "f":
                with np.errstate(all="ignore"):
                    out[k] = np.fmax(out[k], abs(np.asarray(m, float) - w))
    return out


def _moved(rng: np.random.Generator, a: Any, t: Type) -> Any:
    if not t.differentiable:
        return a
    x = np.asarray(a, t.numpy)
    return np.nextafter(x, rng.choice([-1, 1], x.shape).astype(x.dtype) * np.inf)[()]


def has_derivative(program: Program | Graph) -> bool:
    graphs = [program] if isinstance(program, Graph) else program.values()
    return any(n.deriv for g in graphs for n in walk(g))


def same(
    got: list[Any],
    want: list[Any],
    ulps: float = ULPS,
    floor: float = 1.0,
    signs: bool = False,
    slack: Sequence[np.ndarray] | None = None,
) -> None:
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        _same(np.asarray(g), np.asarray(w), ulps, floor, signs, f"native code, result {k}", slack[k] if slack else None)


def _same(g: np.ndarray, w: np.ndarray, ulps: float, floor: float, signs: bool, what: str, slack: np.ndarray | None) -> None:
    assert g.dtype == w.dtype and g.shape == w.shape, f"{what}: {g.dtype}{g.shape}, the interpreter gives {w.dtype}{w.shape}"
    if w.dtype.kind not in "fc":
        return np.testing.assert_array_equal(g, w, err_msg=what)
    info, finite = np.finfo(w.dtype), np.abs(w[np.isfinite(w)])
    near = ulps * float(info.eps)
    absolute = near * float(finite.max(initial=floor) if floor else 0) + 2 * float(info.smallest_subnormal)
    if slack is not None and slack.size:
        absolute += 2 * ulps * float(np.max(slack, where=np.isfinite(slack), initial=0))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(g, w, rtol=near, atol=absolute, err_msg=what)
    if signs and w.dtype.kind == "f":
        zero = (w == 0) & (g == 0)
        np.testing.assert_array_equal(np.signbit(g[zero]), np.signbit(w[zero]), err_msg=f"{what}: signs of zeros")
