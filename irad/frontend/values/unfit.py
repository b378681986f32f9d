"""What a variable may hold that no number or array of the graph stands for, and the words about it in errors."""

from __future__ import annotations

from typing import Any

from irad.frontend.values.choices import one_of
from irad.frontend.values.objects import Choice, Nullable, Poison, Text, Varying, describe
from irad.frontend.values.runs import Run

UNFIT = (Poison, Text, Choice, Nullable, Run)  # what no number or array of the graph stands for


def unfit(x: Any) -> str:
    """What one of those is, in an error about a result."""
    if isinstance(x, Nullable):
        other = "make it an array on all paths (np.zeros(...) instead of 0.0)"
        none = "return a number that means none, or a bool beside it"
        return f"{describe(x)}{x.where}; {other if isinstance(x, Varying) else none}"
    if isinstance(x, Run):
        return "a list whose length depends on data; return an array of its elements"
    if isinstance(x, Choice):
        return f"{one_of(x.options)}, by data; return a number that says which"
    return x.message if isinstance(x, Poison) else "a string"
