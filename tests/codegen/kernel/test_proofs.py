"""What is proved of kernels: definite assignment, lanes and threads that do not meet, indices within their buffers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import irad
from irad.codegen.kernel.assigned import Proofs, prove
from irad.codegen.kernel.parse import parse
from irad.codegen.lower.arena import arena_size
from irad.codegen.lower.graph import lower
from irad.codegen.transform.manager import kernel_forms
from irad.codegen.transform.memory_check import memory_checked
from irad.core.ir import Program
from irad.errors import UnsupportedError, VerifyError
from irad.passes.derivatives.autodiff import vjp
from irad.pipeline import optimise
from tests.support import ROOT
from tests.support.matrix_programs import (
    attention,
    centred_layer,
    covariance,
    norm_layer,
    scaled_gram,
    softmax_layer,
    two_products,
)
from tests.support.programs import CASES

GOLDEN = ROOT / "tests" / "golden" / "proofs" / "unproven.txt"


def proofs(body: str, params: str = "x: f64[64], n: i64") -> tuple[Counter[str], list[str]]:
    """How much of each kind is unproven in a kernel, and the statements."""
    found = prove(parse(f"def f({params}):\n" + "".join(f"    {line}\n" for line in body.splitlines())))
    return Counter(u[0] for u in found.unproven), [u[2] for u in found.unproven]


WRITE = "b = buf(f64, 8)\nfor i in vec(0, 8, W=4):\n    b[i] = 1.0\n"
READ = "for j in seq(0, 8):\n    v: f64 = b[j]\n    x[j] = v"


def test_written_whole() -> None:
    assert proofs(WRITE + READ) == ({}, [])


def test_a_part_is_left_out() -> None:
    assert proofs(WRITE.replace("vec(0, 8,", "vec(0, 4,") + READ)[0] == {"read": 1}
    assert proofs(WRITE.replace("vec(0, 8,", "vec(0, n,") + READ)[0] == {"read": 1}
    assert proofs(WRITE.replace("b[i]", "b[2*i]").replace("8, W", "4, W") + READ)[0] == {"read": 1}


def test_it_may_not_have_run() -> None:
    write = "b = buf(f64, 8)\nc: bool = n > 0\nif c:\n    for i in vec(0, 8, W=4):\n        b[i] = 1.0\n"
    assert proofs(write + READ)[0] == {"read": 1}
    inside = "b = buf(f64, 8)\nfor k in seq(0, n):\n" + "".join(f"    {l}\n" for l in WRITE.splitlines()[1:]) + READ
    assert proofs(inside)[0] == {"read": 1}


def test_triangles_of_what_is_written_whole() -> None:
    assert proofs(WRITE + "for j in seq(0, 8):\n    for k in seq(0, j+1):\n        v: f64 = b[j-k]\n        x[j] = v") == ({}, [])


def test_nothing_comes_before() -> None:
    with pytest.raises(VerifyError, match="`b` is read before anything is stored to it: v: f64 = b"):
        proofs("b = buf(f64, 8)\n" + READ)
    with pytest.raises(VerifyError, match="`b` is read before anything is stored"):
        proofs(WRITE + "for k in seq(0, n):\n    begin(b[0], 8)\n    for j in seq(0, 8):\n        b[j] += 1.0")


def test_a_life_ends_where_another_begins() -> None:
    """After a loop that fills half of a new life, and in its second trip, the first life is no help."""
    half = "for k in seq(0, n):\n    begin(b[0], 8)\n    for j in seq(0, 4):\n        b[j] = 1.0\n"
    assert proofs(WRITE + half + READ)[0] == {"read": 1}
    top = half.replace("    begin", "    u: f64 = b[0]\n    x[0] = u\n    begin")
    assert proofs(WRITE + top)[0] == {"read": 1}
    assert proofs(WRITE + top.replace("seq(0, 4)", "seq(0, 8)")) == ({}, [])


def test_lanes_that_meet() -> None:
    loop = "for i in vec(0, 8, W=4):\n    for k in seq(0, 4):\n        v: f64 = x[{r}]\n        x[{w}] = v"
    assert proofs(loop.format(r="8*i+k", w="8*i+k+4")) == ({}, [])
    assert proofs(loop.format(r="8*i+k", w="3*i+k"))[0] == {"lanes": 1}
    assert proofs(loop.format(r="i+8*k", w="i+8*k")) == ({}, [])


def test_threads_that_meet() -> None:
    loop = "for i in par(0, 8):\n    for k in vec({lo}, {hi}, W=4, full=1):\n        x[k] = 1.0"
    assert proofs(loop.format(lo="4*i", hi="4*i+4")) == ({}, [])
    assert proofs(loop.format(lo="3*i", hi="3*i+4"))[0] == {"threads": 1}


def corpus() -> list[tuple[str, Program]]:
    out = [(f"{c.name} {kind}", p) for c in CASES for kind, p in (("value", c.program), ("vjp", vjp(c.program)))]
    rng = np.random.default_rng(0)
    x, w = rng.random((16, 40)), rng.random((40, 40))
    for f in (softmax_layer, covariance, centred_layer, norm_layer, two_products, attention, scaled_gram):
        loss = lambda x, w: np.sum(f(x, w) ** 2)  # noqa: B023
        c = irad.compile(loss)
        out += [(f"{f.__name__} value", c.lower(x, w).program), (f"{f.__name__} grad", c.lower(x, w, grad=True).program)]
    return out


def test_what_is_not_proved_of_many_programs(request: pytest.FixtureRequest) -> None:
    """Each statement that is not proved, and how many indices of each program; `pytest --bless` accepts them.

    Positions on a tape are known as it runs only, so they are not listed.
    """
    lines: list[str] = []
    reads = 0
    for name, program in corpus():
        try:
            planned = program if any(v.at for g in program.values() for v in g.results) else optimise(program)
            lowered = lower(planned, arena_size(next(iter(planned.values()))), lives=True)
        except UnsupportedError:
            continue
        found = Proofs()
        for _, kernels in kernel_forms(lowered, 2, False):
            found = prove(kernels)
        reads += found.total.get("read", 0)
        lines += [f"{name}: {kind} of {buf}: {what}" for kind, _, what, buf in found.unproven]
        _, accesses = memory_checked(kernels, lowered)
        bounds = [what for _, what, buf in accesses.unproven if not buf.startswith("mem")]
        lines += [f"{name}: {len(bounds)} indices"] * bool(bounds)
    assert reads > 400
    text = "".join(f"{line}\n" for line in lines)
    if request.config.getoption("bless"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
