"""Exported libraries: called from C they give bit for bit what Python gives, from several threads, without allocating."""

from __future__ import annotations

import ctypes
import ctypes.util
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irad
from irad.cli import main
from irad.core.lazy_dataclass import dataclass, field
from irad.core.tree import flatten
from irad.errors import IradError, IradValueError, UnsupportedError
from tests.ahead import models
from tests.ahead.program import Call, program, results

pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc"),
    pytest.mark.plain,  # what is exported does not check its memory
]
HEADER_FLAGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


@dataclass
class Case:
    function: Any
    args: Sequence[Any]
    grad: bool = True
    argnums: Any = 0
    changed: Sequence[int] = ()  # leaves of the arguments that the function writes
    given: dict[str, Any] = field(default_factory=dict)


def _random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


CASES = {
    "logistic": Case(models.logistic, (_random(5), _random(40, 5), np.sign(_random(40)))),
    "pendulum": Case(models.pendulum, (np.array([1.0, 0.0]), 2.5), argnums=(0, 1)),
    "until": Case(models.until, (_random(12),), given={"tape_bytes": 1 << 14}),
    "mlp": Case(
        models.perceptron, ({"w1": _random(8, 16), "b1": _random(16), "w2": _random(16, 4)}, _random(10, 8), np.arange(10) % 4)
    ),
    "single": Case(models.single, (_random(6).astype(np.float32), 5), grad=False),
    "in_place": Case(models.in_place, (_random(6), 2), grad=False, changed=(0,)),
    "recursive": Case(models.recursive, (0.3, 12), given={"tape_bytes": 4096}),
    "ordered": Case(models.ordered, (_random(700),)),
    "rotated": Case(models.rotated, (_random(4) + 1j * _random(4, seed=1), 0.3 + 0.1j), grad=False),
}


def calls_of(name: str, case: Case, changes: bool = True) -> list[Call]:
    """The calls of a case, with what Python gives as outputs and, where the function writes arguments, what they are then."""
    c = irad.compile(case.function, argnums=case.argnums, threads=1)
    leaves = flatten(case.args)[0]
    copies = [x.copy() if isinstance(x, np.ndarray) else x for x in leaves]
    value = c(*flatten(case.args)[1].unflatten(copies))
    made = [Call(f"{name}_value", f"{name}_", leaves, _arrays(value), case.changed)]
    expected = [*made[0].outputs, *(copies[k] for k in case.changed)]
    EXPECTED[made[0].name] = expected
    if case.grad:
        made.append(Call(f"{name}_value_and_grad", f"{name}_", leaves, _arrays(c.value_and_grad(*case.args))))
        EXPECTED[made[1].name] = list(made[1].outputs)
    return made


EXPECTED: dict[str, list[np.ndarray]] = {}


def _arrays(x: Any) -> list[np.ndarray]:
    leaf = lambda x: isinstance(x, (bool, np.bool_, np.ndarray, np.generic, int, float, complex))
    return [np.asarray(v) for v in flatten(x, leaf)[0]]


def run(*command: Any) -> bytes:
    done = subprocess.run([str(c) for c in command], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Call]]:
    """All cases as objects, linked into one program."""
    folder = tmp_path_factory.mktemp("export")
    calls = []
    for name, case in CASES.items():
        c = irad.compile(case.function, argnums=case.argnums)
        irad.export(c, *case.args, path=folder / f"{name}.o", grad=case.grad, **case.given)
        calls += calls_of(name, case)
    (folder / "main.c").write_text(program([f"{name}.h" for name in CASES], calls))
    objects = [folder / f"{name}.o" for name in CASES]
    run("gcc", "-std=c99", *HEADER_FLAGS, "-pthread", "-o", folder / "main", folder / "main.c", *objects, "-lm")
    return folder, calls


def test_c_gives_what_python_gives(built: tuple[Path, list[Call]]) -> None:
    """Every output of every function to the bit, the same in three threads that run at once."""
    folder, calls = built
    for call, found in zip(calls, results(calls, run(folder / "main"))):
        expected = EXPECTED[call.name]
        assert len(found) == len(expected) > 0
        for a, b in zip(found, expected):
            assert a.tobytes() == np.asarray(b, a.dtype).tobytes(), (call.name, a, b)


def test_objects_need_nothing_but_the_c_library(built: tuple[Path, list[Call]]) -> None:
    folder, _ = built
    for name in CASES:
        lines = run("nm", folder / f"{name}.o").decode().splitlines()
        defined = {line.split()[-1] for line in lines if re.search(r" [A-TV-Z] ", line)}
        functions = [f"{name}_{k}" for k in ("value", *(["value_and_grad"] if CASES[name].grad else []))]
        own = {f"{name}_{k}" for k in ("message", "describe", "fingerprint")}
        assert defined == {*functions, *(f"{f}_workspace_size" for f in functions), *own}
        needed = {line.split()[-1] for line in lines if " U " in line}
        assert needed <= {"snprintf", "memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_", "fma", "fmaf"}, needed


def test_headers_compile_as_cpp(built: tuple[Path, list[Call]]) -> None:
    folder, _ = built
    for name in CASES:
        run("g++", "-std=c++11", *HEADER_FLAGS, "-fsyntax-only", "-x", "c++", folder / f"{name}.h")
        run("gcc", "-std=c99", *HEADER_FLAGS, "-fsyntax-only", "-x", "c", folder / f"{name}.h")


# ---- libraries, statuses ---------------------------------------------------------------------------------------------------


def _status(library: Path, name: str, *args: Any, size: int) -> tuple[int, str]:
    """The status of a call through ctypes, and its message."""
    loaded = ctypes.CDLL(str(library))
    prefix = name.split("_")[0]
    describe = getattr(loaded, f"{prefix}_describe")
    describe.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    memory, text = np.zeros(max(size, 1), np.uint8), ctypes.create_string_buffer(200)
    given = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in args]
    status = getattr(loaded, name)(*given, ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(size))
    describe(status, memory.ctypes.data, text, len(text))
    return status, text.value.decode()


def test_statuses(tmp_path: Path) -> None:
    """A wrong argument, with the numbers of the message; a workspace that is too small; memory that runs out."""
    made = irad.export(models.single, "f32[6]", "int", path=tmp_path / "libsingle.so")
    assert made.library is not None and made.functions == ("single_value",)
    x, out = (
        np.arange(6, dtype=np.float32),
        [np.zeros(6, np.float32), np.zeros(1, int), np.zeros(1, bool), np.zeros(6, np.float32)],
    )
    call = partial(_status, made.library, "single_value", x)
    status, text = call(ctypes.c_int64(-2), *out, size=made.workspace[0])
    assert status > 0 and re.fullmatch(r"ValueError: k is -2, x\[1\] 1\.000 \(models\.py:\d+\)", text), text
    assert call(ctypes.c_int64(1), *out, size=made.workspace[0]) == (0, "no error")
    assert call(ctypes.c_int64(1), *out, size=made.workspace[0] - 1)[0] == -1
    made = irad.export(models.until, "f64[12]", path=tmp_path / "libuntil.so", grad=True, tape_bytes=1000)
    x, given = np.full(12, 1e-3), [np.zeros(1), np.zeros(12)]
    status, text = _status(made.library, "until_value_and_grad", x, *given, size=made.workspace[1])  # type: ignore[arg-type]
    assert status > 0 and text.startswith("MemoryError")
    status, text = _status(made.library, "until_value_and_grad", x + 9, *given, size=made.workspace[1])  # type: ignore[arg-type]
    assert status == 0 and np.isfinite(given[1]).all()


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A static library with a number that is a constant, a CPU, a prefix and a header of its own."""
    (tmp_path / "model.py").write_text(
        'import numpy as np\n\n\ndef f(x, n, y, part=None, how="mean"):\n    return getattr(np, how)(np.sin(x[:n]) * y)\n'
    )
    flags = ["--grad", "--wrt", "x,y", "--cpu", "x86-64-v3", "--prefix", "my_", "--header", str(tmp_path / "own.h"), "--static"]
    code = main(
        ["export", f"{tmp_path}/model.py:f", "f64[5]", "3", "y=f64", "how='sum'", "-o", f"{tmp_path}/libmodel.so", *flags]
    )
    out, err = capsys.readouterr()
    assert code == 0, err
    assert "my_value_and_grad, a workspace of" in out and (tmp_path / "libmodel.a").exists()
    head = (tmp_path / "own.h").read_text()
    assert "n is 3" in head and "double *grad_x, double *grad_y" in " ".join(head.split()) and "x86-64-v3" in head
    (tmp_path / "main.c").write_text(
        '#include "own.h"\n#include <stdio.h>\nint main(void) {\n'
        "  double x[5] = {1, 2, 3, 4, 5}, v, gx[5], gy; static char w[MY_VALUE_AND_GRAD_WORKSPACE_SIZE];\n"
        "  if (my_fingerprint() != MY_FINGERPRINT) return 2;\n"
        "  int s = my_value_and_grad(x, 2.0, &v, gx, &gy, w, sizeof w);\n"
        '  printf("%.17g %.17g %.17g %.17g", v, gx[0], gx[4], gy);\n  return s;\n}\n'
    )
    run("gcc", "-o", tmp_path / "main", tmp_path / "main.c", tmp_path / "libmodel.a", "-lm")
    x = np.arange(1.0, 6)
    expected = [np.sum(np.sin(x[:3]) * 2), 2 * np.cos(1.0), 0.0, np.sum(np.sin(x[:3]))]
    np.testing.assert_allclose([float(t) for t in run(tmp_path / "main").split()], expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("function", "args", "given", "message"),
    [
        (models.until, ["f64[12]"], {"grad": True}, "tape_bytes"),
        (models.recursive, ["f64", "int"], {"grad": True}, "tape_bytes"),
        (models.solved, ["f64[3,3]", "f64[3]"], {}, "blas='openblas'"),
        (models.calls_back, ["f64[3]"], {}, "runs in Python"),
        (models.special, ["f64"], {}, "SciPy's own code"),
        (models.keeps, ["f64"], {}, "nothing but its arguments"),
        (models.some, ["f64[5]"], {}, "largest length"),
    ],
)
def test_refusals(tmp_path: Path, function: Any, args: list[str], given: dict[str, Any], message: str) -> None:
    """What needs Python, or memory whose size nobody knows, is refused at its line, with what to do."""
    with pytest.raises(UnsupportedError, match=re.escape(message)) as caught:
        irad.export(function, *args, path=tmp_path / "x.o", **given)
    assert caught.value.loc is not None and caught.value.loc.file == models.__file__
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("args", "given", "message"),
    [
        (["f64[3]"], {"path": "model.txt"}, "ends in"),
        (["f63[3]"], {"path": "model.o"}, "is not a type"),
        (["f64[3]"], {"path": "model.o", "blas": "mkl"}, "blas"),
        (["f64[3]"], {"path": "model.o", "prefix": "1-"}, "prefix"),
        (["f64[3]"], {"path": "model.o", "tape_bytes": -1}, "tape_bytes"),
        (["f64[3]"], {"path": "model.o", "target": "vax-dec-ultrix"}, "target"),
        (["f64[3]"], {"path": "model.o", "cpu": "z80"}, "cpu"),
        (["f64[3]"], {"path": "model.o", "grad": True, "argnums": "q"}, "no argument"),
    ],
)
def test_wrong_options(tmp_path: Path, args: list[str], given: dict[str, Any], message: str) -> None:
    with pytest.raises(IradValueError, match=message):
        irad.export(models.ordered, *args, **{**given, "path": tmp_path / given["path"]})


def test_without_a_linker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object file and the header are there; the error says what to do with them."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(IradError, match="ends in .o"):
        irad.export(models.ordered, "f64[9]", path=tmp_path / "libmodel.so")
    assert {p.name for p in tmp_path.iterdir()} == {"model.o", "model.h"}


@pytest.mark.skipif(ctypes.util.find_library("openblas") is None, reason="no OpenBLAS beside NumPy's")
def test_linked_with_a_library(tmp_path: Path) -> None:
    """LAPACK, whose routines want memory, and a product that is large enough for a BLAS."""
    a, b = _random(40, 40) + 9 * np.eye(40), _random(40)
    made = irad.export(models.solved, a, b, path=tmp_path / "libsolved.so", grad=True, blas="openblas")
    expected = irad.compile(models.solved, threads=1).value_and_grad(a, b)
    out = [np.zeros(1), np.zeros((40, 40))]
    assert made.library is not None and _status(made.library, made.functions[1], a, b, *out, size=made.workspace[1])[0] == 0
    np.testing.assert_allclose(out[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(out[1], expected[1], rtol=1e-10, atol=1e-14)
    x = np.ones((513, 512))
    made = irad.export(models.squared, x, path=tmp_path / "libsquared.so", blas="openblas")
    assert "cblas_dgemm" in run("nm", made.object).decode() and made.library is not None
    out = [np.zeros((513, 513))]
    assert _status(made.library, "squared_value", x, *out, size=made.workspace[0])[0] == 0
    assert np.all(out[0] == 512)


@pytest.mark.skipif(not shutil.which("qemu-aarch64") or not shutil.which("aarch64-linux-gnu-gcc"), reason="no emulator")
def test_another_kind_of_machine(tmp_path: Path) -> None:
    """Code for AArch64 in an emulator: no more than roundings differ, of what is summed in another order."""
    names, calls = ["pendulum", "until", "single", "ordered"], []
    for name in names:
        case = CASES[name]
        c = irad.compile(case.function, argnums=case.argnums)
        irad.export(c, *case.args, path=tmp_path / f"{name}.o", grad=case.grad, target="aarch64-linux-gnu", **case.given)
        calls += calls_of(name, case)
    (tmp_path / "main.c").write_text(program([f"{name}.h" for name in names], calls))
    objects = [tmp_path / f"{name}.o" for name in names]
    run("aarch64-linux-gnu-gcc", "-static", "-pthread", "-o", tmp_path / "main", tmp_path / "main.c", *objects, "-lm")
    for call, found in zip(calls, results(calls, run("qemu-aarch64", tmp_path / "main"))):
        for a, b in zip(found, EXPECTED[call.name]):
            np.testing.assert_allclose(a, b, rtol=1e-12 if a.dtype == np.float64 else 1e-6, err_msg=call.name)


def test_names(tmp_path: Path) -> None:
    """Arguments and results whose names C cannot have, or has already."""
    made = irad.export(models.awkward, "f64", "f64", ("f64", "f32[2]"), "f64", {"x_1": "f64[2]"}, path=tmp_path / "3d.o")
    text = " ".join(made.header.read_text().split())
    assert "double double_, double workspace_, double x_0, const float *x_1, double x_1_2, const double *c_x_1," in text
    run("gcc", "-std=c99", *HEADER_FLAGS, "-fsyntax-only", "-x", "c", made.header)
    run("g++", "-std=c++11", *HEADER_FLAGS, "-fsyntax-only", "-x", "c++", made.header)


def test_threads(tmp_path: Path) -> None:
    """A call that shares its loop among threads of its own gives what Python gives."""
    c = irad.compile(lambda x: np.sum(np.sin(x) * np.exp(x)), threads=2)
    x, out = np.linspace(0, 1, 200_000), np.zeros(1)
    made = irad.export(c, x, path=tmp_path / "libsum.so")
    assert made.library is not None and "pthread_create" in run("nm", made.object).decode()
    assert _status(made.library, "sum_value", x, out, size=made.workspace[0])[0] == 0
    assert out[0] == c(x)
