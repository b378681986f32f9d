"""From an object file to a library, by the system's compiler driver and archiver."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from irad.errors import IradError


def shared(obj: Path, out: Path, libraries: Sequence[str], triple: str | None) -> None:
    """Make a shared library. Raises IradError if there is no compiler driver that links, or it fails."""
    driver = _driver(triple)
    named = ["-dynamiclib"] if sys.platform == "darwin" and triple is None else ["-shared", f"-Wl,-soname,{out.name}"]
    _run([*driver, *named, "-o", str(out), str(obj), *libraries, "-lm"], obj)


def static(obj: Path, out: Path, triple: str | None) -> None:
    """Make a static library. Raises IradError if there is no archiver, or it fails."""
    found = _first([os.environ.get("AR"), *([f"{triple}-ar", "llvm-ar"] if triple else ["ar", "llvm-ar"])])
    if found is None:
        raise IradError(f"there is no archiver (ar) to make {out} with; {obj} can be linked as it is")
    out.unlink(missing_ok=True)  # an archive that is there would be added to
    _run([*found, "rcs", str(out), str(obj)], obj)


def _driver(triple: str | None) -> list[str]:
    """The compiler driver that links for a kind of machine."""
    names = [f"{triple}-gcc", f"{triple}-cc"] if triple else [os.environ.get("CC"), "cc", "gcc", "clang"]
    found = _first(names)
    if found is None and triple and shutil.which("clang"):
        found = ["clang", f"--target={triple}"]
    if found is None:
        wanted = names[0] if triple else "cc"
        raise IradError(
            f"there is no compiler driver ({wanted}) to link a library with; give a path that ends in .o, and link that"
        )
    return found


def _first(names: Sequence[str | None]) -> list[str] | None:
    """The first command that is there, with its arguments."""
    for name in names:
        words = shlex.split(name or "")
        if words and shutil.which(words[0]):
            return words
    return None


def _run(command: Sequence[str], obj: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise IradError(f"{command[0]} cannot make a library of {obj}: {done.stderr.strip()}\n  {shlex.join(command)}")
