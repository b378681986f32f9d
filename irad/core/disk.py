"""Data kept on disk between processes, found by a key: a folder of entries, of which the last used stay.

Any number of processes and threads may use the folder at once, and any of them may be killed at any moment: an entry is written
to a file of its own, which then takes its name in one step, and begins with a checksum over its key and content. What is damaged,
cut short or not this user's counts as absent, and is written anew. Nothing is raised for what goes wrong with the
disk: the work is then done again.

IRAD_CACHE_DIR moves the folder, IRAD_CACHE=0 does without it, IRAD_CACHE_SIZE bounds it (bytes, or 200M, 2G).
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from _blake2 import blake2b  # the module hashlib loads OpenSSL first, which takes milliseconds
from collections.abc import Iterator

from irad.core.lazy_dataclass import dataclass

MAGIC = b"irad 1\r\n"  # how entries are laid out: this, the checksum, the content
SUFFIX, UNFINISHED = ".entry", ".part"
DEFAULT_LIMIT = 512 << 20  # bytes of all entries
_DIGEST = 32
_HOUR = 3600.0
_LOOKED, _MINUTES = "looked", 600.0  # the file that says when the size of the folder was looked at, and how long that holds
_FAILURES = 3  # writes that may fail before the process tries no more
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass
class _State:
    """What this process has done so far."""

    unchecked: int | None = None  # bytes written since the folder's size was looked at; None: never looked
    failures: int = 0


_state = _State()


@dataclass
class Entry:
    """A file of the folder: when it was last used, in seconds."""

    key: str
    path: str
    size: int
    used: float


def digest(*parts: bytes) -> str:
    """A key made of some bytes."""
    h = blake2b(digest_size=_DIGEST)
    for p in parts:
        h.update(len(p).to_bytes(8, "little"))
        h.update(p)
    return h.hexdigest()


def folder() -> str | None:
    """Where entries are kept; None: nowhere."""
    if os.environ.get("IRAD_CACHE", "").lower() in ("0", "off", "no", "false"):
        return None
    given = os.environ.get("IRAD_CACHE_DIR")
    return os.path.abspath(os.path.expanduser(given)) if given else _users_folder()


def _users_folder() -> str | None:
    """The place for caches in the user's home, as the platform has it."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
        return os.path.join(base, "irad", "Cache") if os.path.isabs(base) else None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if sys.platform == "darwin" and not base:
        base = os.path.expanduser("~/Library/Caches")
    if not os.path.isabs(base):  # the convention says that others are ignored
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "irad") if os.path.isabs(base) else None


def limit() -> int:
    """The most bytes that all entries may take."""
    text = os.environ.get("IRAD_CACHE_SIZE", "").strip().lower().removesuffix("b").removesuffix("i")
    unit = _UNITS.get(text[-1:], 0)
    try:
        return max(0, int(float(text[:-1]) * unit) if unit else int(text))
    except (ValueError, OverflowError):
        return DEFAULT_LIMIT


def read(key: str, touch: bool = True) -> bytes | None:
    """What was written under a key, or None. `touch`: it is used now."""
    place = folder()
    if place is None:
        return None
    path = os.path.join(place, key + SUFFIX)
    try:
        with open(path, "rb") as f:
            status = os.fstat(f.fileno())
            if not _ours(status):
                return None
            found = f.read()
        content = _checked(key, found)
        if content is not None and touch and abs(time.time() - status.st_mtime) > 60:
            os.utime(path)
    except (OSError, ValueError, MemoryError):
        return None
    return content


def _ours(status: os.stat_result) -> bool:
    """Can nobody but this user and the system have written a file? Code runs that comes from it."""
    return not hasattr(os, "getuid") or (status.st_uid in (os.getuid(), 0) and not status.st_mode & 0o022)


def _checked(key: str, found: bytes) -> bytes | None:
    start = len(MAGIC) + _DIGEST
    content = found[start:]
    return content if found[:start] == _head(key, content) else None


def _head(key: str, content: bytes) -> bytes:
    return MAGIC + bytes.fromhex(digest(key.encode(), content))


def write(key: str, content: bytes) -> None:
    """Keep something under a key, if that can be done."""
    place = folder()
    if place is None or _state.failures >= _FAILURES or len(content) > limit():
        return
    path = os.path.join(place, key + SUFFIX)
    part = f"{path}.{os.getpid():x}.{os.urandom(6).hex()}{UNFINISHED}"
    try:
        os.makedirs(place, 0o700, exist_ok=True)
        _write_new(part, _head(key, content) + content)
        os.replace(part, path)
    except (OSError, ValueError, MemoryError):
        _state.failures += 1
        _remove(part)
        return
    _bound(place, len(content))


def _write_new(path: str, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    with open(handle, "wb", buffering=0) as f:
        rest = memoryview(content)
        while rest:
            rest = rest[f.write(rest) :]


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except (OSError, ValueError):
        return False
    return True


# ---- the folder as a whole -----------------------------------------------------------------------------------------------


def entries(place: str, suffix: str = SUFFIX) -> list[Entry]:
    """The files of a folder of that kind, in no order."""
    return list(_files(place, suffix))


def _files(place: str, suffix: str) -> Iterator[Entry]:
    try:
        with os.scandir(place) as found:
            for f in found:
                if f.name.endswith(suffix):
                    try:
                        status = f.stat()
                    except OSError:  # another process has removed it
                        continue
                    yield Entry(f.name.removesuffix(suffix), f.path, status.st_size, status.st_mtime)
    except OSError:
        return


def _bound(place: str, size: int) -> None:
    """Keep the folder within its limit; its size is looked at now and then, and not by each process of a script that is run often: that
    takes time if there are many files."""
    if _state.unchecked is None and _looked_at(place):
        _state.unchecked = 0
    if _state.unchecked is not None and _state.unchecked + size < limit() // 16:
        _state.unchecked += size
        return
    _state.unchecked = 0
    trim(place)
    mark = os.path.join(place, _LOOKED)
    _remove(mark)
    with contextlib.suppress(OSError, ValueError):
        _write_new(mark, b"")


def _looked_at(place: str) -> bool:
    """Has a process looked at the size of the folder within the last minutes?"""
    try:
        return abs(time.time() - os.stat(os.path.join(place, _LOOKED)).st_mtime) < _MINUTES
    except (OSError, ValueError):
        return False


def trim(place: str) -> None:
    """Remove what was not used for the longest time until the rest is well within the limit, and what others left unfinished.

    A time in the future, from a clock that was set back since, is taken for as long ago.
    """
    now = time.time()
    for e in entries(place, UNFINISHED):
        if abs(now - e.used) > _HOUR:
            _remove(e.path)
    found = entries(place)
    total = sum(e.size for e in found)
    if total <= limit():
        return
    for e in sorted(found, key=lambda e: abs(now - e.used), reverse=True):
        if total <= limit() * 0.8:
            break
        if _remove(e.path):
            total -= e.size


def clear() -> tuple[int, int]:
    """Remove all entries: how many, and how many bytes they took."""
    place = folder()
    found = [*entries(place), *entries(place, UNFINISHED)] if place is not None else []
    gone = [e for e in found if _remove(e.path)]
    return len(gone), sum(e.size for e in gone)
