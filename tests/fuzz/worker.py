"""The process that runs cases: one request a line on standard input, one answer a line on standard output, both JSON."""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import json
import os
import re
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from tests.fuzz import case as cases
from tests.fuzz import coverage
from tests.fuzz.case import Case

PR_SET_PDEATHSIG = 1


def main() -> None:
    if sys.platform == "linux":  # a program that never ends would outlive a run that is killed
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.environ.setdefault("IRAD_VERIFY", "1")  # after every pass
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what programs print is not an answer
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Of a case by its seed, or of one that is given. `outcome`, or `fault` (its signature) with `text`."""
    module = importlib.import_module(f"tests.fuzz.{request['generator']}")
    found: dict[str, Any] = {}
    seen = None
    try:
        if "source" in request:
            case = Case(request["generator"], request["seed"], request["source"], frozenset(), tuple(request["without"]))
        else:
            case = made(module, request["seed"], request.get("features"))  # an error here is one of the generator
            found["case"] = {**asdict(case), "features": sorted(case.features)}
        seen = coverage.started() if request.get("coverage") else None
        with np.errstate(all="ignore"), np.printoptions(threshold=8, edgeitems=2, precision=6):
            found["outcome"] = getattr(module, "check", cases.check)(case)
    except BaseException as e:
        if isinstance(e, (KeyboardInterrupt, SystemExit)):
            raise
        found |= {"fault": signature(e), "text": traceback.format_exc(limit=-12)}
    if seen is not None:
        found["coverage"] = coverage.stopped(seen)
    return found


def made(module: Any, seed: int, features: Sequence[str] | None = None) -> Case:
    """The case of a seed, with the features of its swarm, or with some that are given."""
    case: Case = module.generate(seed, cases.swarm(seed, module.FEATURES) if features is None else frozenset(features))
    return case if case.without else replace(case, without=cases.left_out(seed))


def signature(e: BaseException) -> str:
    """What makes two faults one: the type, and the message without numbers and names."""
    lines = str(e).strip().splitlines() or [""]
    return f"{type(e).__name__}: " + re.sub(r"[\d.]+(e[-+]?\d+)?|%\w+|@\w+", "_", lines[0])[:160]


if __name__ == "__main__":
    main()
