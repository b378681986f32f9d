"""What `import irad` and a first call load. Modules are counted in fresh processes, which no load of the machine changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIRST_CALL = "import numpy as np, irad; irad.value_and_grad(lambda x: np.sum(np.sin(x) * x))(np.ones(3))"


def loaded(statements: str) -> set[str]:
    """The modules after these statements in a new process, but those that NumPy loads."""
    script = f"import numpy, sys; before = set(sys.modules)\n{statements}\nprint(*(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


RARE = {"scipy", "lark", "difflib", "json", "irad.text", "irad.sparse", "irad.pullback", "irad.custom", "irad.cli"}
RARE |= {f"irad.passes.{m}" for m in ("batching", "batching_control", "jacobian", "sparsity", "colouring")}
RARE |= {f"irad.frontend.{m}" for m in ("np_fft", "np_einsum", "np_linalg_spectral", "np_pad", "np_signal", "sp_special")}


def own(modules: set[str]) -> set[str]:
    return {m for m in modules if m.split(".")[0] == "irad"}


def test_import_loads_what_a_call_needs() -> None:
    imported, called = loaded("import irad"), loaded(FIRST_CALL)
    assert not called & RARE
    assert len(own(called)) <= 235
    assert {m.rpartition(".")[2].partition("_")[0] for m in own(called) - own(imported)} <= {"poly", "scalar"}


@pytest.mark.parametrize("name", ["callback", "check_grads", "custom_jvp", "custom_vjp", "load", "stop_gradient"])
def test_later_names(name: str) -> None:
    """Names whose modules load at first use are there, in `dir` too, and stay the same objects."""
    loaded(f"import irad; assert {name!r} in dir(irad); assert irad.{name} is irad.{name}; from irad import {name}")


def test_unknown_names() -> None:
    loaded("import irad; assert not hasattr(irad, 'gard'); assert all(hasattr(irad, n) for n in irad.__all__)")


def test_rare_modules_register_functions_only() -> None:
    """Methods, attributes and operators are looked up by name, without a second look."""
    loaded(
        "from irad.frontend import table as t\n"
        "count = lambda: [len(d) for d in (t.METHODS, t.ATTRIBUTES, t.OPERATORS, t.VIEWS)]\n"
        "names, counts = len(t.NAMES), count()\n"
        "assert t.load_all() and count() == counts and len(t.NAMES) > names and not t.load_all()"
    )


@pytest.mark.parametrize(
    "call",
    ["np.sum(np.real(np.fft.fft(np.ones(4) + x)))", "np.sum(np.linalg.svd(np.eye(2) * x)[1])", "np.add.reduce(x * np.ones(3))"],
)
def test_rare_functions_are_found(call: str) -> None:
    loaded(
        f"import numpy as np, irad; f = lambda x: {call}\nassert abs(irad.compile(eval({f'lambda x: {call}'!r}))(2.0) - f(2.0)) < 1e-12"
    )


def test_collection_is_as_it_was() -> None:
    loaded(f"import gc\n{FIRST_CALL}\nassert gc.isenabled()\ngc.disable()\n{FIRST_CALL}\nassert not gc.isenabled()")
