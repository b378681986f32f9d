"""What is kept on disk, for people: a list, and why a program's code is there or not."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from irad.call.compiled import Job, key_of
from irad.codegen.call import saved
from irad.core import disk
from irad.core.fingerprint import Fingerprint, Unknown
from irad.options import checks_memory

_PARTS = {
    "program": "the program: its source, what it captures, or types of arguments",
    "options": "options or threads",
    "machine": "the CPU or LLVM",
    "versions": "the version of irad (one of its files), NumPy or Python",
}


def listing() -> Iterator[str]:
    """A line for each entry, the last used first; then how many there are."""
    place = disk.folder()
    if place is None:
        yield "the cache is off (IRAD_CACHE)"
        return
    found = sorted(disk.entries(place), key=lambda e: e.used, reverse=True)
    for e in found:
        used = datetime.datetime.fromtimestamp(e.used).isoformat(" ", "minutes")
        yield f"{e.key[:12]}  {used}  {e.size:>9,} B  {_shown(about(e.key))}"
    size = sum(e.size for e in found)
    yield f"{len(found)} entries, {size:,} B of at most {disk.limit():,} B in {place}"


def about(key: str) -> dict[str, Any] | None:
    """What an entry says of itself: {} if it is irad's own code, None if it is damaged."""
    data = disk.read(key, touch=False)
    if data is None:
        return None
    try:
        found = saved.unpack(data)[0]["about"]
    except (ValueError, LookupError, TypeError, saved.FormatError):
        return {}
    return dict(found)


def _shown(found: dict[str, Any] | None) -> str:
    if not found:
        return "damaged, or not yours" if found is None else "entry code of irad"
    return f"{found['name']}({', '.join(found['parameters'])})  compiled in {found['seconds']:.2f} s"


def why(job: Job) -> Iterator[str]:
    """Whether the code of a program is there; if not, what is like it and in what that differs."""
    place = disk.folder()
    if place is None:
        yield "not kept: the cache is off (IRAD_CACHE)"
        return
    if checks_memory(job.options):
        yield "not kept: code that checks its memory is made anew"
        return
    try:
        parts = job.parts(Fingerprint(job.program))
    except Unknown as unknown:
        yield f"not kept: {unknown}"
        return
    key, name = key_of(parts), job.about()["name"]
    found = about(key)
    if found:
        yield f"kept as {key[:12]}: {_shown(found)}"
        return
    yield f"not there: no entry has the key {key[:12]}"
    for e in sorted(disk.entries(place), key=lambda e: e.used, reverse=True):
        other = about(e.key)
        if other and other["name"] == name:
            differs = [text for part, text in _PARTS.items() if other["parts"].get(part) != parts[part]]
            yield f"{e.key[:12]}  {_shown(other)}: other in {'; '.join(differs)}"


# ---- `irad cache` ------------------------------------------------------------------------------------------------------


def add_commands(p: argparse.ArgumentParser, job: Callable[[argparse.Namespace], Job]) -> argparse.ArgumentParser:
    """Add what `irad cache` understands; the parser of `why`, whose arguments `job` reads, for more options."""
    sub = p.add_subparsers(required=True, metavar="COMMAND")
    sub.add_parser("ls", help="the entries, the last used first").set_defaults(run=lambda a: _print(listing()))
    sub.add_parser("clear", help="remove all of them").set_defaults(run=lambda a: _print(_clear()))
    sub.add_parser("path", help="the folder").set_defaults(
        run=lambda a: _print([disk.folder() or "the cache is off (IRAD_CACHE)"])
    )
    w = sub.add_parser("why", help="is the code of a function there, and if not, what differs")
    w.add_argument("function", metavar="FILE.py:FUNC", help="a function in a file")
    w.add_argument("types", nargs="*", metavar="TYPE", help="argument types, such as f64, f32[3,4], i64[10]")
    w.set_defaults(run=lambda a: _print(why(job(a))))
    return w


def _clear() -> Iterator[str]:
    count, size = disk.clear()
    yield f"removed {count} files, {size:,} B"


def _print(lines: Iterable[str]) -> int:
    for line in lines:
        print(line)
    return 0
