"""The layers: a module imports only from lines above its own, inside functions too, and nobody imports `passes`."""

from __future__ import annotations

import ast
import functools
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"irad": ROOT / "irad", "irad.passes": ROOT / "passes", "irad.codegen": ROOT / "codegen"}

# Modules of one line may use each other; a line uses the lines above it. A name stands for what is below it too.
LAYERS: list[set[str]] = [
    {"irad.core", "irad.errors", "irad.elsewhere"},
    {"irad.ops"},
    {"irad.core.text", "irad.core.reading", "irad.core.verify", "irad.core.interp"},
    {"irad.frontend", "irad.passes", "irad.codegen"},
    {
        "irad.options",
        "irad.pipeline",
        "irad.call",
        "irad.explain",
        "irad.custom",
        "irad.validation",
        "irad.api",
        "irad.directional",
        "irad.ahead",
        "irad.flat",
        "irad.mpi",
    },
    {
        "irad.validation.check_grads",
        "irad.graph",
        "irad.interop",
        "irad.train",
        "irad.given",
        "irad.ahead.command",
        "irad.cli",
        "irad.__main__",
        "irad",
    },
]
APART = LAYERS[3]  # never each other
# The same within a package; a set is a line, and what is not named stands above all lines (what runs the others).
WITHIN: dict[str, list[set[str]]] = {
    "irad.core": [
        {
            "affine",
            "types",
            "dependence",
            "lazy_dataclass",
            "garbage",
            "notes",
            "once",
            "array_classes",
            "structured",
            "switches",
            "foreign",
        },
        {"ir", "tree", "rows"},
    ],
    "irad.frontend": [
        {"registry", "values", "syntax"},
        {"activations"},
        {"reader"},
        {"control", "numpy", "python", "scipy"},
        {"transforms"},
        {"library"},
        {"reading"},
        {"bound", "arguments"},
        {"trace"},
    ],
    "irad.passes": [
        {"rewrite"},
        {"analyses"},
        {"clean"},
        {"small_arrays"},
        {"complex"},
        {"batching"},
        {"derivatives"},
        {"fusion"},
        {"contractions"},
        {"memory"},
        {"manager"},
    ],
    "irad.codegen": [
        {"llvm_text", "llvm_files", "selections", "jit", "interface"},
        {"kernel"},
        {"libraries"},
        {"lower", "schedule"},
        {"transform"},
        {"math"},
        {"emit"},
        {"call"},
    ],
}
OPS = ["core", "constant", "elementwise", "array", "control", "loop"]  # in this order, others anywhere after `core`


def modules() -> dict[str, Path]:
    """Every module of the package by its import name."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if package == "irad" and parts[0] in ("passes", "codegen"):  # the symlinks
                continue
            found[".".join([package, *(p for p in parts if p != "__init__")])] = path
    return found


MODULES = modules()


@functools.cache
def tree_of(path: Path) -> tuple[list[ast.AST], list[str]]:
    """The imports of a file, and what may be around them; its lines."""
    text = path.read_text(encoding="utf-8")
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.If)
    return [n for n in ast.walk(ast.parse(text)) if isinstance(n, kinds)], text.splitlines()


def imports(path: Path, module: str) -> Iterator[tuple[str, int]]:
    """(imported name, line), for every import statement in the file; `from irad.ops import array` imports irad.ops.array."""
    for node in tree_of(path)[0]:
        if isinstance(node, ast.Import):
            yield from ((a.name, node.lineno) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: relative import; write the whole name"
            for a in node.names:
                full = f"{node.module}.{a.name}"
                yield (full if full in MODULES else node.module or "", node.lineno)


def layer(module: str) -> int:
    """The line that a module stands on."""
    below = lambda name: name != "irad" and module.startswith(name + ".")
    found = [(len(name), k) for k, names in enumerate(LAYERS) for name in names if module == name or below(name)]
    assert found, f"{module} stands on no layer: say in LAYERS where it belongs"
    return max(found)[1]  # the longest name


def part(module: str) -> str | None:
    return next((a for a in APART if module == a or module.startswith(a + ".")), None)


@pytest.mark.parametrize("module", MODULES)
def test_imports_only_from_above(module: str) -> None:
    here = layer(module)
    for name, line in imports(MODULES[module], module):
        assert name.split(".")[0] not in ("passes", "codegen"), f"{module}:{line}: write irad.{name}"
        if name.split(".")[0] != "irad":
            continue
        there = layer(name)
        assert there <= here, f"{module}:{line} imports {name}, which stands below it"
        if there == here == LAYERS.index(APART):
            assert part(name) == part(module), f"{module}:{line} imports {name}: these parts never use each other"


def within(package: str, module: str) -> int | None:
    """The line of a package's own order that a module stands on."""
    if not module.startswith(package + "."):
        return None
    head = module.removeprefix(package + ".").split(".")[0]
    return next((k for k, names in enumerate(WITHIN[package]) if head in names), None)


@pytest.mark.parametrize("package", WITHIN)
def test_order_within_a_package(package: str) -> None:
    for module in MODULES:
        here = within(package, module)
        for name, line in imports(MODULES[module], module) if here is not None else ():
            there = within(package, name)
            assert there is None or there <= here, f"{module}:{line} imports {name}, which stands below it"


def test_each_folder_has_its_line() -> None:
    for package in ("irad.frontend", "irad.passes", "irad.codegen"):
        heads = {m.removeprefix(package + ".").split(".")[0] for m in MODULES if m.startswith(package + ".")}
        assert heads == set().union(*WITHIN[package]), "say in WITHIN where a folder belongs"


@pytest.mark.parametrize("module", [m for m in MODULES if m.startswith("irad.ops.")])
def test_ops_in_order(module: str) -> None:
    short = module.removeprefix("irad.ops.")
    for name, line in imports(MODULES[module], module):
        other = name.removeprefix("irad.ops.")
        if name.startswith("irad.ops.") and short in OPS and other in OPS:
            assert OPS.index(other) < OPS.index(short), f"{module}:{line} imports {name}, which comes after it"


def test_an_import_inside_a_function_counts(tmp_path: Path) -> None:
    path = tmp_path / "late.py"
    path.write_text("def f():\n    from irad.ops import array\n    import irad.passes.clean.cse\n")
    assert list(imports(path, "late")) == [("irad.ops.array", 2), ("irad.passes.clean.cse", 3)]


def test_ops_do_not_import_llvmlite() -> None:
    for module, path in MODULES.items():
        if not module.startswith("irad.codegen"):
            assert all(name.split(".")[0] != "llvmlite" for name, _ in imports(path, module)), module


def nested(nodes: Iterable[ast.AST], inside: Callable[[ast.AST], bool]) -> set[ast.AST]:
    """The imports that stand in the parts of a module that `inside` tells."""
    nodes = list(nodes)
    spans = [(p.lineno, p.end_lineno or p.lineno) for p in nodes if inside(p)]
    found = (n for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)))
    return {n for n in found if any(a <= n.lineno <= b for a, b in spans)}


def in_functions(nodes: Iterable[ast.AST]) -> list[ast.Import | ast.ImportFrom]:
    return sorted(nested(nodes, lambda n: isinstance(n, ast.FunctionDef)), key=lambda n: n.lineno)


def test_an_import_in_a_function_says_why() -> None:
    """On its own line: what is imported late delays a call, and hides what a module needs."""
    silent = []
    for module, path in MODULES.items():
        nodes, lines = tree_of(path)
        silent += [f"{module}:{n.lineno}" for n in in_functions(nodes) if "  # " not in lines[n.lineno - 1]]
    assert silent == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    """At import, that is: what is for type checkers, or in functions, is not counted."""
    graph = {}
    for module, path in MODULES.items():
        apart = nested(
            tree_of(path)[0],
            lambda n: isinstance(n, ast.FunctionDef) or isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test),
        )
        later = {n.lineno for n in apart if isinstance(n, (ast.Import, ast.ImportFrom))}
        graph[module] = {name for name, line in imports(path, module) if name in MODULES and line not in later} - {module}
    tuple(TopologicalSorter(graph).static_order())  # raises CycleError


def test_a_silent_import_and_a_cycle_are_found() -> None:
    assert [
        n.lineno for n in in_functions(ast.walk(ast.parse("import a\n\n\ndef f():\n    import b\n    from c import d\n")))
    ] == [5, 6]
    with pytest.raises(CycleError):
        tuple(TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())


LONGEST = 450
TABLES = {
    "irad.ops.elementwise": "the rows of the elementwise ops",
    "irad.frontend.library.stats.distributions": "the rules of the distributions",
}


def test_no_source_file_is_long() -> None:
    """Split by meaning, or say here what table it is."""
    lengths = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in MODULES.items()}
    assert {m: n for m, n in lengths.items() if n > LONGEST and m not in TABLES} == {}
    assert all(lengths[m] > LONGEST for m in TABLES), "no exception is needed any more"


def test_every_folder_is_installed() -> None:
    """An editable install finds modules that a wheel would leave out."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = os.walk(ROOT / "irad", followlinks=True)
    found = {".".join(Path(d).relative_to(ROOT).parts) for d, _, files in folders if any(f.endswith(".py") for f in files)}
    assert found == set(settings["packages"])
