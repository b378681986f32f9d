"""Translation validation names the stage that is wrong, and bisect makes the program that shows it small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from irad.cli import main
from irad.codegen.call import build as native
from irad.codegen.schedule import loops as schedule
from irad.core.interp import interpret
from irad.core.ir import Node, Program, size
from irad.core.lazy_dataclass import replace
from irad.core.switches import SWITCHES, without
from irad.core.text import load, parse
from irad.frontend.registry import TABLE
from irad.frontend.trace import trace
from irad.ops import OPS
from irad.ops import elementwise as ew
from irad.passes.manager import PASSES, Pass
from irad.validation.bisect import smallest
from irad.validation.derivatives import complex_step
from irad.validation.validate import StageDiffers, derivative_difference, first_difference, validate

X = np.linspace(0.5, 2.0, 12).reshape(3, 4)


def softmax_loss(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    total = 0.0
    for i in range(3):
        if p[i, 0] > 0.1:
            total += np.sum(p[i] ** 2)
    return total - np.mean(x)


def subtracts(program: Program) -> Program:
    """A wrong pass: every `div` is a `mul`, in regions too."""

    def changed(graph: Any) -> Any:
        nodes = []
        for n in graph.nodes:
            op = OPS["mul"] if n.op.name == "div" else n.op
            nodes.append(Node(op, n.inputs, n.outputs, n.attrs, tuple(changed(r) for r in n.regions), n.loc, n.deriv))
        return graph.replace(nodes=nodes)

    return {name: changed(g) for name, g in program.items()}


def test_nothing_differs() -> None:
    assert validate(softmax_loss, [X]) == 7
    assert validate(softmax_loss, [X], argnums=0) == 7


def test_powers_may_round() -> None:
    """x**3 is x * (x * x) by a rule, as accurate as NumPy's power but not the same bits."""
    validate(lambda x: np.sum(np.tanh(x) ** 3), [np.linspace(-2.0, 2.0, 200)])


def test_arguments_that_change_and_exceptions() -> None:
    def store(x, k):
        x[0] = 7.0
        return x[k]

    for k in (1, 3):
        validate(store, [np.zeros(3), k])


@pytest.mark.parametrize("name", ["scalarize", "pingpong"])
def test_a_wrong_pass_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    right = PASSES[name]
    monkeypatch.setitem(PASSES, name, replace(right, run=lambda program, **told: subtracts(right(program, **told))))
    with pytest.raises(StageDiffers) as e:
        validate(softmax_loss, [X])
    found = e.value.difference
    assert found.stage.startswith(f"pass {name} ")
    small = smallest(found, 20)
    assert small.program is not None and size(small.program) <= 8 < size(found.program)
    assert small.differs(small.program, small.args)
    assert any(n.op.name == "div" for g in small.program.values() for n in g.nodes) or size(small.program) > 1


def test_a_pass_that_raises_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(program: Program) -> Program:
        raise KeyError("lost")

    monkeypatch.setitem(PASSES, "licm", Pass(wrong))
    with pytest.raises(StageDiffers, match="pass licm .*: raises KeyError"):
        validate(softmax_loss, [X])


def test_a_wrong_kernel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that start from 1."""
    right = schedule.identity
    monkeypatch.setattr(schedule, "identity", lambda kind, dtype: (1,) if kind == "add" else right(kind, dtype))
    program = parse("func @f(%x: f64[9]) -> f64 {\n  %y: f64[9] = sin %x\n  %s: f64 = sum[axes=(0)] %y\n  return %s\n}")
    found = first_difference(program, [np.ones(9)])
    assert found is not None and found.stage == "kernel form, lower"
    small = smallest(found, 20)
    assert small.args[0].shape == (1,)


def test_wrong_native_code_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    right = native.emit
    monkeypatch.setattr(native, "emit", lambda *args, **named: right(*args, **named).replace(" fadd ", " fsub "))
    with pytest.raises(StageDiffers, match="native code, 1 thread"):
        validate(softmax_loss, [X])


def test_a_wrong_front_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table gives sines for tangents."""
    monkeypatch.setitem(TABLE, np.tanh, TABLE[np.sin])
    with pytest.raises(StageDiffers, match="^first stage that differs: front end"):
        validate(lambda x: np.tanh(x) * 2.0, [X])


def test_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "model.py", tmp_path / "small.irad"
    source.write_text("import numpy as np\n\n\ndef f(x, y):\n    return np.sum(np.sin(x) / (1.0 + y * y))\n")
    np.save(tmp_path / "x.npy", np.linspace(0.0, 1.0, 5))
    line = ["bisect", f"{source}:f", "f64[5]", "f64[5]", "--input", f"x={tmp_path / 'x.npy'}", "--out", str(out)]
    assert main(line) == 0
    assert "no stage differs" in capsys.readouterr().out
    monkeypatch.setitem(PASSES, "powers", Pass(subtracts))
    assert main(line) == 1
    said = capsys.readouterr().out
    assert "first stage that differs: pass powers" in said and str(out) in said
    small = load(str(out))
    assert size(small) == 1 and interpret(small, 3.0, 2.0) == [1.5]
    monkeypatch.undo()
    assert main(["bisect", str(out), "--random", "1", "--out", str(out)]) == 0


@pytest.mark.parametrize("name", SWITCHES)
def test_without_one_part(name: str) -> None:
    """Results do not change when a part is left out."""
    with without(name):
        validate(softmax_loss, [X], argnums=0, flags=False, kernels=False)


def test_a_program_that_raises_whatever_the_data() -> None:
    def f(x, w):
        if not len(w) > 5:
            raise ValueError("49")
        return x

    assert validate(f, (0.5, np.zeros(3))) == 0


# ---- derivatives ---------------------------------------------------------------------------------------------------------------


def sine_of_products(x: Any, w: Any) -> Any:
    s = 0.0
    for k in range(len(x)):
        s = s + np.sin(w[k] @ x) * x[k]
    return s


W = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 3))
V = np.array([0.3, -0.4, 0.9])


def derivative_of(f: Any, *args: Any) -> str:
    program = trace(f, args, {}).program
    found = derivative_difference(program, list(args))
    return found.stage if found else ""


def test_derivatives_agree() -> None:
    for f, args in [
        (sine_of_products, (V, W)),
        (lambda x: np.abs(x).sum() * np.max(x), (V,)),  # not analytic
        (lambda x: np.linalg.eigh(x + x.T)[0], (W,)),
        (lambda x, n: x**n, (V, 2)),
        (lambda x: np.maximum(x, 0.0).sum(), (np.zeros(3),)),  # not smooth
    ]:
        assert derivative_of(f, *args) == ""


def test_a_complex_step_is_right_to_the_last_digits() -> None:
    program = trace(lambda x: np.sum(np.exp(x) / (np.sin(x) ** 3 + np.cos(x) ** 3)), (np.array([1.5]),), {}).program
    with mp.workdps(30):
        want = float(mp.diff(lambda x: mp.exp(x) / (mp.sin(x) ** 3 + mp.cos(x) ** 3), 1.5))
    assert np.isclose(complex_step(program, [np.array([1.5])], {0: np.ones(1)}) or 0.0, want, rtol=1e-14)
    for f in (np.abs, np.arctan2, lambda x: np.floor(x) * x, lambda x: x.astype(np.float32)):
        args = (V, V) if f is np.arctan2 else (V,)
        assert complex_step(trace(f, args, {}).program, list(args), {0: np.ones(3)}) is None


@pytest.mark.parametrize(("rule", "way"), [("jvp", "forward"), ("vjp", "reverse"), ("both", "forward over reverse")])
def test_a_wrong_rule_is_named(rule: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The complex step uses no rule. Where the slope is a constant of its own slope, the second order is wrong only."""
    slope = lambda x, o: (OPS["stop_gradient"](1 - o * o) if rule == "both" else 2 - 2 * o * o,)
    for name, make in (("vjp", ew._vjp), ("jvp", ew._jvp)):
        if rule in (name, "both"):
            monkeypatch.setitem(OPS["tanh"].__dict__, name, make(slope))
    assert derivative_of(lambda x: np.tanh(x), V) == f"derivative: {way}"
    with pytest.raises(StageDiffers, match=f"derivative: {way}"):
        validate(lambda x: np.sum(np.tanh(x) * 3.0), [V], argnums=0, flags=False, kernels=False)
