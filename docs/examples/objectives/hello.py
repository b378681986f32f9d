"""The square of a number, and its derivative."""

from __future__ import annotations

from typing import Any


def square(x: Any) -> Any:
    return x * x
