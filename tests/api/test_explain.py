"""What `explain` says: facts that can be counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irad
from irad.call.stages import Stages
from irad.cli import main
from irad.core.ir import walk
from irad.core.notes import TOPICS, Notes, size_text
from irad.core.text import show
from irad.frontend.trace import trace
from irad.pipeline import native, optimise


def explained(f: Any, *args: Any) -> Stages:
    """The stages of a function, after a look at what they say: every line has a topic and is one line."""
    lowered = irad.compile(f).lower(*args) if not isinstance(f, irad.api.Function) else Stages.of(f, args, {})
    text = lowered.explain
    assert all("\n" not in d.text and d.topic in TOPICS and d.text in text for d in lowered.notes)
    return lowered


def loops(lowered: Stages) -> list[Any]:
    """Decisions on fused loops, without the reasons for others to be apart."""
    return [d.facts for d in lowered.notes.of("fusion") if "ops" in d.facts]


def flat(lowered: Stages) -> list[Any]:
    return [d.facts for d in lowered.notes.of("loop") if d.facts["form"] == "flat"]


def count(lowered: Stages) -> int:
    """Outermost loops that the graph has."""
    return sum(n.op.name == "loop" for n in next(iter(lowered.program.values())).nodes)


def test_chain() -> None:
    """Elementwise operations on 1,000 numbers: one loop, nothing in the arena."""
    low = explained(lambda x: np.sin(x) * np.exp(-x) + x * 2.0, np.zeros(1000))
    (loop,) = loops(low)
    assert count(low) == 1 and loop["space"] == (1000,) and loop["parts"] == 1
    assert loop["ops"] == ["sin", "exp", "mul", "mul", "add"]  # the negation is computed where it is read
    assert len(loop["stored"]) == 1 and loop["unstored"] == 4
    (run,) = flat(low)
    assert (run["order"][-1], run["extents"], run["lanes"]) == (run["vector"], [1000], 32)  # four registers of eight f64
    assert low.notes.table.arena == low.notes.table.peak == 0
    assert "arena: none" in low.explain and f"results: f64[1000]: {size_text(8000)}" in low.explain
    assert low.notes.of("threads")[0].facts["threads"] == 1


def test_fold_in_registers() -> None:
    low = explained(lambda x: np.sum(x * x), np.zeros(5000, np.float32))
    (run,) = flat(low)
    assert run["folds"] == ["add in registers in f64"] and run["lanes"] == 32  # two registers of sixteen f32


def test_strided_axis_gets_the_lanes() -> None:
    """Column sums of a matrix: lanes run along the axis with stride 1, which is the last one."""
    low = explained(lambda x: np.sum(x, axis=0), np.zeros((200, 64)))
    (run,) = flat(low)
    assert run["extents"] == [200, 64] and run["vector"] == run["order"][1] and run["folds"] == ["add in memory"]


def test_softmax() -> None:
    """Three loops over rows and columns that depend on each other row by row: one loop around three."""

    def softmax(x: Any) -> Any:
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    low = explained(softmax, np.zeros((64, 100)))
    (loop,) = loops(low)
    assert count(low) == 1 and (loop["parts"], loop["prefix"], loop["space"]) == (3, 1, (64, 100))
    (rows,) = [d.facts for d in low.notes.of("loop") if d.facts["form"] == "rows"]
    assert rows["inner_loops"] == 3 and rows["block"] == 1
    assert [r["folds"] for r in flat(low)] == [["maximum in registers"], ["add in registers"], []]
    assert all(r["inner"] and r["extents"] == [100] for r in flat(low))
    assert low.notes.table.arena == 0


def loss(w: Any, X: Any, y: Any) -> Any:
    z = X @ w
    return np.mean(np.logaddexp(0, z) - y * z)


def test_logistic_regression() -> None:
    """Forward, backward and both products in one pass over the matrix."""
    low = explained(irad.value_and_grad(loss), np.zeros(3), np.zeros((100, 3)), np.zeros(100))
    (mode,) = low.notes.of("mode")
    assert (mode.facts["mode"], mode.facts["numbers"], mode.facts["asked"]) == ("reverse", 3, "")
    (loop,) = loops(low)
    assert count(low) == 1 and loop["ops"].count("dot") == 2 and loop["space"] == (100, 3) and loop["prefix"] == 1
    assert [d.facts["kind"] for d in low.notes.of("contraction")] == ["loop", "loop"]
    (blocked,) = [d.facts for d in low.notes.of("loop") if d.facts["form"] == "blocked"]
    assert blocked["block"] == 100 and low.notes.table.arena == 0 and not low.notes.of("tape")


def test_matmul_with_epilogue() -> None:
    low = explained(lambda a, b, c: np.maximum(a @ b + c, 0.0), np.zeros((64, 32)), np.zeros((32, 48)), np.zeros(48))
    nest, tiles = low.notes.of("contraction")
    assert nest.facts["kind"] == "nest" and nest.facts["epilogue"] == ["add", "maximum"]
    assert tiles.facts["kind"] == "tiles" and tiles.facts["lanes"] == 8 and tiles.facts["epilogue"] == ["add", "maximum"]
    registers = tiles.facts["rows"][0] * tiles.facts["columns"] // 8  # vectors of 64 bytes, which may be two registers each
    assert 4 <= registers <= 28 and count(low) == 1 and not loops(low)


def test_large_product_is_left_to_a_library() -> None:
    low = explained(lambda a, b: a @ b, np.zeros((600, 600)), np.zeros((600, 600)))
    apart, call = low.notes.of("contraction")
    assert apart.facts["kind"] == "apart" and call.facts["kind"] in ("blas", "loops") and call.facts["mnk"] == (600, 600, 600)


def test_a_loop_that_is_apart_says_why() -> None:
    """A normalised vector: the sum is complete only when its loop has run."""
    low = explained(lambda x: x / np.sum(np.exp(x)), np.zeros(9000))
    first, second = loops(low)
    assert first["ops"] == ["exp", "sum"] and second["ops"] == ["div"]
    reasons = [d.facts["reason"] for d in low.notes.of("fusion") if "apart" in d.facts]
    assert reasons == ["the sum is a fold (add) that is complete only when its loop ends"]


def test_siblings() -> None:
    low = explained(lambda x: (np.sum(x), np.max(x)), np.zeros(9000))
    (loop,) = loops(low)
    assert loop["sibling"] and sorted(loop["ops"]) == ["max", "sum"]
    assert "they read the same memory" in low.explain


def test_recomputed_stencil() -> None:
    """The adjoint of a difference is read at shifted positions; the producer is computed again there."""

    def energy(x: Any) -> Any:
        d = x[1:] - x[:-1]
        return np.sum(d * d)

    low = explained(irad.grad(energy), np.zeros(10_000))
    (found,) = low.notes.of("recompute")
    assert (
        "computed again where it is read, at 3 places" in found.text and found.facts["readers"] == 3
    )  # the ends, and all between


def test_peak_of_the_arena() -> None:
    """Two running sums of 1,000 numbers are live at once: 16,000 bytes (8,000 each, whole lines of 64 bytes)."""

    def f(x: Any) -> Any:
        a = np.cumsum(x)
        b = np.cumsum(a)
        return np.cumsum(a * b)

    low = explained(f, np.zeros(1000))
    table = low.notes.table
    assert table.arena == table.peak == 16_000
    assert sorted((h.name, h.type, h.bytes) for h in table.holders) == [("%a", "f64[1000]", 8000), ("%b", "f64[1000]", 8000)]
    a = next(h for h in table.holders if h.name == "%a")
    start = f.__code__.co_firstlineno
    assert a.first is not None and a.last is not None and (a.first.line, a.last.line) == (start + 1, start + 3)
    assert f"of which {size_text(16_000)} in use" in low.explain


@pytest.mark.plain
def test_padding_counts() -> None:
    """10 numbers of 8 bytes take two lines of 64 bytes."""

    def f(x: Any) -> Any:
        a = np.cumsum(x)
        return np.cumsum(np.cumsum(a))

    table = explained(f, np.zeros(10)).notes.table
    assert table.peak == sum(h.bytes for h in table.holders) and all(h.bytes == 128 for h in table.holders)
    assert table.arena == explained(f, np.zeros(10)).native.lowered.arena


def test_kept_for_the_backward() -> None:
    """The hidden layer of a perceptron is made by the forward and read by the backward."""

    def f(w: Any, v: Any, x: Any) -> Any:
        h = np.tanh(x @ w)
        return np.sum((h @ v) ** 2)

    low = explained(irad.grad(f, argnums=(0, 1)), np.zeros((40, 30)), np.zeros((30, 20)), np.zeros((50, 40)))
    kept = [h for h in low.notes.table.holders if h.kept]
    assert any(h.type == "f64[50,30]" and h.bytes == 12_032 for h in kept)  # 12,000 bytes, in whole lines
    assert "kept for the backward" in low.explain


def test_written_in_place() -> None:
    low = explained(lambda x: np.cumsum(np.cumsum(x)) * 2.0, np.zeros(1000))
    (over,) = [d for d in low.notes.of("memory") if d.facts.get("over")]
    assert "is written over" in over.text and low.notes.table.arena == 8000


def test_copies_say_why() -> None:
    def f(x: Any) -> Any:
        x[0] = 1.0
        return np.sum(x)

    low = explained(f, np.zeros(1000))
    (copied,) = [d for d in low.notes.of("memory") if "copied" in d.facts]
    assert copied.facts["copied"] == 8000 and "read only" in copied.text


def test_tape() -> None:
    """Each trip keeps two rows of 100 numbers: x, and its sine."""

    def f(x: Any) -> Any:
        for _ in range(100):
            x = np.sin(x) * x
        return np.sum(x)

    low = explained(irad.value_and_grad(f), np.zeros(100))
    (tape,) = low.notes.of("tape")
    assert "%x f64[100], the sin f64[100]; 1600 bytes" in tape.text
    assert tape.facts["bytes"] == 1600 and "tapes: 1" in low.explain
    trips = [d.facts["trips"] for d in low.notes.of("loop") if d.facts["form"] == "for"]
    assert trips == [100, 100]  # the forward and the backward


@pytest.mark.parametrize("asked, mode", [("auto", "forward"), ("forward", "forward"), ("reverse", "reverse")])
def test_mode(asked: str, mode: str) -> None:
    def f(x: float, y: float) -> float:
        for _ in range(50):
            x = x * y + 0.5 * x
        return x

    low = explained(irad.value_and_grad(f, argnums=(0, 1), mode=asked), 0.3, 0.4)
    (found,) = low.notes.of("mode")
    assert (found.facts["mode"], found.facts["numbers"]) == (mode, 2)
    assert "as asked for" in found.text if asked != "auto" else "no tape" in found.text
    assert bool(low.notes.of("tape")) == (mode == "reverse")


def test_small_arrays_in_registers() -> None:
    def f(x: Any) -> Any:
        for _ in range(10):
            x = x + 0.1 * x[::-1]
        return x

    low = explained(f, np.zeros(3))
    (found,) = low.notes.of("registers")
    assert "in registers" in found.text and found.facts["operations"] >= 6 and low.notes.table.arena == 0


def test_sweep() -> None:
    """An in-place sweep runs four rows at a time; the axes of the program keep their order."""

    def sweep(u: Any) -> Any:
        for i in range(1, 39):
            for j in range(1, 49):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        return u

    low = explained(sweep, np.zeros((40, 50)))
    facts = [d.facts for d in low.notes.of("loop")]
    assert [d["trips"] for d in facts if d["form"] == "for"] == [38, 48]
    (skewed,) = [d for d in facts if d["form"] == "skewed"]
    assert (skewed["rows"], skewed["lag"]) == (4, 1)


def test_stencil_by_slices() -> None:
    """A step by slices: one loop, lanes along the columns."""
    low = explained(lambda u: 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]), np.zeros((40, 66)))
    (loop,), (run,) = loops(low), flat(low)
    assert loop["space"] == (38, 64) and run["extents"] == [38, 64] and run["vector"] == run["order"][1] and run["lanes"] == 8


def test_threads() -> None:
    low = irad.compile(lambda x: np.sin(x) * x, threads=3).lower(np.zeros(1 << 20))
    (found,) = low.notes.of("threads")
    if found.facts["threads"] == 1:
        pytest.skip("no threads here")
    assert found.facts["threads"] == 3 and found.facts["chunk"] >= 1


def test_notes_change_nothing() -> None:
    """The graph and the code are the same, whether somebody listens or not."""
    args = (np.zeros(3), np.zeros((100, 3)), np.zeros(100))
    for f in (loss, irad.value_and_grad(loss)):
        notes = Notes()
        with_notes = optimise(trace(f, args, {}, notes=notes).program, notes=notes)
        without = optimise(trace(f, args, {}).program)
        assert show(with_notes) == show(without)
        assert native(with_notes, notes=notes).kernel_text == native(without).kernel_text
        assert sum(1 for g in without.values() for _ in walk(g)) and list(notes)


def test_tables_add_up() -> None:
    """On programs of several shapes: holders add up to the peak, which the arena holds."""
    programs = [
        (lambda x: np.sort(np.cumsum(x))[::-1] + np.cumsum(x), (np.zeros(300),)),
        (irad.grad(lambda x: np.sum(np.cumsum(np.sin(x)) ** 2)), (np.zeros(300),)),
        (lambda a: np.linalg.inv(a) @ np.cumsum(a, axis=0), (np.eye(20),)),
    ]
    for f, args in programs:
        table = explained(f, *args).notes.table
        assert sum(h.bytes for h in table.holders) == table.peak <= table.arena and all(h.bytes > 0 for h in table.holders)


# ---- the command -----------------------------------------------------------------------------------------------------------


SOURCE = """
import numpy as np

def loss(w, X, y):
    z = X @ w
    return np.mean(np.logaddexp(0, z) - y * z)
"""


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.py"
    path.write_text(SOURCE)
    assert main(["explain", f"{path}:loss", "f64[3]", "f64[100,3]", "f64[100]", "--grad", "--wrt", "w,X,y"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("@value_and_grad_loss(w: f64[3], X: f64[100,3], y: f64[100])\n")
    assert "line 5: one loop over (100, 3)" in out and "arena: none" in out and "\nderivatives\n  reverse: 403 numbers" in out
    assert main(["explain", f"{path}:loss", "f64[3]", "f64[100,3]", "f64[100]", "--threads", "1", "--fastmath", "all"]) == 0
    assert "derivatives" not in capsys.readouterr().out


def test_command_on_a_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.irad"
    path.write_text(show({"f": trace(lambda x: np.sin(x) * x, (np.zeros(1000),), {}, name="f").graph}))
    assert main(["explain", str(path)]) == 0
    out = capsys.readouterr().out
    assert "one loop over (1000,): sin, mul" in out
    assert main(["explain", str(path), "f64"]) == 1
    assert "leave out f64" in capsys.readouterr().err


def test_errors_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.py"
    path.write_text(SOURCE)
    for args in ([f"{path}:nothing"], [f"{path}:loss", "f64[3]"], [f"{path}:loss", "f99"], ["missing.py:f"], ["missing.irad"]):
        assert main(["explain", *args]) == 1
        out, err = capsys.readouterr()
        assert not out and err.startswith("irad: error:") and "Traceback" not in err
