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
