"""NumPy 2's promotion while irad reads, folds and interprets programs, also where NumPy 1 is installed.

What a compiled function means may not depend on whether an operand is known when it is compiled, nor on the version of NumPy.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from irad.core.once import held_at_fork

_state: Any = getattr(np, "_set_promotion_state", None) if np.__version__.startswith("1.") else None
_lock = held_at_fork(threading.Lock())
_before: list[str] = []  # one for each of those that are inside: NumPy 1 has one state for all threads


@contextmanager
def of_numpy_2() -> Iterator[None]:
    """Promote as NumPy 2 does."""
    if _state is None:
        yield
        return
    with _lock:
        _before.append(np._get_promotion_state())  # type: ignore[attr-defined]
        _state("weak")
    try:
        yield
    finally:
        with _lock:
            first = _before.pop(0)
            if not _before:
                _state(first)
            else:
                _before[0] = first
