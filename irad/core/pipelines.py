"""What a pipeline promises: each pass finds what it needs, and none comes too late."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from irad.errors import VerifyError


class Row(Protocol):
    """A pass, as its place in a pipeline goes. Facts about a program are words, such as "fused": they hold once made."""

    @property
    def needs(self) -> tuple[str, ...]: ...
    @property
    def makes(self) -> tuple[str, ...]: ...
    @property
    def too_late(self) -> tuple[str, ...]: ...


R = TypeVar("R", bound=Row)


def in_order(names: Iterable[str], rows: Mapping[str, R]) -> tuple[str, ...]:
    """The names, if each pass finds what it `needs` and nothing that it would come `too_late` for.

    Raises KeyError for a name that is no pass, VerifyError for one at the wrong place.
    """
    names, facts = tuple(names), set[str]()
    for name in names:
        row = rows[name]
        missing, late = set(row.needs) - facts, set(row.too_late) & facts
        if missing:
            raise VerifyError(f"pass {name} needs what no pass before it makes: {', '.join(sorted(missing))}")
        if late:
            raise VerifyError(f"pass {name} comes too late: the program is {', '.join(sorted(late))}")
        facts.update(row.makes)
    return names
