"""Generators of random numbers, by numbers that compiled code can hold: it draws from NumPy's own objects.

The object that a number means is kept alive here; of those that were not used for longest, all but `MOST` are let go.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from irad.core.once import held_at_fork
from irad.errors import UnsupportedError

MOST = 1024
_held: OrderedDict[int, Any] = OrderedDict()
_number_of: dict[int, int] = {}  # by id, of what is held
_numbers = itertools.count(1)
_lock = held_at_fork(threading.Lock())


def is_stream(x: Any) -> bool:
    """Is it a numpy.random.Generator or RandomState, or one of Python's random.Random?"""
    module, python = sys.modules.get("numpy.random"), sys.modules.get("random")
    return (module is not None and isinstance(x, (module.Generator, module.RandomState))) or (
        python is not None and isinstance(x, python.Random)
    )


def number(stream: Any) -> np.int64:
    """The number of a generator."""
    with _lock:
        n = _number_of.get(id(stream))
        if n is None:
            n = _number_of[id(stream)] = next(_numbers)
            _held[n] = stream
            if len(_held) > MOST:
                del _number_of[id(_held.popitem(last=False)[1])]
        else:
            _held.move_to_end(n)
        return np.int64(n)


def stream(n: int) -> Any:
    """The generator of that number. Raises UnsupportedError if it was let go."""
    try:
        found = _held[n]
        _held.move_to_end(n)
        return found
    except KeyError:
        raise UnsupportedError(f"a call that uses more than {MOST} generators of random numbers at a time") from None
