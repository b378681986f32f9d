"""What calls leave behind."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

FEW = 50  # blocks


def blocks_left(f: Callable[[], Any], n: int) -> int:
    """Memory blocks that n calls leave, after the first ones; the fewest of a few times, as Python itself keeps some now and then.

    A leak leaves a block each call, so a first time that leaves few says enough.
    """
    for _ in range(50):
        f()
    left = _left(f, n)
    for _ in range(3):
        if left < FEW:
            break
        left = min(left, _left(f, n))
    return left


def _left(f: Callable[[], Any], n: int) -> int:
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(n):
        f()
    gc.collect()
    return sys.getallocatedblocks() - before
