"""Golden tests: every tests/golden/<pass>/<fact>.irad and tests/golden/frontend/<fact>.txt is a test (see tests/golden/README.md)."""

from __future__ import annotations

import difflib
import gc
import linecache
import os
import re
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import irad
from irad.core.interp import interpret, resolve_dim
from irad.core.ir import Program, Value, walk
from irad.core.text import parse, show
from irad.core.types import DTYPES, is_float, is_int, parse_type
from irad.core.verify import verify
from irad.errors import IradError
from irad.ops.control import RaisedInGraph
from irad.passes.manager import run
from tests.support import by_differences

os.environ.setdefault("IRAD_CACHE", "0")  # tests compile what they test; those of the disk cache turn it on
if os.environ.get("IRAD_CHECK") != "memory":  # which runs besides
    os.environ.setdefault("IRAD_VERIFY", "1")  # after every pass, not only at the end
if np.__version__.startswith("1."):  # irad promotes as NumPy 2 does, so NumPy 1 has to be asked for that where it is the oracle
    np._set_promotion_state("weak")  # type: ignore[attr-defined]
    os.environ["NPY_PROMOTION_STATE"] = "weak"  # of programs that tests start

RULE = "----\n"
NASTY = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1.7e308, 0.5, 3.0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="accept the outputs of golden tests")
    parser.addoption(
        "--part", default="0/1", metavar="K/N", help="only the K-th of N parts of the tests, by a hash of their names"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`--part`; and with IRAD_CHECK=memory, where all code checks its memory, without tests of what is other then (`plain`)."""
    part, parts = map(int, config.getoption("part").split("/"))
    memory = os.environ.get("IRAD_CHECK") == "memory"
    unwanted = {
        item
        for item in items
        if crc32(item.nodeid.encode()) % parts != part
        or memory
        and (item.get_closest_marker("plain") or isinstance(item, Golden))
    }
    config.hook.pytest_deselected(items=list(unwanted))
    items[:] = [item for item in items if item not in unwanted]
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)  # the long ones first: at the end one would run alone


def pytest_collection_finish() -> None:
    """The collector leaves the thousands of tests alone: many of them call it, and wait for it."""
    gc.collect()
    gc.freeze()


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.File | None:
    if "golden" in file_path.parts and (file_path.suffix == ".irad" or file_path.match("frontend/*.txt")):
        return GoldenFile.from_parent(parent, path=file_path)
    if file_path.match("golden/kernel_passes/*.kf") or file_path.match("golden/mistakes/*.txt"):
        return GoldenFile.from_parent(parent, path=file_path)
    return None


LARGE = 1 << 11  # elements of an array of a kernel where only the run says how many there are


class GoldenFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        kinds = {".irad": GoldenCase, ".txt": ReadCase, ".kf": KernelCase}
        kind = MistakeCase if self.path.parent.name == "mistakes" else kinds[self.path.suffix]
        yield kind.from_parent(self, name=self.path.stem)


class Mismatch(Exception):
    """A golden test whose output is not the expected one."""


class Golden(pytest.Item):
    """A golden file: an input, a line, the output."""

    def parts(self) -> tuple[str, str, str]:
        return self.path.read_text(encoding="utf-8").partition(RULE)

    def compare(self, actual: str) -> None:
        """`actual` must stand below the line; with --bless it is written there."""
        source, rule, expected = self.parts()
        if actual != expected or not rule:
            if not self.config.getoption("bless"):
                raise Mismatch(difference(expected, actual))
            self.path.write_text(source.rstrip() + "\n" + RULE + actual, encoding="utf-8")

    def repr_failure(self, info: Any, style: Any = None) -> Any:
        if isinstance(info.value, Mismatch):
            path = self.path.relative_to(self.config.rootpath)
            return f"{path}\n{info.value}\n(accept with: pytest --bless {path})"
        return super().repr_failure(info)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"golden: {self.path.parent.name}/{self.name}"


class ReadCase(Golden):
    """A Python function and the graph that the front end makes of it, which must give what Python gives."""

    def runtest(self) -> None:
        from tests.support.as_called import check

        source, _, _ = self.parts()
        namespace: dict[str, Any] = {"np": np, "irad": irad}
        exec(compile(source, str(self.path), "exec"), namespace)
        types = [parse_type(t.strip()) for t in header(source, "at").split("; ") if t.strip()]
        params = tuple(Value(t, f"x{k}") for k, t in enumerate(types))
        seeds = [arguments(params, seed, fixed_arguments(source)) for seed in range(3)]
        traced = check(namespace["f"], *seeds[0], exact=False, kinds=False, others=tuple(map(tuple, seeds[1:])))
        self.compare(show(verify(traced.program)) + "\n")


LONGEST_TRACEBACK = 20  # lines


class MistakeCase(Golden):
    """A program with a mistake, and what is said about it: the last lines that its author sees, without the lines of calls."""

    def runtest(self) -> None:
        source, _, _ = self.parts()
        file = self.path.name.replace(".txt", ".py")
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        try:
            exec(compile(source, file, "exec"), {"np": np, "irad": irad, "x": np.arange(1.0, 4.0), "package": package})
        except Exception as e:
            error = e
        else:
            raise Mismatch("there is no error")
        frames = traceback.extract_tb(error.__traceback__)[1:]  # without this one
        whole = "".join([*traceback.format_list(frames), *(said := traceback.format_exception_only(error))])
        assert len(whole.splitlines()) < LONGEST_TRACEBACK, whole
        assert type(error).__module__ in ("builtins", "irad.errors", "dataclasses"), type(error)
        words = re.sub(r"\. Did you mean: '\w+'\?", "", "".join(said).rstrip())  # which newer Pythons add
        self.compare(words + "\n")


def package(name: str, function: str) -> types.ModuleType:
    """A module of a package that need not be installed, with a function."""
    module = types.ModuleType(name)
    exec(f"def {function}(*args): raise AssertionError('it is read')", module.__dict__)
    return module


class KernelCase(Golden):
    """Passes of the kernel form on a kernel: text against text, and on the kernel interpreter the numbers, if there is no tape."""

    def runtest(self) -> None:
        from irad.codegen.kernel import check, interp, show
        from irad.codegen.kernel.parse import parse as parse_kernels
        from irad.codegen.transform.manager import KERNEL_PIPELINE, Job

        source, _, _ = self.parts()
        before = after = parse_kernels(source)
        with pytest.MonkeyPatch.context() as patch:
            if "pieces" in (names := header(source, "run").split(", ")):
                for name, size in ("manager.FEW", 1), ("pieces.LONG", 1), ("pieces.PIECE", int(header(source, "piece"))):
                    patch.setattr(f"irad.codegen.transform.{name}", size)
            for name in names:
                after = KERNEL_PIPELINE[name].run(after, Job(None, False, None))
        for k in after:
            check.verify(k)
        self.compare(show.show(after) + "\n" if not show.show(after).endswith("\n") else show.show(after))
        if "deref" not in source:
            rng = np.random.default_rng(0)
            params = before[0].params
            fixed = fixed_arguments(source)
            sizes = [[min(int(n), LARGE) for n in p.shape or ()] for p in params]  # type: ignore[call-overload]
            args = [rng.standard_normal(s).astype(DTYPES[p.dtype]) for p, s in zip(params, sizes)]
            for p, a in zip(params, args):
                a[...] = fixed.get(p.name, a)
            for made, again in ((before, args), (after, theirs := [a.copy() for a in args])):
                assert interp.Machine(kernels={k.name: k for k in made}).run(made[0], *again) == 0
            for a, b in zip(args, theirs):
                np.testing.assert_allclose(b, a, rtol=1e-12)


class GoldenCase(Golden):
    """Passes on a graph: text against text, and what text cannot show: the numbers."""

    def runtest(self) -> None:
        source, _, _ = self.parts()
        passes = [p.strip() for p in header(source, "run").split(",") if p.strip()]
        if "# error:" in source:
            return self.check_error(source, passes)
        flags = set(header(source, "fastmath").replace(",", " ").split())
        before = verify(parse(source))
        after = run(before, passes, None, flags)
        actual = show(after) + "\n"
        again = parse(actual)
        if show(again) + "\n" != actual:
            raise Mismatch("the output does not survive printing and parsing:\n" + difference(actual, show(again) + "\n"))
        check_numbers(before, again, passes, fixed_arguments(source), bool(flags))
        self.compare(actual)

    def check_error(self, source: str, passes: list[str]) -> None:
        """The line that carries `# error: message` must be the one that the error names."""
        lines = source.splitlines()
        (at,) = (k for k, line in enumerate(lines) if "# error:" in line)
        message = lines[at].split("# error:")[1].strip()
        try:
            run(verify(parse(source)), passes)
        except IradError as e:
            line = e.loc.line if e.loc else None
            if message not in e.message or line != at + 1:
                raise Mismatch(f"expected at line {at + 1}: {message}\nraised at line {line}: {e.message}") from None
        else:
            raise Mismatch(f"expected an error at line {at + 1}: {message}\nnone was raised")


def header(source: str, key: str) -> str:
    """The text after `# key:` in the head of a golden file, "" if there is none."""
    return next((line[len(key) + 3 :].strip() for line in source.splitlines() if line.startswith(f"# {key}:")), "")


def fixed_arguments(source: str) -> dict[str, int]:
    """`# with: n=3, k=0`: arguments that a random number would not suit."""
    return {k.strip(): int(v) for k, v in (item.split("=") for item in header(source, "with").split(",") if item)}


def difference(expected: str, actual: str) -> str:
    return "\n".join(difflib.unified_diff(expected.splitlines(), actual.splitlines(), "expected", "actual", lineterm="", n=99))


def arguments(params: tuple[Value, ...], seed: int, fixed: dict[str, int], nasty: bool = False) -> list[Any]:
    """Random arguments; `nasty`: of NaN, infinities, zeros of both signs, subnormals. Extents are run-time arguments."""
    rng = np.random.default_rng(seed)
    env: dict[Value, Any] = {}
    for p in params:
        shape = tuple(resolve_dim(d, env) for d in p.type.shape)
        if is_float(p.type.dtype):
            x = rng.choice(NASTY, shape) if nasty else rng.uniform(0.5, 1.5, shape) * rng.choice([1, -1], shape)
        elif is_int(p.type.dtype):
            x = np.full(shape, fixed[p.hint]) if p.hint in fixed else rng.integers(0, 4, shape)
        else:
            x = rng.random(shape) < 0.5
        with np.errstate(all="ignore"):
            env[p] = np.asarray(x).astype(p.type.numpy)[()]
    return list(env.values())


def outcome(program: Program, args: list[Any]) -> list[Any]:
    """The results, or what was raised and the results that are kept."""
    try:
        return interpret(program, *args)
    except RaisedInGraph as e:
        return [str(e), *e.kept.values()]


def check_numbers(before: Program, after: Program, passes: list[str], fixed: dict[str, int], fast: bool = False) -> None:
    """Both programs compute the same: bit for bit, but for sums that a derivative, a fused loop or `fast` may re-order."""
    params = next(iter(before.values())).params
    if "autodiff" in passes or "grad" in passes:
        return check_gradient(before, after, fixed, seeded="grad" in passes)
    if by_differences.has_transforms(before):
        args = arguments(params, 0, fixed)
        for w, g in zip(by_differences.interpret(before, *args), interpret(after, *args), strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-8)
        return
    nodes = [n for g in before.values() for n in walk(g)]
    exact = not fast and not any(p.startswith(("fuse", "unselect")) for p in passes) and not any(n.deriv for n in nodes)
    exact = exact and not (np.__version__.startswith("1.") and any(n.op.name == "pow" for n in nodes))  # x**2 is no product there
    for seed in range(6):
        args = arguments(params, seed, fixed, nasty=exact and seed % 2 == 1)
        want, got = outcome(before, args), outcome(after, args)
        if "result_extents" in passes:  # which come after the results
            assert all(any(n in np.shape(w) for w in want) for n in got[len(want) :])
            got = got[: len(want)]
        if exact:
            assert len(want) == len(got) and all(same_bits(w, g) for w, g in zip(want, got)), f"{args}: {want} became {got}"
        else:
            for w, g in zip(want, got, strict=True):
                if isinstance(w, str) or isinstance(g, str):
                    assert w == g
                    continue
                np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)


def same_bits(a: Any, b: Any) -> bool:
    """Equal type, shape and bits; all NaNs are one."""
    if isinstance(a, str):
        return a == b
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        return bool(np.all((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))))
    return bool(np.all(a == b))


def check_gradient(before: Program, after: Program, fixed: dict[str, int], seeded: bool) -> None:
    """The derivative along a random direction against central differences. `seeded`: of the first result alone (`grad`)."""
    entry = next(iter(before.values()))
    xs = arguments(entry.params, 0, fixed)
    want = interpret(before, *xs)
    rng = np.random.default_rng(1)
    cts = [rng.uniform(0.5, 1.5, np.shape(w)) for w, v in zip(want, entry.results) if v.type.differentiable]
    if seeded:
        cts = [np.ones_like(c) if k == 0 else np.zeros_like(c) for k, c in enumerate(cts)]
    got = interpret(after, *xs, *([] if seeded else cts))
    for w, g in zip(want, got):
        np.testing.assert_allclose(g, w, rtol=1e-12)
    wrt = [k for k, p in enumerate(entry.params) if p.type.differentiable]
    vs = {k: rng.normal(size=np.shape(xs[k])) for k in wrt}
    h = 1e-6
    hi, lo = (interpret(before, *(x + s * vs[k] if k in vs else x for k, x in enumerate(xs))) for s in (h, -h))
    floats = [k for k, v in enumerate(entry.results) if v.type.differentiable]
    numeric = sum(np.sum(c * (hi[k] - lo[k]) / (2 * h)) for c, k in zip(cts, floats))
    exact = sum(np.sum(vs[k] * d) for k, d in zip(wrt, got[len(want) :], strict=True))
    np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=1e-8)
