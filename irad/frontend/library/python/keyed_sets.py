"""Sets whose elements data decide, as plain Python that is read: hash tables as CPython's (its Objects/setobject.c), for the order is theirs."""

from irad.errors import UnsupportedAttribute, UnsupportedError
from irad.frontend.library.python.hashes import hash_of, hashed
from irad.frontend.library.python.keyed import Keyed, KeyedDict
from irad.frontend.library.python.keyed_lists import refused

NOT_FOLLOWED = (
    "the order of this set, whose elements depend on data, is not followed: go over sorted(xs), or keep them in a list or a dict"
)
_UNUSED, _DUMMY = 0, -1  # places of a table without an element; the others have a position in `names`, counted from 1


def asked():
    """Does the program ask for the order of a set whose elements data decide? The reader answers."""
    return True


def ask(xs):
    """Ask for the order of a set: the reader reads the program again."""
    raise UnsupportedError(NOT_FOLLOWED)


def plain(xs):
    """A set of known elements as one whose elements data decide; anything else as it is. The reader answers."""
    return KeyedSet(list(xs)) if isinstance(xs, (set, frozenset)) else xs


class KeyedSet(Keyed):
    """A set whose elements data decide.

    The elements are in `names`, their hashes in `hashes`; `table` has the position of each at the place where CPython has it: from the
    one that the lowest bits of its hash give on, the first of ten that is free, then of the ten from a place that other bits give.
    `filled` places are or were in use; with three fifths of them the table grows. `taken` counts what was taken out. `ordered`: are all
    elements numbers, or tuples of numbers, so that their hashes are known? There is no table, and an element is looked for among all,
    where the program never asks for the order of a set, and in a set that is a value of a dict.
    """

    MAPPED = set  # what the caller gets

    def __init__(self, items=()):
        self.names, self.hashes, self.filled, self.taken, self.next, self.ordered = [], [], 0, 0, 0, True
        self.table = [_UNUSED] * 8 if asked() else None
        self.update(items)

    def _pooled(self, names):
        super()._pooled(names)
        self.table = None

    def _search(self, key, h):
        """Where an element is in the table, or is to be put."""
        mask = len(self.table) - 1
        i, rest, free = h & mask, h >> 5 & (1 << 59) - 1, -1
        j, last = i, i + 9 if i + 9 <= mask else i
        while True:
            at = self.table[j]
            if at == _UNUSED:
                return j if free < 0 else free
            if at == _DUMMY:
                free = j
            elif len(self.names) > 0 and self.hashes[at - 1] == h and self.names[at - 1] == key:
                return j
            if j < last:
                j += 1
            else:
                i = 5 * i + 1 + (rest & mask) & mask
                rest >>= 5
                j, last = i, i + 9 if i + 9 <= mask else i

    def _place(self, key):
        return super()._place(key) if self.table is None else self.table[self._search(key, hash_of(key))] - 1

    def _resize(self, least):
        size = 8
        while size <= least:
            size *= 2
        order = self._order()
        self._replace(self.table, [_UNUSED for _ in range(size)])
        for at in order:
            self.table[self._search(self.names[at], self.hashes[at])] = at + 1
        self.filled = len(self.names)

    def _grow(self):
        n = len(self.names)
        self._resize(2 * n if n > 50000 else 4 * n)

    def _expect(self, more):
        """Make room for as many elements of another set or dict."""
        if self._crowded(self.filled + more):
            self._resize((len(self.names) + more) * 2)

    def _crowded(self, filled):
        """Are so many places in use too many for the table?"""
        return filled * 5 >= (len(self.table) - 1) * 3

    def _order(self):
        return [at - 1 for at in self.table if at > 0]

    def _each(self):
        """The elements, in the order of the set as far as it is followed."""
        return list(self.names) if self.table is None else [self.names[at] for at in self._order()]

    def followed(self):
        """Is the order known?"""
        return self.table is not None and self.ordered

    def _follow(self):
        """Refuse a set of which the order is not known."""
        if self.table is None:
            ask(self)
        refused(not self.ordered, NOT_FOLLOWED)

    def whole(self):
        """A list of the elements, in the order of the set."""
        self._follow()
        return self._each()

    def __iter__(self):
        size, taken = len(self.names), self.taken
        for k in self.whole():
            yield k
            if len(self.names) != size:
                raise RuntimeError("Set changed size during iteration")
            refused(self.taken != taken, "a loop over a set takes elements out and puts others in: go over list(s)")

    def __repr__(self):
        raise UnsupportedError("the text of a set whose elements depend on data: print sorted(xs)")

    def __eq__(self, other):
        return len(self) == len(other) and self.issubset(other)

    def add(self, key):
        """Put an element in."""
        if self.table is None:
            if self._place(key) < 0:
                self.names.append(key)
            return
        if not hashed(key):
            self.ordered = False
        h = hash_of(key)
        j = self._search(key, h)
        old = self.table[j]
        if old <= 0:
            self.names.append(key)
            self.table[j] = len(self.names)
            self.hashes.append(h)
            if old == _UNUSED:
                self.filled += 1
                if self._crowded(self.filled):
                    self._grow()

    def _take(self, j):
        """Take out what is at a place of the table. The last of the names comes into its place among them."""
        at, last = self.table[j] - 1, len(self.names) - 1
        key = self.names[at]
        if at != last:
            self.table[self._search(self.names[last], self.hashes[last])] = at + 1
            self.names[at], self.hashes[at] = self.names[last], self.hashes[last]
        self.names.pop()
        self.hashes.pop()
        self.table[j] = _DUMMY
        self.taken += 1
        return key

    def discard(self, key):
        """Take an element out, if it is there."""
        if self.table is None:
            at = self._place(key)
            if at >= 0:
                self.names.pop(at)
        else:
            j = self._search(key, hash_of(key))
            if self.table[j] > 0:
                self._take(j)

    def remove(self, key):
        """Take an element out. Raises KeyError if it is not there."""
        n = len(self.names)
        self.discard(key)
        if len(self.names) == n:
            raise KeyError(key)

    def pop(self):
        """Take an element out and give it. Raises KeyError if there is none."""
        self._follow()
        if len(self.names) == 0:
            raise KeyError("pop from an empty set")
        mask = len(self.table) - 1
        j = self.next & mask
        while self.table[j] <= 0:
            j = j + 1 & mask
        self.next = j + 1
        return self._take(j)

    def clear(self):
        """Take everything out."""
        self._become(KeyedSet())

    def _become(self, other):
        self._replace(self.names, other.names)
        if self.table is not None:
            self._replace(self.hashes, other.hashes)
            self._replace(self.table, other.table)
            self.filled, self.ordered = other.filled, other.ordered
            self.taken += 1

    def _replace(self, xs, ys):
        xs.clear()
        xs.extend(ys)

    def copy(self):
        """Another set of the same elements."""
        return KeyedSet(self)

    def update(self, *others):
        """Put the elements of others in."""
        for other in others:
            xs = plain(other)
            if isinstance(xs, KeyedSet):
                self._merge(xs)
            else:
                if isinstance(xs, (dict, KeyedDict)) and self.table is not None:
                    self._expect(len(xs))
                for k in xs:
                    self.add(k)

    def _merge(self, other):
        n = len(other.names)
        if self.table is not None and n > 0:
            self._expect(n)
        tables = self.table is not None and other.table is not None
        if tables and self.filled == 0 and other.filled == n and len(self.table) == len(other.table):
            self._become(other)
        else:
            for k in other._each():
                self.add(k)
            self.ordered = self.ordered and other.followed()

    def union(self, *others):
        """A set of what is in one of them."""
        new = self.copy()
        new.update(*others)
        return new

    def _part(self, xs, other, wanted):
        """A set of those that the other one has, or has not."""
        new = KeyedSet()
        for k in xs:
            if (k in self and k in other) == wanted:
                new.add(k)
        new.ordered = self.followed() and (not isinstance(other, KeyedSet) or other.followed())
        return new

    def intersection(self, other):
        """A set of what is in both."""
        other = plain(other)
        if not isinstance(other, KeyedSet):
            return self._part(other, self, True)
        return self._part(self._each() if len(other) > len(self) else other._each(), other, True)

    def difference(self, other):
        """A set of what is here only."""
        other, new = plain(other), KeyedSet()
        if not isinstance(other, (KeyedSet, KeyedDict, dict)) or len(self) // 4 > len(other):
            new.update(self)
            new.difference_update(other)
        else:
            new._become(self._part(self._each(), other, False))
        return new

    def symmetric_difference(self, other):
        """A set of what is in one of the two only."""
        new = KeyedSet(plain(other))
        new.symmetric_difference_update(self)
        return new

    def intersection_update(self, other):
        """Keep what is in the other one."""
        self._become(self.intersection(other))

    def difference_update(self, other):
        """Keep what is not in the other one."""
        for k in list(elements(other)):
            self.discard(k)
        if self.table is not None and self.filled - len(self.names) > (len(self.table) - 1) // 4:
            self._grow()

    def symmetric_difference_update(self, other):
        """Keep what is not in the other one, and put in what only that one has."""
        xs = plain(other)
        for k in list(elements(xs if isinstance(xs, KeyedSet) else KeyedSet(xs))):
            if k in self:
                self.discard(k)
            else:
                self.add(k)

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
        for k in elements(other):
            if k in self:
                return False
        return True

    __or__, __and__, __sub__, __xor__ = union, intersection, difference, symmetric_difference

    def __ror__(self, other):
        return _left(other).union(self)

    def __rand__(self, other):
        return _left(other).intersection(self)

    def __rsub__(self, other):
        return _left(other).difference(self)

    def __rxor__(self, other):
        return _left(other).symmetric_difference(self)

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


def _left(xs):
    """The left operand, of which the result has the class."""
    refused(
        isinstance(xs, frozenset), "a frozenset is joined with a set whose elements depend on data: make it a set (set(xs) | t)"
    )
    return plain(xs)


def elements(xs):
    """The elements of a set in its order, or of anything else that is gone over."""
    return xs._each() if isinstance(xs, KeyedSet) else xs
