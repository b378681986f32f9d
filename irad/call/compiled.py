"""From a program to native code, by way of the disk: code made for the same program before is loaded, not made again.

The key of an entry is everything that the code depends on: the program before its passes (irad.core.fingerprint), which passes and
options, the CPU with its features, the versions of irad (all its files), llvmlite, NumPy and Python. Passes and
code generator are imported when there is something to make.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from irad.codegen.call import saved
from irad.codegen.call.native import NativeCode
from irad.codegen.interface import Signature
from irad.codegen.jit import host_id
from irad.codegen.libraries.pool import default_threads
from irad.core import disk
from irad.core.fingerprint import Fingerprint, Unknown
from irad.core.ir import Graph, Program, types
from irad.core.lazy_dataclass import dataclass
from irad.core.once import import_later, once
from irad.core.switches import off
from irad.options import DEFAULT, Options, checks_memory

_LIBRARIES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # they decide how much memory routines of LAPACK ask for


def signature(entry: Graph) -> Signature:
    """Types of the parameters and results of a graph as it was traced."""
    return types(entry.params), types(entry.results)


class TooLarge(Exception):
    """The code would work in more memory than it may."""


@dataclass(frozen=True)
class Job:
    """What native code is made of. `steps`: the names of the passes, None for all of them; `outside`: types that callers see;
    `donated`: parameters whose memory results may take; `most`: bytes that it may work in, if that is bounded."""

    program: Program
    outside: Signature
    options: Options = DEFAULT
    donated: Set[int] = frozenset()
    steps: Sequence[str] | None = None
    most: int | None = None

    def make(self) -> NativeCode:
        """Run the passes and the code generator; raises TooLarge before that."""
        pipeline = import_later("irad.pipeline")
        optimised = pipeline.optimise(self.program, None, self.options, self.donated, steps=self.steps)
        self.check(pipeline.arena_size(next(iter(optimised.values()))))
        made: NativeCode = pipeline.native(optimised, self.outside, self.options)
        return made

    def check(self, arena: int) -> None:
        """Raise TooLarge if these are more bytes than the code may work in."""
        if self.most is not None and arena > self.most:
            raise TooLarge

    def about(self) -> dict[str, Any]:
        """What is said of it to people."""
        name, entry = next(iter(self.program.items()))
        return {"name": name, "parameters": [str(v.type) for v in entry.params], "results": [str(t) for t in self.outside[1]]}

    def parts(self, found: Fingerprint) -> dict[str, str]:
        """What the key is made of, each part by itself, to say which of them differs."""
        o = self.options
        given = (
            o.threads or default_threads(),
            sorted(o.fastmath),
            o.memory_budget,
            sorted(self.donated),
            self.steps,
            sorted(off()),
        )
        outside = [[str(t) for t in ts] for ts in self.outside]
        return {
            "program": disk.digest(found.bytes, repr(outside).encode()),
            "options": disk.digest(repr(given).encode()),
            "machine": disk.digest(repr((host_id(), [os.environ.get(v) for v in _LIBRARIES])).encode()),
            "versions": versions(),
        }


def native_of(job: Job) -> NativeCode:
    """Native code: from the disk if it is there, else made now, and written there."""
    if disk.folder() is None or checks_memory(job.options):
        return job.make()
    try:
        found = Fingerprint(job.program)
    except Unknown:
        return job.make()
    parts = job.parts(found)
    key = key_of(parts)
    data = disk.read(key)
    known = saved.load(data, [*found.locs, None], job.outside) if data is not None else None
    if known is not None:
        job.check(known.interface.arena)
        return known
    start = time.perf_counter()
    made = job.make()
    about = {**job.about(), "parts": parts, "seconds": round(time.perf_counter() - start, 4)}
    try:
        disk.write(key, saved.dump(made, found.locs, about))
    except saved.Unsaved:
        pass
    return made


def key_of(parts: dict[str, str]) -> str:
    """The key of an entry."""
    return disk.digest(*(f"{k} {v}".encode() for k, v in parts.items()))


@once
def versions() -> str:
    """The versions of what has a part in making code, beside LLVM: of irad, when its files were written and how long they are."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = [_stamp(os.path.join(root, top), top) for top in sorted(os.listdir(root))]
    extension = sys.modules.get("numpy._core._multiarray_umath") or sys.modules.get("numpy.core._multiarray_umath")
    library = _stamp(getattr(extension, "__file__", None) or np.__file__, "numpy")
    found = (sys.version, sys.platform, platform.machine(), np.__version__, library, files)
    return disk.digest(repr(found).encode())


def _stamp(path: str, name: str) -> Any:
    """Names, lengths and times of the source files below a path."""
    if os.path.isdir(path):
        inner = sorted(os.listdir(path))
        return [s for f in inner if not f.startswith((".", "__pycache__")) and (s := _stamp(os.path.join(path, f), f))]
    status = os.stat(path)
    return name, status.st_size, status.st_mtime_ns
