"""The op row is the one place for what is known of an op."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from irad.ops import OPS
from irad.ops.core import HEAVY
from tests.support import ROOT

FOLDERS = ("passes", "codegen", "irad/core", "irad/call", "irad/ahead", "irad/validation")
FILES = sorted(p for d in FOLDERS for p in (ROOT / d).rglob("*.py"))

# Tables that are about one thing only that the module does, not facts about ops that another module could ask for.
OWN = {
    "wholes.PASS_ON": "what a monomial is read through",
    "expand.TRANSFORMS": "what the pass expands",
    "custom.CUSTOM": "what the pass takes apart",
    "complex_parts._BY_PART": "how an op on complex numbers is taken apart",
    "shape_rules.STRUCTURAL": "which ops have a rule here",
    "poly.ABSOLUTE": "how far off the polynomials are",
    "tape_places.READERS": "what looks an array up by its place",
    "facts._COMPARE": "comparisons as inequalities",
    "kernels._CONTRACT": "LLVM",
    "values._FCMP": "LLVM",
    "values._SCMP": "LLVM",
    "values._UCMP": "LLVM",
    "split_trips.CONNECTIVES": "which conditions follow from others",
    "split_trips.ORDERS": "comparisons as inequalities",
    "unswitch.(BELOW, ABOVE)": "comparisons as inequalities",
    "show.INFIX": "how kernel form is written",
    "affine.LINEAR": "what integers compute: the rows are above it",
    "notes.TOPICS": "passes, some of which have the names of ops",
    "fingerprint.HOSTS": "what calls Python",
    "functions._TAKEN": "words of C",
    "derivatives._MOVES": "what keeps numbers that are computed beside others",
    "derivatives._ANALYTIC": "which derivatives a complex step can check",
}


def tables(path: Path) -> Iterator[str]:
    """Collections of two op names or more that stand at the top of a module and hold no functions."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        for inner in ast.walk(node.value) if targets and node.value is not None else ():  # type: ignore[attr-defined]
            if isinstance(inner, ast.Dict):
                names = [k for k, v in zip(inner.keys, inner.values) if isinstance(v, (ast.Constant, ast.Tuple))]
            elif isinstance(inner, (ast.Set, ast.Tuple, ast.List)):
                names = list(inner.elts)
            elif isinstance(inner, ast.Call) and isinstance(of := getattr(inner.func, "value", None), ast.Constant):
                names = [ast.Constant(word) for word in str(of.value).split()]  # "exp log".split()
            else:
                continue
            if sum(isinstance(k, ast.Constant) and k.value in OPS for k in names) >= 2:
                yield f"{path.stem}.{ast.unparse(targets[0])}"


def asked(path: Path) -> Iterator[frozenset[str]]:
    """The sets of op names, or of ops, of which a module asks somewhere whether an op is one of them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for right in node.comparators if isinstance(node, ast.Compare) else ():
            if isinstance(right, (ast.Set, ast.Tuple, ast.List)):
                names = [
                    e.value if isinstance(e, ast.Constant) else e.id.rstrip("_") if isinstance(e, ast.Name) else None
                    for e in right.elts
                ]
                if len(names) > 1 and all(isinstance(n, str) and n in OPS for n in names):
                    yield frozenset(map(str, names))


def often(paths: Iterable[Path]) -> list[str]:
    """Sets of ops that are asked for in three places, or, three ops and more, in two modules."""
    places = [(path, found) for path in paths for found in asked(path)]
    count, modules = Counter(found for _, found in places), Counter(found for _, found in set(places))
    return sorted(" ".join(sorted(s)) for s in count if count[s] > 2 or len(s) > 2 and modules[s] > 1)


def test_what_is_asked_of_ops_in_several_places_is_a_fact_of_their_rows() -> None:
    assert often(FILES) == [], "make it a column of the rows in irad/ops"


def test_a_fact_without_a_column_is_found(tmp_path: Path) -> None:
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("a = n.op.name in ('exp', 'log')\nb = n.op.name not in ('log', 'exp')\nc = n.op in (add, sub, mul)\n")
    second.write_text("d = n.op.name in {'exp', 'log'}\ne = name in ('add', 'mul', 'sub')\nf = n.op in (max_, min_)\n")
    assert often([first, second]) == ["add mul sub", "exp log"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_table_of_ops_outside_of_their_rows(path: Path) -> None:
    assert [t for t in tables(path) if t not in OWN] == [], "make it a fact of the rows in irad/ops"


def test_a_table_is_found(tmp_path: Path) -> None:
    path = tmp_path / "late.py"
    path.write_text(
        "COST = {'exp': 10, 'log': 10}\nRULES = {'exp': f, 'log': g}\nNAMES: set = {'a', 'exp'}\nWORDS = set('exp log'.split())\n"
    )
    assert list(tables(path)) == ["late.COST", "late.WORDS"]


def test_facts_fit_together() -> None:
    for op in OPS.values():
        assert op.cost >= 0 and (not op.fold or op.fold in OPS)
        assert op.unit is None or op.elementwise and len(op.domain) in (0, 2)
        assert not op.mirror or op.compares and OPS[op.mirror].compares
        assert not (op.extreme or op.adds or op.compares or op.idempotent) or op.elementwise and len(op.domain) in (0, 2)
        assert op.moves or not (op.keeps_order or op.each_once)
        if op.flat and op.partials is not None:
            assert op.zero_at == "anywhere"
    assert {op.name for op in OPS.values() if not op.ends} == {"while", "call", "vjp", "jvp"}
    assert OPS["gammaln"].cost >= HEAVY and OPS["erf"].cost >= HEAVY and OPS["div"].cost < HEAVY
    assert {op.name for op in OPS.values() if op.cost == 0} == {"const", "empty", "iota", "broadcast", "reshape", "transpose"}
