"""`irad bisect`: which stage of the compiler differs first, and the smallest graph that shows it. See docs/bisect.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irad.core.ir import Program, size
from irad.core.text import show
from irad.errors import IradError
from irad.validation.reduce import reduced
from irad.validation.validate import Difference, derivative_difference, first_difference, flag_sets, native_differs

SHOWN = 40  # numbers of an argument that are written into the file


def bisect(program: Program, args: Sequence[Any], flags: bool = True) -> Difference | None:
    """The first stage that differs for a traced program, without flags of fastmath and then with each of them; then the first way to
    differentiate it whose number differs. None if none does."""
    for given in flag_sets() if flags else flag_sets()[:1]:
        if given.fastmath and not native_differs(program, args, given):
            continue
        found = first_difference(program, args, given)
        if found:
            named = f"{found.stage} (fastmath {', '.join(given.fastmath)})" if given.fastmath else found.stage
            return Difference(named, found.what, found.program, found.args, found.differs)
    return derivative_difference(program, args)


def smallest(found: Difference, seconds: float = 60.0) -> Difference:
    """The difference in the smallest graph that shows it: by the same kind of error, if it is one."""
    if found.program is None:
        return found
    kind = _kind(found.what)

    def fails(program: Program, args: list[Any]) -> bool:
        try:
            return _kind(found.differs(program, args)) == kind
        except (IradError, ArithmeticError, LookupError, TypeError, ValueError, AssertionError):
            return False  # the graph itself cannot be run

    if not fails(found.program, list(found.args)):
        return found  # it takes the stages before too
    program, args = reduced(found.program, found.args, fails, seconds)
    return Difference(found.stage, found.differs(program, args), program, args, found.differs)


def _kind(what: str) -> str:
    """Wrong numbers are one kind; an error is one by its type."""
    return what.split(":")[0] if what.startswith("raises ") else "differs" if what else ""


def written(found: Difference, path: Path) -> str:
    """Write the graph before the stage to a file, its arguments as comments and beside it; what to say about it."""
    assert found.program is not None
    entry = next(iter(found.program.values()))
    names = [p.hint or str(k) for k, p in enumerate(entry.params)]
    head = [f"first stage that differs: {found.stage}", *found.what.splitlines()]
    with np.printoptions(threshold=SHOWN, floatmode="unique"):
        head += [
            line
            for n, a in zip(names, found.args)
            for line in f"{n} = {np.asarray(a).tolist()!r}".splitlines()
            if np.size(a) <= SHOWN
        ]
    path.write_text("".join(f"# {line}\n" for line in head) + show(found.program) + "\n", encoding="utf-8")
    inputs = []
    for k, (n, a) in enumerate(zip(names, found.args)):
        file = path.with_name(f"{path.stem}_{k}.npy")
        np.save(file, np.asarray(a))
        inputs.append(f"--input {n}={file}")
    return f"{path}: {size(found.program)} nodes; {' '.join(inputs)}"
