"""irad.core.lazy_dataclass against the standard library's data classes."""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any

import pytest

from irad.core import lazy_dataclass as records


def make(m: ModuleType) -> list[type]:
    """The same classes by either module."""

    @m.dataclass(frozen=True)
    class Point:
        x: int
        y: float = 2.5

    @m.dataclass(frozen=True)
    class Point3(Point):
        z: tuple[int, ...] = ()

    @m.dataclass
    class Bag:
        items: list[int] = m.field(default_factory=list)
        secret: str = m.field(default="s", repr=False)
        total: int = m.field(init=False)

        def __post_init__(self) -> None:
            self.total = sum(self.items)

    @m.dataclass(eq=False)
    class Identity:
        x: Any

        def __repr__(self) -> str:
            return "mine"

    return [Point, Point3, Bag, Identity]


OURS, THEIRS = make(records), make(dataclasses)
ARGUMENTS: list[tuple[int, tuple[Any, ...], dict[str, Any]]] = [
    (0, (1,), {}), (0, (1,), {"y": 3.0}), (0, (), {"x": 1, "y": 2.5}), (1, (1, 2.0, (3,)), {}), (1, (1,), {"z": (4,)}),
    (2, (), {}), (2, ([1, 2],), {}), (2, ([1, 2], "t"), {}), (3, ("x",), {}),
]  # fmt: skip


@pytest.mark.parametrize(("k", "args", "kwargs"), ARGUMENTS)
def test_objects(k: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    ours, theirs = OURS[k](*args, **kwargs), THEIRS[k](*args, **kwargs)
    assert vars(ours) == vars(theirs)
    assert repr(ours) == repr(theirs)
    assert (ours == OURS[k](*args, **kwargs)) == (theirs == THEIRS[k](*args, **kwargs))
    assert OURS[k].__match_args__ == THEIRS[k].__match_args__  # type: ignore[attr-defined]
    if k < 2:
        assert hash(ours) == hash(theirs)
        changed = records.replace(ours, x=7)
        assert vars(changed) == vars(dataclasses.replace(theirs, x=7)) and changed != ours
        assert ours != THEIRS[k](*args, **kwargs)


@pytest.mark.parametrize(
    ("k", "args", "kwargs"), [(0, (), {}), (0, (1, 2, 3), {}), (0, (1,), {"w": 1}), (2, (), {"total": 1}), (3, (), {})]
)
def test_wrong_arguments(k: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for cls in (OURS[k], THEIRS[k]):
        with pytest.raises(TypeError):
            cls(*args, **kwargs)


def test_frozen() -> None:
    p = OURS[0](1)
    for change in (lambda: setattr(p, "x", 2), lambda: setattr(p, "new", 2), lambda: delattr(p, "x")):
        with pytest.raises(AttributeError, match="immutable"):
            change()
    assert p.x == 1  # type: ignore[attr-defined]


def test_unhashable_and_by_identity() -> None:
    with pytest.raises(TypeError):
        hash(OURS[2]())
    assert OURS[3](1) != OURS[3](1)
    assert len({OURS[3](1), OURS[3](1)}) == 2


def test_defaults_are_made_anew() -> None:
    a, b = OURS[2](), OURS[2]()
    a.items.append(1)  # type: ignore[attr-defined]
    assert b.items == []  # type: ignore[attr-defined]
