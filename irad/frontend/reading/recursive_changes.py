"""Lists, dicts and objects that a recursive function is given and changes: what they hold then is returned, and the caller's get it.

That is done for numbers in them. Whatever else is put into one would be another object there than in Python, so it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from irad.core.ir import Value
from irad.core.types import Type
from irad.errors import UnsupportedError
from irad.frontend.control.filling import Maker, fresh_array, holes, leaves
from irad.frontend.control.lists import change
from irad.frontend.control.merge import Joiner, open_
from irad.frontend.control.templates import Composite, Grown, Num, Same, Template, equal, structure
from irad.frontend.reader import Reader
from irad.frontend.values.choices import is_object, one_of
from irad.frontend.values.objects import Array, Choice, is_number
from irad.frontend.values.runs import has_run
from irad.frontend.values.state import Attribute, Items


def opened(r: Reader, x: Any) -> Template:
    """The template of an argument. An object from outside stays itself."""
    if type(x) is Choice and not all(stays(r, o) for o in x.options if is_object(o)):
        raise UnsupportedError(
            f"{one_of(x.options)}, by data, is given to a function that calls itself; give it a list of them and a position"
        )
    return Same(x) if stays(r, x) else open_(x, there=lambda o: not is_object(o) or stays(r, o))


def stays(r: Reader, x: Any, node: Any = None) -> bool:
    """Is it an object that is there before the program runs, whose attributes are read as captured state? `node`: its structure."""
    plain = hasattr(x, "__dict__") and not isinstance(x, (type, Array)) and not is_number(x)
    return plain and not r.state.is_made(x) and (node or structure(x)) is not None


def containers(x: Any) -> Iterator[Any]:
    """The lists, dicts and objects in an argument, in the order in which a Maker makes them."""
    found = None if is_number(x) else structure(x)
    if found is None:
        return
    if not has_run(x):
        for c in found[2]:
            yield from containers(c)
    if not isinstance(x, tuple) and found[2]:
        yield x


class Changes:
    """What a recursive function changes of the containers that it is given, by their number."""

    def __init__(self, name: str):
        self.name = name
        self.mine: list[Any] = []  # those that stand for the arguments while the body is read
        self.before: list[Sequence[Any]] = []
        self.after: dict[int, Template] = {}

    def begin(self) -> None:
        self.mine, self.before = [], []

    def made(self, r: Reader, obj: Any) -> Any:
        """Note a container of an argument."""
        if not isinstance(obj, tuple):
            r.state.changed.discard(id(obj))
            self.mine.append(obj)
            self.before.append(list(_parts(obj)))
        return r.state.made(obj)

    def learn(self, r: Reader) -> bool:
        """Join what changed containers hold after the body; True if that is known already."""
        settled = True
        for k, obj in enumerate(self.mine):
            if id(obj) not in r.state.changed and k not in self.after:
                continue
            old = self.after.get(k)
            new = open_(obj) if old is None else Joiner().join(old, obj)
            if not self._can(new, obj, self.before[k]):
                raise UnsupportedError(
                    f"the recursive function {self.name} changes a {type(obj).__name__} that it is given, at a depth that depends on "
                    "data, and not only numbers in it; return the new one, or hand on arrays"
                )
            settled = settled and old is not None and equal(old, new)
            self.after[k] = new
        return settled

    @staticmethod
    def _can(t: Template, obj: Any, before: Sequence[Any]) -> bool:
        """Do only numbers differ from what the container held before?"""
        now = list(_parts(obj))
        if isinstance(t, Same) and len(now) == len(before):
            return True
        if isinstance(t, Grown):
            return isinstance(t.element, Num)
        if not isinstance(t, Composite) or len(now) != len(before):
            return False
        return all(isinstance(k, (Num, Same)) or x is y for k, x, y in zip(t.kids, before, now))

    def values(self, r: Reader) -> list[Value]:
        """What changed containers hold at the end of the body."""
        return [v for k, t in self.after.items() for v in leaves(_numbers(t), self.mine[k], r.read)]

    def types(self) -> list[Type]:
        return [h for t in self.after.values() for h in holes(_numbers(t))]

    def given(self, args: Sequence[Any]) -> list[Any]:
        """The caller's containers that are changed. Raises UnsupportedError if one of them is given twice."""
        found = [c for x in args for c in containers(x)]
        changed = [found[k] for k in self.after]
        if any(sum(x is c for x in found) > 1 for c in changed):
            raise UnsupportedError(f"the recursive function {self.name} is given one list, dict or object twice, and changes it")
        return changed

    def give(self, r: Reader, changed: Sequence[Any], outs: Sequence[Value]) -> None:
        """Let the caller's containers hold the values that a call has given."""
        maker = Maker(outs, fresh_array, r.state.made)
        for c, t in zip(changed, self.after.values()):
            new = maker.make(_numbers(t))
            if isinstance(c, (list, dict)):
                change(r, c)
                kept = t.kids if isinstance(t, Composite) else ()
                Items(c).set(_merged(c, new, kept))
            else:
                for (name, value), kid in zip(list(vars(new).items()), t.kids if isinstance(t, Composite) else ()):
                    if isinstance(kid, Num):
                        r.state.assign(Attribute(c, name), value)


def _parts(obj: Any) -> Sequence[Any]:
    found = structure(obj)
    return () if found is None else found[2]


def _numbers(t: Template) -> Template:
    """The template with holes for numbers only."""
    if not isinstance(t, Composite):
        return t
    return Composite(t.cls, t.meta, tuple(k if isinstance(k, (Num, Same)) else Same(None) for k in t.kids))


def _merged(c: Any, new: Any, kids: Sequence[Template]) -> Any:
    """What a list or dict holds after a call: its new numbers, everything else as it was."""
    if not kids:
        return new
    if isinstance(c, dict):
        return {k: new[k] if isinstance(t, (Num, Same)) else c[k] for k, t in zip(new, kids)}
    return [x if isinstance(t, (Num, Same)) else old for old, x, t in zip(c, new, kids)]
