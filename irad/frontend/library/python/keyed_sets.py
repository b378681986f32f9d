"""Sets whose elements data decide: those in a list, as plain Python that is read."""

from irad.errors import UnsupportedAttribute, UnsupportedError
from irad.frontend.library.python.keyed import Keyed


class KeyedSet(Keyed):
    """A set whose elements data decide."""

    MAPPED = set  # what the caller gets

    def __init__(self, items=()):
        self.names = []
        for k in items:
            self.add(k)

    def __iter__(self):
        raise UnsupportedError(
            "the order of a set whose elements depend on data is not followed: go over sorted(xs), or keep them in a list or a dict"
        )

    def __repr__(self):
        raise UnsupportedError("the text of a set whose elements depend on data: print sorted(xs)")

    def __eq__(self, other):
        return len(self) == len(other) and self.issubset(other)

    def add(self, key):
        """Put an element in."""
        if self._place(key) < 0:
            self.names.append(key)

    def discard(self, key):
        """Take an element out, if it is there."""
        at = self._place(key)
        if at >= 0:
            self.names.pop(at)

    def remove(self, key):
        """Take an element out. Raises KeyError if it is not there."""
        self.names.pop(self._place_of(key))

    def clear(self):
        """Take everything out."""
        self.names.clear()

    def _become(self, other):
        self.names.clear()
        self.names.extend(other.names)

    def copy(self):
        """Another set of the same elements."""
        new = KeyedSet()
        new.names = list(self.names)
        return new

    def update(self, *others):
        """Put the elements of others in."""
        for other in others:
            for k in elements(other):
                self.add(k)

    def union(self, *others):
        """A set of what is in one of them."""
        new = self.copy()
        new.update(*others)
        return new

    def intersection(self, other):
        """A set of what is in both."""
        new = KeyedSet()
        for k in self.names:
            if k in other:
                new.names.append(k)
        return new

    def difference(self, other):
        """A set of what is here only."""
        new = KeyedSet()
        for k in self.names:
            if k not in other:
                new.names.append(k)
        return new

    def symmetric_difference(self, other):
        """A set of what is in one of the two only."""
        new = self.difference(other)
        for k in elements(other):
            if k not in self:
                new.add(k)
        return new

    def intersection_update(self, other):
        """Keep what is in the other one."""
        self._become(self.intersection(other))

    def difference_update(self, other):
        """Keep what is not in the other one."""
        self._become(self.difference(other))

    def symmetric_difference_update(self, other):
        """Keep what is not in the other one, and put in what only that one has."""
        self._become(self.symmetric_difference(other))

    def issubset(self, other):
        """Is everything in the other one?"""
        for k in self.names:
            if k not in other:
                return False
        return True

    def issuperset(self, other):
        """Is everything of the other one here?"""
        for k in elements(other):
            if k not in self:
                return False
        return True

    def isdisjoint(self, other):
        """Have they nothing in common?"""
        return len(self.intersection(other)) == 0

    __or__, __and__, __sub__, __xor__ = union, intersection, difference, symmetric_difference

    def __ror__(self, other):
        return plain(other).union(self)

    def __rand__(self, other):
        return plain(other).intersection(self)

    def __rsub__(self, other):
        return plain(other).difference(self)

    def __rxor__(self, other):
        return plain(other).symmetric_difference(self)

    __le__, __ge__ = issubset, issuperset

    def __ior__(self, other):
        self.update(other)
        return self

    def __iand__(self, other):
        self.intersection_update(other)
        return self

    def __isub__(self, other):
        self.difference_update(other)
        return self

    def __ixor__(self, other):
        self.symmetric_difference_update(other)
        return self

    def __lt__(self, other):
        return self.issubset(other) and len(self) < len(other)

    def __gt__(self, other):
        return self.issuperset(other) and len(self) > len(other)

    def __getattr__(self, name):
        raise UnsupportedAttribute(f"{name} of a set whose elements depend on data is not supported; keep them in a list")


def elements(xs):
    """The elements of a set, or of anything else that is gone over."""
    return xs.names if isinstance(xs, KeyedSet) else xs


def plain(xs):
    """A set of known elements as one whose elements data decide."""
    if isinstance(xs, frozenset):
        raise UnsupportedError("a frozenset is joined with a set whose elements depend on data: make it a set (set(xs) | t)")
    return KeyedSet(xs)
