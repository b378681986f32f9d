"""The pool of threads that run the chunks of parallel loops: LLVM text, one copy per process, shared by all kernels.

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

from irad.codegen.jit import PLAIN, Library, load
from irad.core.once import once

PARALLEL = "irad_parallel"
MOST = 64  # threads of one call
VARIABLE = "IRAD_NUM_THREADS"

_OPEN = 1 << 30
_SPINS = 4000  # of some 10 ns: as long as a worker waits for the next job before it sleeps
_FUTEX = {"x86_64": 202, "aarch64": 98}  # number of the system call
_PAUSE = {"x86_64": "call void @llvm.x86.sse2.pause()", "aarch64": "call void @llvm.aarch64.hint(i32 1)"}
_DECLARED = {"x86_64": "declare void @llvm.x86.sse2.pause()", "aarch64": "declare void @llvm.aarch64.hint(i32)"}


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
    out = load(_text(), [PARALLEL], target=PLAIN)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(out))
    return out


def _text() -> str:
    machine = platform.machine()
    numbers = {"open": _OPEN, "inside": _OPEN - 1, "spins": _SPINS, "futex": _FUTEX[machine]}
    return _POOL.replace("PAUSE", _PAUSE[machine]).format(**numbers) + _DECLARED[machine]


_POOL = """
@pid = internal global i32 0
@lock = internal global i32 0
@workers = internal global i32 0
@gate = internal global i32 0
@generation = internal global i32 0
@next = internal global i64 0
@task = internal global ptr null
@frame = internal global ptr null
@trips = internal global i64 0
@chunk = internal global i64 0
@places = internal global i32 0

define i64 @irad_parallel(ptr %task, ptr %frame, i64 %trips, i64 %chunk, i64 %threads) {{
entry:
  %one = icmp sle i64 %threads, 1
  %few = icmp sle i64 %trips, %chunk
  %alone = or i1 %one, %few
  br i1 %alone, label %serial, label %try
try:
  %mine = call i32 @owned()
  %other = icmp eq i32 %mine, 0
  br i1 %other, label %serial, label %take
take:
  %pair = cmpxchg ptr @lock, i32 0, i32 1 acquire monotonic
  %taken = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %taken, label %job, label %serial
serial:
  call void %task(ptr %frame, i64 0, i64 %trips)
  br label %done
job:
  %threads32 = trunc i64 %threads to i32
  %helpers = sub i32 %threads32, 1
  call void @start(i32 %helpers)
  store ptr %task, ptr @task
  store ptr %frame, ptr @frame
  store i64 %trips, ptr @trips
  store i64 %chunk, ptr @chunk
  store i32 %helpers, ptr @places
  store atomic i64 0, ptr @next monotonic, align 8
  store atomic i32 {open}, ptr @gate release, align 4
  %g = atomicrmw add ptr @generation, i32 1 seq_cst
  %w = call i64 (i64, ...) @syscall(i64 {futex}, ptr @generation, i32 129, i32 %helpers, ptr null, ptr null, i32 0)
  call void @work()
  %closed = atomicrmw and ptr @gate, i32 {inside} seq_cst
  br label %check
check:
  %left = load atomic i32, ptr @gate acquire, align 4
  %empty = icmp eq i32 %left, 0
  br i1 %empty, label %free, label %wait
wait:
  call void @await(ptr @gate, i32 %left)
  br label %check
free:
  store atomic i32 0, ptr @lock release, align 4
  br label %done
done:
  ret i64 0
}}

; Is the pool this process's? After a fork it is made so: the locks that the child has inherited are nobody's.
define internal i32 @owned() {{
entry:
  %p = call i32 @getpid()
  %owner = load atomic i32, ptr @pid acquire, align 4
  %same = icmp eq i32 %owner, %p
  br i1 %same, label %yes, label %reset
reset:
  %pair = cmpxchg ptr @pid, i32 %owner, i32 -1 acquire monotonic
  %won = extractvalue {{ i32, i1 }} %pair, 1
  %busy = icmp eq i32 %owner, -1
  %lost = xor i1 %won, true
  %later = or i1 %busy, %lost
  br i1 %later, label %no, label %clear
clear:
  store i32 0, ptr @workers
  store atomic i32 0, ptr @gate monotonic, align 4
  store atomic i32 0, ptr @lock monotonic, align 4
  store atomic i32 %p, ptr @pid release, align 4
  br label %yes
yes:
  ret i32 1
no:
  ret i32 0
}}

; Start workers until there are n, as far as the system lets us; they block all signals, which are the main thread's to handle.
define internal void @start(i32 %n) {{
entry:
  %have = load i32, ptr @workers
  %enough = icmp sge i32 %have, %n
  br i1 %enough, label %end, label %mask
mask:
  %all = alloca [16 x i64], align 16
  %old = alloca [16 x i64], align 16
  %thread = alloca i64
  call i32 @sigfillset(ptr %all)
  call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  %seen = load atomic i32, ptr @generation monotonic, align 4
  %seen64 = zext i32 %seen to i64
  %arg = inttoptr i64 %seen64 to ptr
  br label %next
next:
  %k = phi i32 [ %have, %mask ], [ %k1, %started ]
  %more = icmp slt i32 %k, %n
  br i1 %more, label %make, label %restore
make:
  %e = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %arg)
  %fine = icmp eq i32 %e, 0
  br i1 %fine, label %started, label %restore
started:
  %t = load i64, ptr %thread
  call i32 @pthread_detach(i64 %t)
  %k1 = add i32 %k, 1
  store i32 %k1, ptr @workers
  br label %next
restore:
  call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  br label %end
end:
  ret void
}}

define internal ptr @worker(ptr %arg) {{
entry:
  %first64 = ptrtoint ptr %arg to i64
  %first = trunc i64 %first64 to i32
  br label %idle
idle:
  %seen = phi i32 [ %first, %entry ], [ %now, %leave ], [ %now, %enter ], [ %now, %full ]
  call void @await(ptr @generation, i32 %seen)
  %now = load atomic i32, ptr @generation acquire, align 4
  br label %enter
enter:
  %g = load atomic i32, ptr @gate acquire, align 4
  %open = icmp uge i32 %g, {open}
  br i1 %open, label %full, label %idle
full:
  %inside = and i32 %g, {inside}
  %places = load i32, ptr @places
  %room = icmp slt i32 %inside, %places
  br i1 %room, label %knock, label %idle
knock:
  %g1 = add i32 %g, 1
  %pair = cmpxchg ptr @gate, i32 %g, i32 %g1 seq_cst monotonic
  %in = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %in, label %help, label %enter
help:
  call void @work()
  %before = atomicrmw sub ptr @gate, i32 1 seq_cst
  %last = icmp eq i32 %before, 1
  br i1 %last, label %wake, label %leave
wake:
  %w = call i64 (i64, ...) @syscall(i64 {futex}, ptr @gate, i32 129, i32 1, ptr null, ptr null, i32 0)
  br label %leave
leave:
  br label %idle
}}

; Return when the word is no longer the value: spin for a while, then sleep.
define internal void @await(ptr %word, i32 %value) {{
entry:
  br label %look
look:
  %turn = phi i32 [ 0, %entry ], [ %turn1, %spin ], [ {spins}, %sleep ]
  %now = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %now, %value
  br i1 %same, label %wait, label %done
wait:
  %patient = icmp slt i32 %turn, {spins}
  br i1 %patient, label %spin, label %sleep
spin:
  %turn1 = add i32 %turn, 1
  PAUSE
  br label %look
sleep:
  %s = call i64 (i64, ...) @syscall(i64 {futex}, ptr %word, i32 128, i32 %value, ptr null, ptr null, i32 0)
  br label %look
done:
  ret void
}}

; Take chunks until none is left.
define internal void @work() {{
entry:
  %task = load ptr, ptr @task
  %frame = load ptr, ptr @frame
  %trips = load i64, ptr @trips
  %chunk = load i64, ptr @chunk
  br label %next
next:
  %at = atomicrmw add ptr @next, i64 %chunk monotonic
  %more = icmp slt i64 %at, %trips
  br i1 %more, label %run, label %end
run:
  %stop = add i64 %at, %chunk
  %over = icmp slt i64 %stop, %trips
  %to = select i1 %over, i64 %stop, i64 %trips
  call void %task(ptr %frame, i64 %at, i64 %to)
  br label %next
end:
  ret void
}}

declare i32 @getpid()
declare i64 @syscall(i64, ...)
declare i32 @sigfillset(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
"""
