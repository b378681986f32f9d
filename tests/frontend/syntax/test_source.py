"""Where the text of a function ends: brackets, strings and comments that are indented less than its body."""

from __future__ import annotations

import ast
import inspect
import linecache
from types import FunctionType

import pytest

from irad.frontend.syntax.source import source_of

AFTER = ["", "\n", "y = 1\n", "# comment\n", "def g():\n    return 2\n", "@d\ndef g(): pass\n"]
TEXTS = [
    "def f(x):\n    return x\n",
    "def f(x): return x\n",
    "def f(x):\n    y = x\n\n# less\n    pass\n",
    "def f(x):\n    return (x\n)\n",
    "def f(x):\n    return x, '''\na = 1\nb = 2\n'''\n",
    "def f(x):\n    if x:\n        return 1\n\n    def g():\n        return [\n1,\n2]\n    return g\n",
    "def f(x):\n    '''Text.\nmore\n'''\n",
    "def f(\n    x,\n):\n    for i in x:\n        print(i)\n    else:\n        pass\n",
    "def f(x):\n    return (x\n" + "\n".join(f"+{k}" for k in range(20)) + "\n)\n",
]


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("indented", [False, True])
def test_block(text: str, after: str, indented: bool) -> None:
    if indented and ("'''" in text):
        pytest.skip("indenting would change the string")
    whole = text + after
    if indented:
        whole = "if 1:\n" + "".join("    " + line if line.strip() else line for line in whole.splitlines(True))
    name = f"<block {hash(whole)}>"
    linecache.cache[name] = (len(whole), None, whole.splitlines(True), name)
    scope: dict[str, FunctionType] = {"d": lambda f: f}  # type: ignore[dict-item]
    exec(compile(whole, name, "exec"), scope)
    found = source_of(scope["f"].__code__)
    expected = next(n for n in ast.walk(ast.parse(whole)) if isinstance(n, ast.FunctionDef) and n.name == "f")
    assert ast.dump(found.node) == ast.dump(expected)
    assert found.locate(found.node).line == expected.lineno
    assert inspect.isfunction(scope["f"])


# fmt: off
SIDE_BY_SIDE = [
    (lambda x: x + 1 if 0 else x * 3, lambda x: x + 2 if 0 else x * 5),
    (lambda x: "a" and x["p"] if 1 else 0, lambda x: "a" and x["q"] if 1 else 0),
    (lambda x: x[0], lambda x: x[1] if 1 else x, lambda x: (lambda y: y * 2 if 1 else y)(x)),
    (lambda x, k=lambda y: y * 2 if 1 else y: k(x), lambda x, k=lambda y: y * 7: k(x)),
]
# fmt: on


@pytest.mark.parametrize("row", SIDE_BY_SIDE)
def test_lambdas_on_one_line_whose_code_is_only_a_part_of_their_text(row: tuple[FunctionType, ...]) -> None:
    tree = ast.parse(inspect.getsource(inspect.getmodule(test_block)))  # type: ignore[arg-type]
    line = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == row[0].__code__.co_firstlineno]
    starts = {n.col_offset for n in line}
    outermost = sorted(s for s in starts if not any(n.col_offset < s < (n.end_col_offset or 0) for n in line))
    assert [source_of(f.__code__).node.col_offset for f in row] == outermost
