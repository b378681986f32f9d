"""What `import irad` and a first call load. Modules are counted in fresh processes, which no load of the machine changes."""

from __future__ import annotations

import ast
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


RARE = {"scipy", "lark", "difflib", "irad.core.text", "irad.call.sparse", "irad.call.pullback", "irad.custom", "irad.cli"}
RARE |= {
    f"irad.passes.{m}"
    for m in ("batching.vmap", "batching.control", "derivatives.jacobian", "analyses.sparsity", "analyses.colouring")
}
RARE |= {f"irad.frontend.{m}" for m in ("numpy.fft", "numpy.einsum", "numpy.linalg_spectral", "scipy.special")}


def own(modules: set[str]) -> set[str]:
    return {m for m in modules if m.split(".")[0] == "irad"}


@pytest.mark.plain  # code that checks its memory needs more
def test_import_loads_what_a_call_needs() -> None:
    called = loaded(FIRST_CALL)
    assert not called & RARE
    assert len(own(called)) <= 379


@pytest.mark.plain
def test_import_loads_what_a_call_needs_whose_code_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRAD_CACHE", "1")
    monkeypatch.setenv("IRAD_CACHE_DIR", str(tmp_path))
    loaded(FIRST_CALL)
    imported, called = loaded("import irad"), loaded(FIRST_CALL)
    assert len(own(imported)) <= 215
    assert own(called) == own(imported)


def test_import_touches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread, no file, no variable of the environment."""
    monkeypatch.delenv("IRAD_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    loaded(
        "import os, threading; state = lambda: (dict(os.environ), os.listdir('/proc/self/task') if os.path.isdir('/proc/self') else 0)\n"
        "was = state(); import irad; assert state() == was and threading.active_count() == 1"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["callback", "check_grads", "custom_jvp", "custom_vjp", "load", "stop_gradient"])
def test_later_names(name: str) -> None:
    """Names whose modules load at first use are there, in `dir` too, and stay the same objects."""
    loaded(f"import irad; assert {name!r} in dir(irad); assert irad.{name} is irad.{name}; from irad import {name}")


def unguarded(tree: ast.AST, loaded: set[str]) -> list[str]:
    """Imports of modules that are not loaded yet, in functions, that a fork by another thread does not wait for."""
    if isinstance(tree, ast.FunctionDef) and "once" in map(ast.unparse, tree.decorator_list):  # holds the lock
        return []
    if isinstance(tree, ast.With) and any(ast.unparse(i.context_expr) == "COMPILER" for i in tree.items):
        return []
    if isinstance(tree, ast.ImportFrom):
        names = [tree.module or "", *(f"{tree.module}.{a.name}" for a in tree.names)]
        return [] if tree.module in loaded else names[:1]
    if isinstance(tree, ast.Call) and ast.unparse(tree.func).endswith("import_module"):
        return ["import_module"]
    if isinstance(tree, ast.Import):
        return [a.name for a in tree.names if a.name not in loaded]
    return [m for child in ast.iter_child_nodes(tree) for m in unguarded(child, loaded)]


PROGRAMS = {"cli.py", "train.py"}  # run by themselves, before any thread


def test_forks_wait_for_imports_at_first_use() -> None:
    """A child can never import what another thread of its parent was importing."""
    there = loaded("import irad") | {"numpy"}
    files = [f for d in ("irad", "passes", "codegen") for f in (ROOT / d).rglob("*.py") if f.name not in PROGRAMS]
    functions = [(f, n) for f in files for n in ast.walk(ast.parse(f.read_text())) if isinstance(n, ast.FunctionDef)]
    assert len(functions) > 1000
    assert [(f.name, n.name, bad) for f, n in functions if (bad := unguarded(n, there))] == []


def test_unknown_names() -> None:
    loaded("import irad; assert not hasattr(irad, 'gard'); assert all(hasattr(irad, n) for n in irad.__all__)")


def test_rare_modules_register_functions_only() -> None:
    """Methods, attributes and operators are looked up by name, without a second look."""
    loaded(
        "from irad.frontend.numpy import table as t\n"
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
