"""The pool of threads that run the chunks of parallel loops: pool.ll, one copy per process, shared by all kernels.

    irad_parallel(task, frame, trips, chunk, threads)      runs task(frame, from, to) over [0, trips) in chunks

The caller works too. Workers are started at the first call that wants them, block all signals, and live as long as the process;
between two jobs they spin for some microseconds, then sleep in a futex. A job is open while its caller takes chunks from it; a
worker enters an open job, and the caller waits, after it has closed the job, only for those that have entered, so a worker that
the system does not schedule holds nobody up. While a job runs, a call from another thread runs all its trips by itself, and so
does a call for one thread. After a fork the child, which has no workers, starts its own.

The words of the pool: `pid` owner (-1: being reset), `lock` 1 while a job runs, `workers` started, `gate` OPEN + workers inside,
`generation` number of the last job (the futex that workers sleep on), `next` first trip not taken.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys

from irad.codegen import llvm_files
from irad.codegen.jit import Library, load_kept
from irad.core.once import once

PARALLEL = "irad_parallel"
MOST = 64  # threads of one call
VARIABLE = "IRAD_NUM_THREADS"

_FUTEX = {"x86_64": 202, "aarch64": 98}  # number of the system call


def available() -> bool:
    """Can this platform run kernels on several threads?"""
    return sys.platform == "linux" and platform.machine() in _FUTEX


def default_threads() -> int:
    """Threads that a call may use: IRAD_NUM_THREADS, or as many as the process has cores to run on.

    Raises ValueError if the variable is no positive integer.
    """
    text = os.environ.get(VARIABLE, "")
    if text:
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            raise ValueError(f"{VARIABLE}={text!r}: a positive number of threads is wanted")
        return min(int(text), MOST)
    return max(1, min(len(os.sched_getaffinity(0)) if available() else 1, MOST))


@once
def library() -> Library:
    """The pool. It stays in memory until the process ends, since its workers run in it."""
    out = load_kept(text(platform.machine()), [PARALLEL])
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(out))
    return out


def text(machine: str) -> str:
    """The pool for a kind of machine; the file is for x86-64."""
    out = llvm_files.read("libraries", "pool")
    if machine == "aarch64":
        out = out.replace(f"@syscall(i64 {_FUTEX['x86_64']},", f"@syscall(i64 {_FUTEX['aarch64']},")
        out = out.replace("call void @llvm.x86.sse2.pause()", "call void @llvm.aarch64.hint(i32 1)")
        out = out.replace("declare void @llvm.x86.sse2.pause()", "declare void @llvm.aarch64.hint(i32)")
    return out
