"""The two pipelines: each pass finds what it needs, and none comes too late."""

from __future__ import annotations

import pytest

from irad.codegen.transform.manager import KERNEL_PIPELINE
from irad.core.pipelines import in_order
from irad.errors import VerifyError
from irad.passes.manager import PASSES
from irad.pipeline import PIPELINE


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
