"""Code kept on disk: it is found again, it is never wrong, and nothing that goes wrong with the disk is seen."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irad
from irad.call import compiled, runtime
from irad.cli import main
from irad.core import disk

pytestmark = pytest.mark.plain  # code that checks its memory is not kept on disk
ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for entries, in use."""
    place = tmp_path / "cache"
    monkeypatch.setenv("IRAD_CACHE", "1")
    monkeypatch.setenv("IRAD_CACHE_DIR", str(place))
    monkeypatch.setattr(disk, "_state", disk._State())
    forget()
    yield place
    forget()


def forget() -> None:
    """As in a new process: nothing is compiled."""
    runtime._caches.clear()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the programs that the compiler makes code of."""
    names: list[str] = []
    make = compiled.Job.make

    def counted(self: Any) -> Any:
        names.append(next(iter(self.program)))
        return make(self)

    monkeypatch.setattr(compiled.Job, "make", counted)
    return names


def from_source(text: str, path: Path) -> Any:
    """The module of a source file."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entries(place: Path) -> list[Path]:
    return sorted(place.glob("*.entry"))


# ---- what comes from the disk is what was made ----------------------------------------------------------------------------


def smooth(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


def branches(x: Any) -> Any:
    s = 0.0
    for k in range(len(x)):
        s = s + x[k] ** 2 if x[k] > 0.5 else s - x[k]
    return s


def unknown_trips(x: Any) -> Any:
    s, k = x[0], 0
    while s < 10.0:
        s = s * 1.5 + x[1]
        k += 1
    return s * k


def product(x: Any) -> Any:
    return np.sum(np.tanh(np.outer(x, x) @ x.reshape(-1, 1)))


def solves(x: Any) -> Any:
    return np.sum(np.linalg.solve(np.outer(x, x) + 3 * np.eye(len(x)), x))


def constants(x: Any) -> Any:
    return np.sum(x[np.array([2, 0, 1, 1, 2, 0, 0, 3, 2, 1, 0, 3, 1, 2, 3, 0, 1, 1, 1, 2])] ** 2)


def masked(x: Any) -> Any:
    y = x[x > 0.5]
    return np.sum(y * y)


def sorts(x: Any) -> Any:
    return np.sum(np.sort(x) * np.arange(len(x)))


def recursive(x: Any, n: Any = 4) -> Any:
    return np.sum(x) if n == 0 else recursive(x * 1.1, n - 1)


def complex_numbers(x: Any) -> Any:
    return np.abs(np.sum(np.exp(1j * x))) ** 2


def nested(x: Any) -> Any:
    return np.sum(irad.grad(smooth)(x) ** 2)


X = np.array([0.3, 0.9, 0.45, 1.2])
PROGRAMS = [
    smooth, branches, unknown_trips, product, solves, constants, masked, sorts, recursive, complex_numbers, nested,
]  # fmt: skip


def bits(x: Any) -> Any:
    return [bits(e) for e in x] if isinstance(x, tuple) else (np.asarray(x).dtype, np.asarray(x).tobytes())


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_same_bits_from_disk(f: Callable[..., Any], cache: Path, made: list[str]) -> None:
    def results() -> list[Any]:
        value, pullback = irad.vjp(f, X)
        return [bits(r) for r in (irad.compile(f)(X), irad.value_and_grad(f)(X), value, pullback(1.0))]

    first = results()
    forget()
    count = len(made)
    assert count
    assert results() == first
    assert len(made) == count


def test_results_of_unknown_length(cache: Path, made: list[str]) -> None:
    positive = lambda x: x[x > 0.5]
    for _ in range(2):
        np.testing.assert_array_equal(irad.compile(positive)(X), [0.9, 1.2])
        np.testing.assert_array_equal(irad.compile(positive)(X[:4:3].repeat(2)), [1.2, 1.2])
        forget()
    assert len(made) == 1


def test_changed_arguments_and_state(cache: Path, made: list[str]) -> None:
    seen = []

    def f(x: Any) -> None:
        x[1:] += 2 * x[:-1].copy()

    for _ in range(2):
        x = np.ones(4)
        irad.compile(f)(x)
        seen.append(x.tolist())
        forget()
    assert seen == [[1.0, 3.0, 3.0, 3.0]] * 2 and len(made) == 1


def test_scipy_functions(cache: Path, made: list[str]) -> None:
    special = pytest.importorskip("scipy.special")
    f = lambda x: np.sum(special.kv(0.5, x))
    want = f(X)
    for _ in range(2):
        np.testing.assert_allclose(irad.compile(f)(X), want, rtol=1e-14)
        forget()
    assert len(made) == 1


def test_donated_memory(cache: Path, made: list[str]) -> None:
    f = lambda x: 2 * x
    for _ in range(2):
        x = np.ones(8)
        out = irad.compile(f, donate=0)(x)
        assert out is x and out.tolist() == [2.0] * 8
        forget()
    assert len(made) == 1


def test_python_called_back_is_not_kept(cache: Path, made: list[str]) -> None:
    seen: list[float] = []
    note = irad.callback(lambda v: seen.append(float(v)), None)

    def f(x: Any) -> Any:
        note(x[0])
        return x[1]

    for _ in range(2):
        assert irad.compile(f)(X) == 0.9
        forget()
    assert len(made) == 2 and seen == [0.3, 0.3]


# ---- what a key says ------------------------------------------------------------------------------------------------------


def test_raises_at_the_line_where_the_program_stands_now(cache: Path, made: list[str], tmp_path: Path) -> None:
    text = "def f(x, k):\n    return x[k]\n"
    for n, lines in enumerate((0, 3)):
        f = from_source("# moved\n" * lines + text, tmp_path / f"moved{n}.py").f
        with pytest.raises(IndexError) as e:
            irad.compile(f)(np.ones(3), 5)
        assert f"moved{n}.py:{lines + 2}:" in "".join(e.value.__notes__)
    assert len(made) == 1


def test_places_that_part_are_told_apart(cache: Path, made: list[str], tmp_path: Path) -> None:
    for n, text in enumerate(("def f(x, k):\n    return x[k] + x[k + 1]\n", "def f(x, k):\n    return (x[k]\n  + x[k + 1])\n")):
        f = from_source(text, tmp_path / f"parted{n}.py").f
        with pytest.raises(IndexError) as e:
            irad.compile(f)(np.ones(3), 2)
        assert f"parted{n}.py:{n + 2}:" in "".join(e.value.__notes__)


def test_what_is_captured_counts(cache: Path) -> None:
    def power(n: int) -> Any:
        return lambda x: np.sum(x**n)

    for n in (2, 3, 2, 4):
        np.testing.assert_allclose(irad.compile(power(n))(X), np.sum(X**n), rtol=1e-14)
        forget()


@pytest.mark.parametrize("given", [{"threads": 1}, {"fastmath": True}, {"memory_budget": 10_000}, {"donate": 0}])
def test_options_count(given: dict[str, Any], cache: Path, made: list[str]) -> None:
    f = lambda x: np.sum(x) * x
    for options in ({"threads": 2}, {"threads": 2, **given}) * 2:
        irad.compile(f, **options)(X.copy())
        forget()
    assert len(made) == 2


@pytest.mark.parametrize(
    ("a", "b"), [(np.ones(3), np.ones(4)), (np.ones(3), np.ones(3, np.float32)), (np.ones(4), np.ones((2, 2)))]
)
def test_types_count(a: Any, b: Any, cache: Path, made: list[str]) -> None:
    f = lambda x: np.sum(x * x)
    for x in (a, b):
        assert irad.compile(f)(x) == f(x)
        forget()
    assert len(made) == 2


@pytest.mark.parametrize("numbers", [("0.0", "-0.0"), ("1.0", "1"), ("0.1", "0.30000000000000004")])
def test_constants_count(numbers: tuple[str, str], cache: Path, made: list[str], tmp_path: Path) -> None:
    for n, c in enumerate(numbers):
        f = from_source(
            f"import numpy as np\n\ndef f(x):\n    return np.copysign({c}, {c}) + x * 0 - {c}\n", tmp_path / f"c{n}.py"
        ).f
        assert bits(irad.compile(f)(np.float64(-0.0))) == bits(f(np.float64(-0.0)))
        forget()


def test_two_versions_share_a_folder(cache: Path, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("1" * 64, "2" * 64, "1" * 64, "2" * 64):
        monkeypatch.setattr(compiled, "versions", lambda version=version: version)
        assert irad.compile(smooth)(X) == pytest.approx(smooth(X))
        forget()
    assert len(made) == 2


def test_versions_are_those_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    file = tmp_path / "inner" / "a.py"
    file.write_text("x")
    before = compiled._stamp(str(tmp_path), "")
    file.write_text("xy")
    assert compiled._stamp(str(tmp_path), "") != before


# ---- damage ---------------------------------------------------------------------------------------------------------------


def first_entry(cache: Path) -> Path:
    """The one entry of a small program."""
    irad.compile(smooth)(X)
    forget()
    kept = [p for p in entries(cache) if b'"about"' in p.read_bytes()]
    assert len(kept) == 1
    return kept[0]


def test_any_flipped_bit_is_noticed(cache: Path, made: list[str]) -> None:
    path = first_entry(cache)
    whole = path.read_bytes()
    key = path.name.removesuffix(disk.SUFFIX)
    rng = random.Random(0)
    assert disk.read(key) is not None
    for at in [*range(60), *(rng.randrange(len(whole)) for _ in range(500))]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        assert disk.read(key) is None


@pytest.mark.parametrize("damage", ["empty", "half", "flipped", "longer", "other", "folder"])
def test_a_damaged_entry_is_replaced(damage: str, cache: Path, made: list[str]) -> None:
    path = first_entry(cache)
    whole = path.read_bytes()
    broken = {
        "empty": b"", "half": whole[: len(whole) // 2], "flipped": whole[:-9] + bytes([whole[-9] ^ 4]) + whole[-8:],
        "longer": whole + b"\0", "other": disk._head("a" * 64, whole) + whole,
    }  # fmt: skip
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        path.write_bytes(broken[damage])
        path.chmod(0o600)
    for _ in range(2):
        assert irad.compile(smooth)(X) == pytest.approx(smooth(X))
        forget()
    assert len(made) == (3 if damage == "folder" else 2)
    assert damage == "folder" or disk.read(path.name.removesuffix(disk.SUFFIX))


def test_files_that_others_may_write_are_not_read(cache: Path, made: list[str]) -> None:
    path = first_entry(cache)
    path.chmod(0o666)
    irad.compile(smooth)(X)
    assert len(made) == 2


@pytest.mark.parametrize("place", ["/proc/irad", "/dev/null/irad", "a\0b"])
def test_a_folder_that_cannot_be_made(place: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "folder", lambda: place)
    assert irad.compile(smooth)(X) == pytest.approx(smooth(X))


def run(script: str, cache: Path, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "IRAD_CACHE": "1", "IRAD_CACHE_DIR": str(cache), **more}
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)


CALL = "import numpy as np, irad; print(irad.value_and_grad(lambda x: np.sum(np.sin(x) * x))(np.ones(3)))"


def test_a_full_disk(cache: Path) -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)); "
    found = run(limited + CALL, cache)
    assert found.returncode == 0 and "1.38177329" in found.stdout and not found.stderr
    assert [p.name for p in cache.iterdir()] == []


def test_a_read_only_folder(cache: Path) -> None:
    cache.mkdir(0o500)
    found = run(CALL, cache)
    assert found.returncode == 0 and "1.38177329" in found.stdout and not found.stderr


def test_without_a_cache(cache: Path) -> None:
    assert run(CALL, cache, IRAD_CACHE="0").returncode == 0
    assert not cache.exists()


WRITES = (
    "from irad.core import disk\nwhile True:\n    for k in range(50): disk.write(f'{k:064x}', bytes([k]) * (1000 + 4001 * k))"
)


def test_killed_while_it_writes(cache: Path) -> None:
    """What is there afterwards is whole, whenever the process was killed."""
    env = {**os.environ, "IRAD_CACHE": "1", "IRAD_CACHE_DIR": str(cache)}
    rng = random.Random(1)
    for _ in range(int(os.environ.get("IRAD_TEST_KILLS", "20"))):
        child = subprocess.Popen([sys.executable, "-c", WRITES], cwd=ROOT, env=env)
        end = time.time() + 60
        while not entries(cache) and time.time() < end:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.1)
        child.send_signal(signal.SIGKILL)
        child.wait()
        for path in entries(cache):
            k = int(path.name.removesuffix(disk.SUFFIX), 16)
            assert disk.read(f"{k:064x}") == bytes([k]) * (1000 + 4001 * k)
    assert entries(cache)


def test_processes_at_once(cache: Path) -> None:
    env = {**os.environ, "IRAD_CACHE": "1", "IRAD_CACHE_DIR": str(cache)}
    children = [
        subprocess.Popen([sys.executable, "-c", CALL], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) for _ in range(8)
    ]
    found = [c.communicate(timeout=300)[0] for c in children]
    assert len(set(found)) == 1 and "1.38177329" in found[0]
    assert all(disk.read(p.name.removesuffix(disk.SUFFIX)) for p in entries(cache))


# ---- the folder -----------------------------------------------------------------------------------------------------------


def test_the_last_used_stay(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRAD_CACHE_SIZE", "10k")
    now = time.time()
    for k in range(8):
        disk.write(f"{k:064x}", bytes(1000))
        os.utime(cache / (f"{k:064x}" + disk.SUFFIX), (now - 5000 + k, now - 5000 + k))
    assert disk.read(f"{0:064x}") == bytes(1000)  # used now
    for k in range(8, 12):
        disk.write(f"{k:064x}", bytes(1000))
    kept = {int(p.name.removesuffix(disk.SUFFIX), 16) for p in entries(cache)}
    assert 0 in kept and 1 not in kept and kept >= {8, 9, 10, 11}
    assert sum(p.stat().st_size for p in entries(cache)) <= 10 << 10


def test_a_clock_that_jumps(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of the future go before those of now."""
    monkeypatch.setenv("IRAD_CACHE_SIZE", "5k")
    disk.write("a" * 64, bytes(1500))
    os.utime(cache / ("a" * 64 + disk.SUFFIX), (time.time() + 1e8,) * 2)
    for k in "bcd":
        disk.write(k * 64, bytes(1500))
    disk.trim(str(cache))
    assert "a" * 64 not in {p.name.removesuffix(disk.SUFFIX) for p in entries(cache)}
    assert disk.read("d" * 64) == bytes(1500)


def test_unfinished_files_go_after_a_while(cache: Path) -> None:
    disk.write("a" * 64, b"x")
    old, new = cache / f"old{disk.UNFINISHED}", cache / f"new{disk.UNFINISHED}"
    old.touch()
    new.touch()
    os.utime(old, (time.time() - 1e4,) * 2)
    disk.trim(str(cache))
    assert new.exists() and not old.exists()


@pytest.mark.parametrize(
    ("text", "size"),
    [("1000", 1000), ("2k", 2048), ("1.5M", 3 << 19), ("2G", 2 << 30), ("1GiB", 1 << 30), ("much", disk.DEFAULT_LIMIT)],
)
def test_sizes(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRAD_CACHE_SIZE", text)
    assert disk.limit() == size


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRAD_CACHE", "1")
    monkeypatch.delenv("IRAD_CACHE_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/x")
    assert disk.folder() == os.path.join("/var/x", "irad")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored
    monkeypatch.setenv("HOME", "/home/me")
    assert disk.folder() == os.path.join("/home/me/.cache", "irad")
    monkeypatch.setenv("IRAD_CACHE_DIR", "/elsewhere")
    assert disk.folder() == "/elsewhere"
    monkeypatch.setenv("IRAD_CACHE", "off")
    assert disk.folder() is None


# ---- `irad cache` ---------------------------------------------------------------------------------------------------------


def command(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["cache", *args]) == 0
    return capsys.readouterr().out


def test_the_command_lists_and_clears(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    irad.value_and_grad(smooth)(X)
    assert "value_and_grad_smooth(f64[4])" in command(capsys, "ls")
    assert command(capsys, "path") == f"{cache}\n"
    assert "removed 1 files" in command(capsys, "clear")
    assert command(capsys, "ls").startswith("0 entries") and entries(cache) == []


def test_the_command_says_why(cache: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "model.py"
    f = from_source(
        "import numpy as np\n\ndef f(x):\n    return np.sum(x * x)\n\ndef p(x):\n    print(x)\n    return x\n", path
    ).f
    where = f"{path}:f"
    assert "not there" in command(capsys, "why", where, "f64[3]")
    irad.compile(f)(np.ones(3))
    assert "kept as" in command(capsys, "why", where, "f64[3]")
    assert "other in the program" in command(capsys, "why", where, "f64[4]")
    assert command(capsys, "why", where, "f64[3]", "--fastmath", "all").strip().endswith("other in options or threads")
    monkeypatch.setattr(compiled, "versions", lambda: "other")
    assert "other in the version of irad" in command(capsys, "why", where, "f64[3]")
    monkeypatch.setenv("IRAD_CACHE", "0")
    assert "off" in command(capsys, "why", where, "f64[3]") and "off" in command(capsys, "ls")


def test_looking_does_not_count_as_use(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = first_entry(cache)
    os.utime(path, (1e9, 1e9))
    command(capsys, "ls")
    assert path.stat().st_mtime == 1e9
