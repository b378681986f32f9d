"""Callables that stand for something of the front end itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.core.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Native:
    """A function of the front end itself, which is run and not read."""

    run: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **kwargs)


class OfOne(Native):
    """A method of one of several things, by data, which takes such things itself."""


class Callback:
    """A function handed to native code: it comes back to the reader when it is called."""

    def __init__(self, reader: Any, fn: Any):
        self.reader, self.fn = reader, fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.reader.call(self.fn, args, kwargs)
