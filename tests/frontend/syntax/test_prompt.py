"""Functions whose source only an interactive Python knows: at the prompt, on standard input, in a notebook."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

from irad.frontend.syntax import typed
from irad.frontend.syntax.source import NoSource, source_of
from tests.support import ROOT

PROGRAM = """import numpy as np, irad
def f(x):
    s = 0.0
    while x > 1:
        x = x / 2; s = s + x
    return s

print("while", irad.grad(f)(5.0))
@irad.compile
def g(x):
    return x * x if x > 0 else -x

print("decorated", g(3.0), g.grad(-2.0))
fs = [lambda x: x * 2, lambda x: x if x > 0 else x * 3]
print("lambdas", [irad.grad(h)(-1.0) for h in fs])
"""
RESULTS = ["while 0.875", "decorated 9.0 -1.0", "lambdas [2.0, 3.0]"]


def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "PYTHON_HISTORY": str(tmp_path / "history"),
        "TERM": "dumb",
    }


def results(out: str) -> list[str]:
    return [line for line in out.replace("\r", "").splitlines() if line.split(" ")[0] in ("while", "decorated", "lambdas")]


def test_at_the_prompt(tmp_path: Path) -> None:
    """In a pseudo-terminal, as typed."""
    pty = pytest.importorskip("pty")
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-q"], environment(tmp_path))
    out = ""

    def read(prompts: tuple[str, ...]) -> None:
        nonlocal out
        end, new = time.monotonic() + 60, ""
        while time.monotonic() < end and not new.endswith(prompts):
            if select.select([fd], [], [], 0.5)[0]:
                new += os.read(fd, 65536).decode()
        out += new

    try:
        read((">>> ",))
        for line in PROGRAM.splitlines():
            os.write(fd, line.encode() + b"\n")
            read((">>> ", "... "))
    finally:
        os.write(fd, b"\nexit()\n")
        os.waitpid(pid, 0)
        os.close(fd)
    assert results(out) == RESULTS


@pytest.mark.parametrize("how", ["file", "-c"])
def test_given_to_python(tmp_path: Path, how: str) -> None:
    script = tmp_path / "script"
    script.write_text(PROGRAM)
    with script.open() as given:
        argv = ["-c", PROGRAM] if how == "-c" else []
        run = subprocess.run(
            [sys.executable, *argv], stdin=given, env=environment(tmp_path), capture_output=True, text=True, check=False
        )
    assert results(run.stdout) == RESULTS, run.stderr


NOTEBOOK = ["import numpy as np, irad", PROGRAM.split("\n", 1)[1], "%timeit -n1 -r1 0", "c = irad.compile(f)\nc.lower(5.0).explain",
            "c.lower(5.0)", "irad.grad(lambda x: x.summ())(1.0)"]  # fmt: skip


def test_in_a_notebook() -> None:
    """In a kernel of Jupyter: cells, magics, what is shown, errors."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in NOTEBOOK])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3", allow_errors=True).execute()
    outputs = [c.outputs for c in book.cells]
    assert results("".join(o.text for o in outputs[1])) == RESULTS
    assert outputs[3][0].data["text/html"].startswith("<pre>@f(x: f64)")
    assert "<details><summary>llvm</summary>" in outputs[4][0].data["text/html"]
    assert outputs[4][0].data["text/plain"].startswith("<stages of f: ")
    assert "'float' object has no attribute 'summ'" in outputs[5][0].evalue


class History:
    """The module readline, which has read these lines."""

    def __init__(self, lines: list[str]):
        self.lines = lines

    def get_current_history_length(self) -> int:
        return len(self.lines)

    def get_history_item(self, k: int) -> str:
        return self.lines[k - 1]


def code(text: str) -> types.CodeType:
    """The last function of a statement that was typed."""
    whole = compile(text, "<stdin>", "single")
    return [c for c in whole.co_consts if isinstance(c, types.CodeType)][-1]


def test_the_newest_text_that_is_the_code(monkeypatch: Any) -> None:
    lines = ["def f(x):", "    return x * 2", "def f(x):", "    return x * 3", "y = f(1)", "h = (lambda x: x +", "     1.0)"]
    monkeypatch.setitem(sys.modules, "readline", History(lines))
    monkeypatch.setattr(typed, "_given", tuple)
    for n in (2, 3):
        found = source_of(code(f"def f(x):\n    return x * {n}\n"))
        assert found.locate(found.node.body[0]).excerpt().splitlines()[0].strip() == f"return x * {n}"  # type: ignore[index]
    assert source_of(code("h = (lambda x: x +\n     1.0)\n")).file == "<stdin-6>"
    with pytest.raises(NoSource, match="troubleshooting"):
        source_of(code("def f(x):\n    return x * 4\n"))
