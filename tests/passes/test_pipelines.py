"""The two pipelines: each pass finds what it needs, and none comes too late."""

from __future__ import annotations

import pytest

from irad.codegen.transform.manager import KERNEL_PIPELINE
from irad.core.ir import Program
from irad.core.pipelines import in_order
from irad.core.text import parse
from irad.core.verify import verify
from irad.errors import VerifyError
from irad.passes.manager import PASSES, Pass
from irad.pipeline import PIPELINE, optimise


def test_both_are_in_order() -> None:
    assert in_order(PIPELINE, PASSES) == PIPELINE
    assert in_order(KERNEL_PIPELINE, KERNEL_PIPELINE) == tuple(KERNEL_PIPELINE)


@pytest.mark.parametrize(
    "names, message",
    [
        (("fuse", "expand"), "pass fuse needs what no pass before it makes: contracted, real"),
        (
            ("expand", "custom", "complex_parts", "fuse_dot", "versions"),
            "pass versions comes too late: the program is contracted",
        ),
        (("expand", "custom", "expand"), "pass expand comes too late: the program is plain"),
        ((*PIPELINE, "dce"), "pass dce comes too late: the program is planned"),
    ],
)
def test_a_pass_at_the_wrong_place(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(VerifyError, match=message):
        in_order(names, PASSES)


def test_without_one_pass_another_lacks_something() -> None:
    """Facts are needed for a reason: nearly every maker is missed."""
    makers = {n for n in PIPELINE if PASSES[n].makes} - {"plan"}
    for name in makers:
        with pytest.raises(VerifyError):
            in_order([n for n in PIPELINE if n != name], PASSES)


def test_a_kernel_pass_at_the_wrong_place() -> None:
    with pytest.raises(VerifyError, match="pass shared needs what no pass before it makes: skewed"):
        in_order(("shared", "skewed"), KERNEL_PIPELINE)
    with pytest.raises(VerifyError, match="pass polled comes too late: the program is outlined"):
        in_order(("skewed", "shared", "outlined", "polled"), KERNEL_PIPELINE)


@pytest.mark.parametrize("each", ["0", "1"])
def test_the_pass_at_fault_is_named(each: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where programs are verified only at the end."""

    def swapped(program: Program) -> Program:
        name, graph = next(iter(program.items()))
        return {**program, name: graph.replace(nodes=graph.nodes[::-1])}

    monkeypatch.setenv("IRAD_VERIFY", each)
    monkeypatch.setitem(PASSES, "licm", Pass(swapped))
    program = parse("func @f(%x: f64) -> f64 {\n  %y: f64 = exp %x\n  %z: f64 = sin %y\n  return %z\n}")
    with pytest.raises(VerifyError, match="licm"):
        optimise(verify(program))
