"""The op row is the one place for what is known of an op."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from irad.ops import OPS
from irad.ops.core import HEAVY
from tests.support import ROOT

FILES = sorted(p for d in ("passes", "codegen") for p in (ROOT / d).rglob("*.py"))

# Tables that are about one thing only that the module does, not facts about ops that another module could ask for.
OWN = {
    "cse._MIRROR": "how a comparison is written the other way round",
    "fold._PICK": "which reductions give their operand's one number",
    "licm._MAY_NOT_END": "control flow",
    "unscatter.PUSHED": "what is computed again for each rectangle",
    "control._UNSAFE": "control flow",
    "linear_carry._LINEAR": "what the pass rewrites",
    "wholes.PASS_ON": "what a monomial is read through",
    "expand.TRANSFORMS": "what the pass expands",
    "custom.CUSTOM": "what the pass takes apart",
    "complex_parts._BY_PART": "how an op on complex numbers is taken apart",
    "shape_rules.STRUCTURAL": "which ops have a rule here",
    "poly.ABSOLUTE": "how far off the polynomials are",
    "lives._INSIDE": "control flow",
    "tape_places.READERS": "what looks an array up by its place",
    "facts._COMPARE": "comparisons as inequalities",
    "kernels._CONTRACT": "LLVM",
    "values._FCMP": "LLVM",
    "values._SCMP": "LLVM",
    "values._UCMP": "LLVM",
    "split_trips.CONNECTIVES": "which conditions follow from others",
    "show.INFIX": "how kernel form is written",
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
            else:
                continue
            if sum(isinstance(k, ast.Constant) and k.value in OPS for k in names) >= 2:
                yield f"{path.stem}.{ast.unparse(targets[0])}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_table_of_ops_outside_of_their_rows(path: Path) -> None:
    assert [t for t in tables(path) if t not in OWN] == [], "make it a fact of the rows in irad/ops"


def test_a_table_is_found(tmp_path: Path) -> None:
    path = tmp_path / "late.py"
    path.write_text("COST = {'exp': 10, 'log': 10}\nRULES = {'exp': f, 'log': g}\nNAMES: set = {'a', 'exp'}\n")
    assert list(tables(path)) == ["late.COST"]


def test_facts_fit_together() -> None:
    for op in OPS.values():
        assert op.cost >= 0 and (not op.fold or op.fold in OPS)
        assert op.unit is None or op.elementwise and len(op.domain) in (0, 2)
        if op.flat and op.partials is not None:
            assert op.zero_at == "anywhere"
    assert OPS["gammaln"].cost >= HEAVY and OPS["erf"].cost >= HEAVY and OPS["div"].cost < HEAVY
    assert {op.name for op in OPS.values() if op.cost == 0} == {"const", "empty", "iota", "broadcast", "reshape", "transpose"}
