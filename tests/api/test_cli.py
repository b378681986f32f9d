"""The command line: what it prints, its exit codes, and errors without tracebacks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irad.cli import main
from irad.core.text import parse
from irad.core.types import Type, parse_type
from irad.core.verify import verify
from irad.errors import IradValueError
from irad.ops import OPS
from tests.support import ROOT

MODULE = """
import numpy as np
import irad

NUMBER = 3


def loss(w, X):
    return np.sum((X @ w) ** 2)


@irad.compile
def wave(x):
    return np.sum(np.sin(x) * x)


def calls(x):
    return helper(x)


def helper(x):
    raise ValueError("not today")


def positive(x):
    return np.zeros(3)[x]
"""
GRAPH = """func @f(%x: f64[3], %n: i64) -> f64 {
  %c: f64[3] = const[value=2.0]
  %d: f64[3] = const[value=2.0]
  %a: f64[3] = mul %x, %c
  %b: f64[3] = mul %x, %d
  %s: f64[3] = add %a, %b
  %m: f64 = cast %n
  %r: f64 = sum[axes=(0)] %s
  %t: f64 = mul %r, %m
  return %t
}
"""
RAISES = """func @f(%x: f64) -> f64 {
  %z: f64 = const[value=0.0]
  %c: bool = lt %x, %z
  raise_if[exc=ValueError, message="negative: {}"] %c, %x
  return %x
}
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def irad(tmp_path: Path, capsys: Any, monkeypatch: Any) -> Run:
    """Run the command in a folder with the files above; gives (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name, text in (("m.py", MODULE), ("g.irad", GRAPH), ("raises.irad", RAISES)):
        Path(name).write_text(text)
    np.save("x.npy", np.arange(3.0))
    np.save("n.npy", 2)
    np.save("minus.npy", -1.0)

    def run(*argv: str) -> tuple[int, str, str]:
        try:
            code = main(argv)
        except SystemExit as e:
            code = int(e.code or 0)
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


LOSS = ("dump", "m.py:loss", "f64[3]", "f64[4,3]")


# ---- help and usage --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv", [["--help"], ["dump", "--help"], ["opt", "--help"], ["run", "--help"], ["ops", "--help"], ["train", "--help"]]
)
def test_help(irad: Run, argv: list[str]) -> None:
    code, out, err = irad(*argv)
    assert code == 0 and out.startswith("usage: irad") and not err


def test_help_lists_the_commands(irad: Run) -> None:
    out = irad("--help")[1]
    assert all(f"\n    {c} " in out for c in ("dump", "opt", "run", "ops", "train")) and "examples:" in out


@pytest.mark.parametrize(
    "argv",
    [["nothing"], ["dump"], ["opt", "g.irad"], [*LOSS, "--steps", "--diff"], ["run", "g.irad", "--random", "-1"],
     ["run", "g.irad", "--random", "1", "--input", "x=x.npy"], ["train", "--epochs", "many"]],
)  # fmt: skip
def test_wrong_usage_is_2(irad: Run, argv: list[str]) -> None:
    code, out, err = irad(*argv)
    assert code == 2 and not out and err.startswith("usage: irad")


# ---- dump ------------------------------------------------------------------------------------------------------------


def test_dump_prints_a_graph(irad: Run) -> None:
    code, out, err = irad(*LOSS)
    assert code == 0 and not err
    program = verify(parse(out))
    assert [str(v.type) for v in program["loss"].params] == ["f64[3]", "f64[4,3]"] and "loop" in out


def test_dump_grad(irad: Run) -> None:
    for wrt, types in (([], ["f64[3]"]), (["--wrt", "0,X"], ["f64[3]", "f64[4,3]"]), (["--wrt", "X"], ["f64[4,3]"])):
        code, out, _ = irad(*LOSS, "--grad", *wrt)
        (entry,) = parse(out).values()
        assert code == 0 and [str(v.type) for v in entry.results] == ["f64", *types]
    out = irad("dump", "m.py:wave", "f64[5]", "--grad")[1]  # a decorated function, one gradient
    assert [str(v.type) for v in next(iter(parse(out).values())).results] == ["f64", "f64[5]"]


def test_dump_after_a_pass(irad: Run) -> None:
    assert "dot[" in irad(*LOSS, "--after", "input")[1]
    after = irad(*LOSS, "--after", "fuse")[1]
    assert "loop[" in after and "@a0" not in after and "@a0" in irad(*LOSS, "--after", "plan")[1]


def test_dump_loc(irad: Run) -> None:
    line = 1 + MODULE.splitlines().index("    return np.sum((X @ w) ** 2)")
    assert f"m.py:{line}:20" in irad(*LOSS, "--after", "input", "--loc")[1]
    assert "m.py" not in irad(*LOSS, "--after", "input")[1]


def test_dump_steps(irad: Run) -> None:
    out = irad(*LOSS, "--steps")[1]
    heads = [text for text in out.splitlines() if text.startswith("# ")]
    kernels = [text for text in heads if text.startswith("# kernel form, ")]
    heads = heads[: len(heads) - len(kernels)]
    assert heads[0] == "# input: 3 nodes" and heads[-1].startswith("# plan: ")
    assert [k.split()[3] for k in kernels][:3] == ["lower", "bounded", "reserved"]
    assert out.count("def irad_kernel(") < len(kernels)
    unchanged = sum(h.endswith("(no change)") for h in heads)
    assert 0 < unchanged < len(heads) and out.count("func @loss") == len(heads) - unchanged


def test_dump_diff(irad: Run) -> None:
    out = irad(*LOSS, "--diff")[1]
    assert "-  %0: f64[4] = dot[" in out and "+  %0: f64[4] = loop[" not in out.split("# fuse")[0]


@pytest.mark.parametrize(
    "stage, text", [("--kernel", "def irad_kernel("), ("--llvm", "define i64 @irad_kernel("), ("--asm", "irad_kernel:")]
)
def test_dump_lower_stages(irad: Run, stage: str, text: str) -> None:
    code, out, _ = irad(*LOSS, stage)
    assert code == 0 and text in out


@pytest.mark.parametrize("function, message", [
    ("m.py", "names no function; write FILE.py:FUNC"),
    ("none.py:f", "there is no file none.py"),
    ("m.py:other", "m.py has no function 'other'; it has loss, wave, calls, helper, positive"),
    ("m.py:NUMBER", "m.py has no function 'NUMBER'"),
    ("g.irad:f", "g.irad is not a Python file"),
])  # fmt: skip
def test_dump_of_no_function(irad: Run, function: str, message: str) -> None:
    code, out, err = irad("dump", function, "f64")
    assert code == 1 and not out and err.startswith("irad: error: ") and message in err


@pytest.mark.parametrize("text, message", [
    ("import not_there_at_all", "ModuleNotFoundError"),
    ("def f(:", "SyntaxError"),
    ("\nraise KeyError('boom')", "KeyError at"),
])  # fmt: skip
def test_dump_of_a_file_that_does_not_load(irad: Run, text: str, message: str) -> None:
    Path("broken.py").write_text(text)
    code, _, err = irad("dump", "broken.py:f", "f64")
    assert code == 1 and err.startswith("irad: error: broken.py cannot be loaded: ") and message in err
    assert "KeyError" not in message or "broken.py:2" in err


def test_dump_of_wrong_arguments(irad: Run) -> None:
    code, _, err = irad("dump", "m.py:loss", "f64[3]")
    assert code == 1 and "missing 1 required" in err
    code, _, err = irad("dump", "m.py:loss", "f64[3]", "f64[4,2]")
    assert code == 1 and "m.py:9:20: " in err and "(4,2) and (3,)" in err and "^^^^^" in err
    code, _, err = irad(*LOSS, "--after", "nothing")
    assert code == 1 and "--after nothing: passes are input, " in err
    code, _, err = irad("dump", "m.py:wave", "f65")
    assert code == 1 and "'f65' is not a type" in err


def test_types() -> None:
    assert (
        parse_type("f64") == Type("f64") and parse_type("i32[3, 4]") == Type("i32", (3, 4)) and parse_type("f32[]") == Type("f32")
    )
    for text in ("f64[", "f64[3", "f64[a]", "f64]", "[3]", "f64[-1]", "f64[,]", "", "float"):
        with pytest.raises(IradValueError, match="is not a type"):
            parse_type(text)


# ---- opt ---------------------------------------------------------------------------------------------------------------


def test_opt(irad: Run) -> None:
    code, out, err = irad("opt", "g.irad", "-p", "cse, dce")
    assert code == 0 and not err and out.count("const") == 1
    verify(parse(out))


def test_fastmath(irad: Run) -> None:
    """Flags of the passes, and of the kernel."""
    code, out, _ = irad("opt", "g.irad", "-p", "simplify,cse,dce", "--fastmath", "reassoc")
    assert code == 0 and "const[value=4.0]" in out and " add " not in out
    assert "contract" in irad("dump", "m.py:wave", "f64[3]", "--llvm", "--fastmath", "all")[1]
    assert "contract(" not in irad("dump", "m.py:wave", "f64[3]", "--kernel")[1]
    code, _, err = irad("opt", "g.irad", "-p", "cse", "--fastmath", "fast")
    assert code == 1 and "there is no flag 'fast'" in err


def test_opt_diff(irad: Run) -> None:
    out = irad("opt", "g.irad", "--passes", "cse,dce", "--diff")[1]
    assert "-  %d: f64[3] = const[value=2.0]" in out.splitlines() and " func @f(%x: f64[3], %n: i64) -> f64 {" in out.splitlines()


def test_opt_reads_standard_input(irad: Run, monkeypatch: Any) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO(GRAPH))
    assert irad("opt", "-", "-p", "cse")[1].count("const") == 1


def test_opt_errors(irad: Run) -> None:
    code, _, err = irad("opt", "g.irad", "-p", "cse,nothing")
    assert code == 1 and "there is no pass 'nothing'; there are" in err and "simplify" in err
    code, _, err = irad("opt", "none.irad", "-p", "cse")
    assert code == 1 and err == "irad: error: none.irad: No such file or directory\n"
    Path("bad.irad").write_text("func @f(%x: f64) -> f64 {\n  return %y\n}\n")
    code, _, err = irad("opt", "bad.irad", "-p", "cse")
    assert code == 1 and "bad.irad:2:10: %y is not defined here" in err and "^^" in err


# ---- run ---------------------------------------------------------------------------------------------------------------


def test_run_with_files(irad: Run) -> None:
    code, out, err = irad("run", "g.irad", "--input", "x=x.npy", "--input", "n=n.npy", "--grad")
    assert (code, out, err) == (0, "result 0: 24.0\ngradient of x: [8. 8. 8.]\n", "")


def test_run_with_random_numbers(irad: Run) -> None:
    first, again, other = (irad("run", "g.irad", "--random", seed)[1] for seed in ("0", "0", "1"))
    assert first == again != other and first.startswith("result 0: ")


@pytest.mark.parametrize("argv, message", [
    ([], "no value for parameter x; give --input x=FILE.npy or --random SEED"),
    (["--input", "y=x.npy"], "--input y: the graph's parameters are x, n"),
    (["--input", "x"], "--input x: write NAME=FILE.npy"),
    (["--input", "x=none.npy"], "none.npy: No such file or directory"),
    (["--input", "x=g.irad"], "g.irad is not a .npy file of numbers"),
    (["--input", "x=n.npy", "--input", "n=n.npy"], "argument %x must be f64[3], not i64"),
    (["--input", "x=x.npy", "--input", "n=minus.npy"], "argument %n must be i64, not f64"),
])  # fmt: skip
def test_run_errors(irad: Run, argv: list[str], message: str) -> None:
    code, out, err = irad("run", "g.irad", *argv)
    assert code == 1 and not out and err.startswith("irad: error: ") and message in err


def test_run_of_a_graph_that_raises(irad: Run) -> None:
    assert irad("run", "raises.irad", "--input", "x=n.npy")[:2] == (0, "result 0: 2.0\n")
    code, _, err = irad("run", "raises.irad", "--input", "x=minus.npy")
    assert code == 1 and "ValueError: negative: -1.0" in err and "raises.irad:4:3" in err


# ---- ops, and the program itself -----------------------------------------------------------------------------------------


def test_ops_lists_every_op(irad: Run) -> None:
    out = irad("ops")[1]
    assert [text.split()[0] for text in out.splitlines()[1:]] == list(OPS)


def command(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A shell command with `irad` for the program, as users run it."""
    line = line.replace("irad ", f"PYTHONPATH='{ROOT}' '{sys.executable}' -m irad ", 1)
    return subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=cwd, capture_output=True, text=True)


def test_the_program_exits_with_the_code(irad: Run, tmp_path: Path) -> None:
    assert command("irad run g.irad --random 3", tmp_path).returncode == 0
    failed = command("irad run none.irad --random 3", tmp_path)
    assert failed.returncode == 1 and "Traceback" not in failed.stderr


def test_a_reader_that_stops_early_is_no_error(irad: Run, tmp_path: Path) -> None:
    piped = command("irad ops | head -1", tmp_path)
    assert piped.stdout.startswith("op ") and piped.stderr == ""


# ---- what a user tries first ---------------------------------------------------------------------------------------------

MORE = """
import functools

import numpy as np
import irad


def loss(w, X):
    return np.sum((X @ w) ** 2)


def doubled(f):
    @functools.wraps(f)
    def run(*args):
        return 2 * f(*args)

    return run


@doubled
def wrapped(x):
    return x + 1


class Model:
    def __call__(self, q):
        return q * q


gradient = irad.grad(loss)
model = Model()


def boom(x):
    raise RuntimeError("hey")
"""


def test_dump_of_what_a_name_stands_for(irad: Run) -> None:
    """A transform and a decorated function are dumped as they are, with the user's names for arguments."""
    Path("more.py").write_text(MORE)
    code, out, _ = irad("dump", "more.py:gradient", "f64[3]", "f64[4,3]", "--after", "input")
    assert code == 0 and "@grad_loss(%w: f64[3], %X: f64[4,3]) -> f64[3] {" in out
    code, out, _ = irad("dump", "more.py:wrapped", "f64", "--after", "input")
    assert code == 0 and "mul" in out and "%x: f64" in out
    code, out, _ = irad("dump", "more.py:model", "f64", "--grad", "--after", "input")
    assert code == 0 and "(%q: f64)" in out
    code, out, _ = irad("dump", "more.py:loss", "f64[3]", "f64[4,3]", "--grad")
    assert code == 0 and "%arg" not in out


def test_an_exception_of_the_function_says_where(irad: Run) -> None:
    Path("more.py").write_text(MORE)
    code, _, err = irad("dump", "more.py:boom", "f64")
    assert code == 1 and "RuntimeError" in err and "raise RuntimeError" in err and "more.py:" in err and "Traceback" not in err


def test_version(irad: Run) -> None:
    code, out, _ = irad("--version")
    assert code == 0 and out.startswith("irad 0.")


def test_files_that_are_no_graphs(irad: Run) -> None:
    Path("binary.irad").write_bytes(bytes(range(200, 256)))
    Path("empty.irad").write_text("")
    for file, words in (("binary.irad", "is not a text file"), ("empty.irad", "no graph in an empty text")):
        for argv in (("opt", file, "-p", "cse"), ("run", file, "--random", "0")):
            code, out, err = irad(*argv)
            assert code == 1 and not out and words in err and "Traceback" not in err
    assert irad("opt", "g.irad", "-p", ",")[0] == 1
    assert "given twice" in irad("run", "g.irad", "--input", "x=x.npy", "--input", "x=x.npy")[2]


# ---- a first look --------------------------------------------------------------------------------------------------------


def test_alone_it_prints_help(irad: Run) -> None:
    code, out, err = irad()
    assert code == 0 and out == irad("--help")[1] and not err


@pytest.mark.parametrize(
    "argv, hint",
    [(["trian"], "did you mean train?"), (["dump", "m.py:los", "f64[3]"], "did you mean loss?"),
     (["opt", "g.irad", "-p", "cs"], "did you mean cse"), (["ops", "no such"], "no op has 'no such'"),
     (["dump", "m.py:loss", "f64[3]", "--gard"], "unrecognized arguments: --gard; did you mean --grad"),
     (["dump", "m.py:loss", "float32[3, 4]"], "did you mean f32[3, 4]?"), (["dump", "m.py:loss", "f64(3,)"], "did you mean f64[3]?"),
     (["dump", "m.py:loss", "w=f64[3]", "2"], "'2' has no name, but follows 'w'"),
     (["dump", "m.py:loss", "float"], """a text is written in quotes: '"float"'"""), (["dump", "m.py:loss", "f64[3]", "--wrt", "0"], "write both")],
)  # fmt: skip
def test_what_was_meant(irad: Run, argv: list[str], hint: str) -> None:
    Path("g.irad").write_text("func @f(%x: f64) -> f64 {\n  return %x\n}\n")
    code, out, err = irad(*argv)
    assert code and not out and hint in err


METHODS = """
import numpy as np


class Layer:
    def __init__(self):
        self.scale = 2.0

    def loss(self, x, power, kind="sum"):
        total = np.sum(x**power) if kind == "sum" else np.mean(x**power)
        return self.scale * total

    @staticmethod
    def plain(x):
        return np.sum(x)


class Wants:
    def __init__(self, n):
        self.n = n

    def f(self, x):
        return x
"""


def test_methods_and_constants(irad: Run) -> None:
    Path("methods.py").write_text(METHODS)
    code, out, _ = irad("dump", "methods.py:Layer.loss", "f64[3]", "3", "--after", "input")
    assert code == 0 and "%x: f64[3]" in out and "power" not in out.split("{")[0] and "sum" in out
    sums, means = (irad("dump", "methods.py:Layer.loss", "f64[3]", "2", k, "--grad")[1] for k in ('"sum"', "'mean'"))
    assert sums != means and [str(v.type) for v in next(iter(parse(means).values())).results] == ["f64", "f64[3]"]
    assert irad("dump", "methods.py:Layer.plain", "f64[3]")[0] == 0
    assert "__init__() missing 1 required" in irad("dump", "methods.py:Wants.f", "f64")[2]
    assert "methods.py:Layer has no function 'lost'; did you mean loss?" in irad("dump", "methods.py:Layer.lost", "f64")[2]


def test_arguments_by_name(irad: Run) -> None:
    Path("methods.py").write_text(
        METHODS + "\n\ndef g(x, n=3, *, double=False):\n    return np.sum(x**n) * (2.0 if double else 1.0)\n"
    )
    dump = lambda *given: irad("dump", *given, "--after", "input")
    assert dump("methods.py:Layer.loss", "f64[3]", "power=2", "kind='mean'") == dump(
        "methods.py:Layer.loss", "f64[3]", "2", "'mean'"
    )
    assert dump("methods.py:g", "double=True", "x=f64[3]")[1] != dump("methods.py:g", "f64[3]")[1]
    assert "unexpected keyword argument 'm'" in dump("methods.py:g", "f64[3]", "m=2")[2]


def test_some_ops(irad: Run) -> None:
    out = irad("ops", "cholesky", "erf")[1].splitlines()
    assert 2 < len(out) < 20 and all("cholesky" in line.lower() or "erf" in line.lower() for line in out[1:])


def test_a_diff_of_nothing(irad: Run) -> None:
    Path("g.irad").write_text("func @f(%x: f64) -> f64 {\n  return %x\n}\n")
    assert irad("opt", "g.irad", "-p", "cse", "--diff") == (0, "no change\n", "")
