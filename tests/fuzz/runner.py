"""Runs cases in worker processes, counts what comes of them, reduces and stores what fails."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import tests.fuzz
from tests.fuzz import shrink
from tests.fuzz.case import Case
from tests.support import ROOT

LAST_WORDS = 40  # lines
HANGS = 120.0  # seconds of the processor: a machine under load is slow
WAITS = 10 * HANGS  # seconds of the clock: a process that waits for what never comes takes no time


def generators() -> list[str]:
    """Names of the modules that generate."""
    names = [m.name for m in pkgutil.iter_modules(tests.fuzz.__path__) if not m.name.startswith("__")]
    return [n for n in names if hasattr(importlib.import_module(f"tests.fuzz.{n}"), "generate")]


class Worker:
    """A child process; made anew after a crash or a hang. `root`: the repository that it runs. `taken`: the seconds of the processor of
    the last answer."""

    def __init__(self, root: Path = ROOT, environment: dict[str, str] | None = None) -> None:
        self.root, self.environment, self.taken = root, environment, 0.0
        self.process: subprocess.Popen[str] | None = None
        self.errors: IO[str] | None = None  # what the process writes to standard error: the C library's last words

    def ask(self, request: dict[str, Any], seconds: float = HANGS) -> dict[str, Any]:
        """Its answer; the end of the process, or no answer in time, is a fault."""
        if self.process is None:
            command = [sys.executable, "-m", "tests.fuzz.worker"]
            pipe = subprocess.PIPE
            self.errors = tempfile.TemporaryFile("w+", errors="replace")
            self.process = subprocess.Popen(
                command, cwd=self.root, env=self.environment, stdin=pipe, stdout=pipe, stderr=self.errors, text=True
            )
        p = self.process
        assert p.stdin is not None and p.stdout is not None
        try:
            p.stdin.write(json.dumps(request) + "\n")
            p.stdin.flush()
            line = p.stdout.readline() if self._answers(seconds) else None
        except BrokenPipeError:
            line = ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        words = self.close()
        what = f"no answer in {seconds:g} s" if line is None else f"the process ended with {p.returncode}"
        return {"fault": what, "text": f"{what}\n{words}"}

    def _answers(self, seconds: float) -> bool:
        """Does the process answer within so many seconds of its own time?"""
        assert self.process is not None
        began, until = _busy(self.process.pid), time.monotonic() + WAITS
        try:
            while not select.select([self.process.stdout], [], [], 1.0)[0]:
                if _busy(self.process.pid) - began > seconds or time.monotonic() > until:
                    return False
            return True
        finally:
            self.taken = _busy(self.process.pid) - began

    def close(self) -> str:
        """End the process; what it said last on standard error."""
        words = ""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except BrokenPipeError:
                        pass
            self.process = None
            assert self.errors is not None
            self.errors.seek(0)
            words = "".join(self.errors.readlines()[-LAST_WORDS:])
            self.errors.close()
        return words


def _busy(pid: int) -> float:
    """Seconds of the processor that a process has taken; of the clock, where the system does not say it that way."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.monotonic()


@dataclass
class Counts:
    """What came of the programs of one generator."""

    ok: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[int, str, Path | None]] = field(default_factory=list)  # seed, signature, reproducer
    features: Counter[str] = field(default_factory=Counter)

    @property
    def programs(self) -> int:
        return self.ok + self.refused.total() + len(self.faults)

    def lines(self, name: str) -> Iterator[str]:
        share = 100 * self.refused.total() / max(1, self.programs)
        yield f"{name}: {self.programs} programs, {share:.1f} % refused, {len(self.faults)} faults"
        for reason, n in self.refused.most_common(8):
            yield f"    refused {n}: {reason}"
        for seed, what, path in self.faults:
            yield f"    fault, seed {seed}: {what}" + (f" ({path})" if path else "")


class Run:
    """One run over generators. `until`: a time by time.monotonic, or None for `count` programs of each."""

    def __init__(
        self, names: list[str], first: int, count: int | None, until: float | None, out: Path | None, coverage: bool = False
    ):
        self.names, self.first, self.count, self.until, self.out = names, first, count, until, out
        self.coverage, self.seen = coverage, Counter[str]()
        self.counts = {name: Counts() for name in names}
        self.lock = threading.Lock()
        self.requests = self._requests()

    def _requests(self) -> Iterator[tuple[str, int]]:
        k = 0
        while (self.count is None or k < self.count) and (self.until is None or time.monotonic() < self.until):
            for name in self.names:
                yield name, self.first + k
            k += 1

    def go(self, jobs: int) -> dict[str, Counts]:
        threads = [threading.Thread(target=self._work) for _ in range(jobs)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return self.counts

    def _work(self) -> None:
        worker = Worker()
        try:
            while True:
                with self.lock:
                    request = next(self.requests, None)
                if request is None:
                    return
                self._one(worker, *request)
        finally:
            worker.close()

    def _one(self, worker: Worker, name: str, seed: int) -> None:
        found = worker.ask({"generator": name, "seed": seed, "coverage": self.coverage})
        counts = self.counts[name]
        path = self._stored(worker, name, seed, found) if "fault" in found else None
        with self.lock:
            self.seen.update(found.get("coverage", {}))
            counts.features.update(found.get("case", {}).get("features", ()))
            if "fault" in found:
                counts.faults.append((seed, found["fault"], path))
                print(f"{name}, seed {seed}: {found['fault']}" + (f"\n    {path}" if path else ""), flush=True)
            elif found["outcome"] == "ok":
                counts.ok += 1
            else:
                counts.refused[reason(found["outcome"])] += 1

    def _stored(self, worker: Worker, name: str, seed: int, found: dict[str, Any]) -> Path | None:
        """Found again on its own, reduced, and written to a file. A fault that is not found again is told as such."""
        if self.out is None:
            return None
        worker.close()
        note = found["text"]
        case = case_of(name, seed, found)
        if case is None:
            return None
        if worker.ask(request_of(case)).get("fault") != found["fault"]:
            note = "not found again by itself; it came after other programs\n" + note
        else:
            fails = lambda c: worker.ask(request_of(c)).get("fault") == found["fault"]
            module = importlib.import_module(f"tests.fuzz.{name}")
            case = shrink.shrink(case, fails, getattr(module, "reduce", shrink.reduce))
            note = worker.ask(request_of(case)).get("text", note)
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"{name}_{seed}.py"
        comment = "".join(f"# {line}".rstrip() + "\n" for line in note.splitlines())
        path.write_text(f"{case}\n{comment}", encoding="utf-8")
        return path


def reason(outcome: str) -> str:
    """Why a program was refused, without its own names and numbers."""
    return re.sub(r"'[^']*'|\d+", "_", outcome.removeprefix("refused: "))[:150]


def case_of(name: str, seed: int, found: dict[str, Any]) -> Case | None:
    """The case that failed; made here if the process died with it; None if it cannot be made."""
    from tests.fuzz.worker import made

    if "case" in found:
        c = found["case"]
        return Case(name, seed, c["source"], frozenset(c["features"]), tuple(c["without"]))
    try:
        return made(importlib.import_module(f"tests.fuzz.{name}"), seed)
    except Exception:
        return None


def request_of(case: Case) -> dict[str, Any]:
    return {"generator": case.generator, "seed": case.seed, "source": case.source, "without": list(case.without)}
