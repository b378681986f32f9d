"""What a call gives or raises, to the bit and the letter: a compiled function beside plain Python."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import irad

INF, NAN = float("inf"), float("nan")


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, with its type; or what it raises."""
    try:
        out = f(*copy.deepcopy(args))
    except Exception as e:
        return type(e).__name__, str(e)
    return [
        (type(x), x.dtype, x.tolist()) if isinstance(x, np.ndarray) else repr(x) for x in (out if type(out) is tuple else (out,))
    ]


def agrees(f: Callable[..., Any], *args: Any) -> None:
    assert outcome(irad.compile(f), *args) == outcome(f, *args)
