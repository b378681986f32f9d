"""What the corpus says of each of its programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Generator = np.random.Generator


@dataclass(frozen=True)
class Program:
    """`make(rng, n)` gives the arguments of `function` at size n; `wrt` are the positions of those it is differentiated by."""

    function: Callable[..., Any]
    make: Callable[[Generator, int], tuple[Any, ...]]
    sizes: tuple[int, int]
    wrt: tuple[int, ...] = (0,)
    about: str = ""

    @property
    def name(self) -> str:
        return self.function.__name__
