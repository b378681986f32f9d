"""The machinery of tests.fuzz: a wrong number, a crash and a hang are found, found again, reduced and stored."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import shrink
from tests.fuzz.case import Case
from tests.fuzz.runner import Run, Worker, request_of

WRONG = """\
import numpy as np

from tests.fuzz.case import Fault


def f(x):
    y = x + 1
    z = x * 2
    if x > 0:
        y = y / 0
    return y


def main():
    for k in range(3):
        assert f(k) == k + 1
"""


def test_a_fault_is_reduced() -> None:
    worker = Worker()
    case = Case("loops", 0, WRONG)
    try:
        what = worker.ask(request_of(case))["fault"]
        assert what == "ZeroDivisionError: division by zero"
        small = shrink.shrink(case, lambda c: worker.ask(request_of(c)).get("fault") == what)
    finally:
        worker.close()
    assert "y / 0" in small.source and "z =" not in small.source and "Fault" not in small.source


def test_a_process_that_ends_is_a_fault() -> None:
    worker = Worker()
    crash = Case("loops", 0, "def main():\n    import os\n    os.write(2, b'last words')\n    os.abort()\n")
    hang = Case("loops", 0, "def main():\n    while True:\n        pass\n")
    try:
        ended = worker.ask(request_of(crash))
        assert ended["fault"] == "the process ended with -6" and "last words" in ended["text"]
        assert worker.ask(request_of(hang), 3.0)["fault"] == "no answer in 3 s"
        assert worker.ask(request_of(Case("loops", 0, "def main():\n    pass\n")))["outcome"] == "ok"
    finally:
        worker.close()


def test_a_run_counts(tmp_path: Path) -> None:
    counts = Run(["loops"], 0, 3, None, tmp_path).go(1)["loops"]
    assert counts.programs == 3
