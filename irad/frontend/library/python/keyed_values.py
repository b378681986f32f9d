"""Dicts of lists, sets and dicts, whose keys data decide, as plain Python that is read: what is held of one is its number in a pool."""

import collections

from irad.errors import UnsupportedAttribute, UnsupportedError
from irad.frontend.library.python.keyed import MISSING, KeyedCounter, KeyedDefaultDict, KeyedDict, container
from irad.frontend.library.python.keyed_arrays import ArrayPool, KeyedArray
from irad.frontend.library.python.keyed_lists import DictPool, KeyedList, refused
from irad.frontend.library.python.keyed_sets import KeyedSet


def _pooled(xs, pool):
    """A list, as one that can be in a pool, and its number there."""
    xs = xs if isinstance(xs, KeyedList) else KeyedList(xs)
    return xs, xs.moved(pool)


class KeyedDictOf(KeyedDict):
    """A dict of containers of one kind: KeyedList, KeyedSet, or a dict with its default_factory, if it has one."""

    def __init__(self, kind, items=(), /, **names):
        self.kind = kind
        super().__init__(items, **names)

    def _begin(self):
        self.pool, self.values_pool = DictPool(), DictPool()

    def _in(self, value):
        if not container(value, self):
            raise UnsupportedError(
                "a container and something else as values of one dict whose keys depend on data: keep them in two dicts"
            )
        if isinstance(value, KeyedList):
            return value.moved(self.pool)
        if isinstance(value, KeyedDict):
            value.held, _ = _pooled(value.held, self.values_pool)
        names, number = _pooled(value.names, self.pool)
        value._pooled(names)
        return number

    def _out(self, held):
        xs = KeyedList((), self.pool, held)
        if self.kind[0] is KeyedList:
            return xs
        value = self.kind[0](*self.kind[1:])
        value._pooled(xs)
        if isinstance(value, KeyedDict):
            value.held = KeyedList((), self.values_pool, held)
        return value

    def _empty(self):
        return KeyedDictOf(self.kind)

    def get(self, key, default=None):
        """The value of a key, or the default."""
        at = self._place(key)
        if default is None:
            return None if at < 0 else self._out(self.held[at])
        held = self._in(default)
        if at >= 0:
            held = self.held[at]
        return self._out(held)

    def pop(self, key, default=MISSING):
        """Take a key out and give its value, or the default. Raises KeyError without one."""
        at = self._place_of(key) if default is MISSING else self._place(key)
        if default is None:
            return None if at < 0 else self._out(self._drop(at))
        held = 0 if default is MISSING else self._in(default)
        if at >= 0:
            held = self._drop(at)
        return self._out(held)

    def as_dict(self):
        """dict() of it."""
        return self._of_the_same(KeyedDictOf(self.kind))

    def _of_the_same(self, new):
        new.pool, new.values_pool = self.pool, self.values_pool
        return super()._of_the_same(new)

    def taken(self, what):
        """keys(), values() or items() as they are now."""
        names = list(self.names)
        return names if what == "keys" else Values(None if what == "values" else names, list(self.held), self)


class Values:
    """The values of a dict of containers, or with keys its items, in an order."""

    def __init__(self, names, held, of):
        self.names, self.held, self.of = names, held, of

    def _at(self, i):
        value = self.of._out(self.held[i])
        return value if self.names is None else (self.names[i], value)

    def _of(self, places):
        return Values(None if self.names is None else [self.names[i] for i in places], [self.held[i] for i in places], self.of)

    def __len__(self):
        return len(self.held)

    def __iter__(self):
        size = len(self.of)

        def element(i):
            self.of._check_size(size)
            return self._at(i)

        return map(element, range(len(self.held)))

    def __getitem__(self, k):
        return self._of(list(range(len(self.held)))[k]) if isinstance(k, slice) else self._at(k)

    def in_order(self, key, reverse):
        """sorted() of them."""
        if key is None and self.names is None:
            raise UnsupportedError("sorted() of lists that are values of a dict whose keys depend on data: give it a key")
        by = (lambda i: self.names[i]) if key is None else (lambda i: key(self._at(i)))
        return self._of(sorted(range(len(self.held)), key=by, reverse=reverse))

    def listed(self):
        """list() of them."""
        return Values(self.names, self.held, self.of)


class KeyedDefaultDictOf(KeyedDictOf, KeyedDefaultDict):
    """A collections.defaultdict of containers."""

    def __init__(self, kind, default_factory=None, items=(), /, **names):
        self.kind = kind
        KeyedDefaultDict.__init__(self, default_factory, items, **names)

    def _made(self):
        if self.default_factory is list:
            return KeyedList()
        if self.default_factory is set:
            return KeyedSet()
        return KeyedDict() if self.default_factory is dict else self.default_factory()

    def _empty(self):
        return KeyedDefaultDictOf(self.kind, self.default_factory)


class KeyedDictOfArrays(KeyedDictOf):
    """A dict of arrays that are changed in place."""

    def _begin(self):
        self.pool = ArrayPool()

    def _in(self, value):
        if not container(value, self):
            raise UnsupportedError("an array and something else as values of one dict: keep them in two dicts")
        return self.pool.added(value)

    def _out(self, held):
        return KeyedArray(self.pool, held)

    def _empty(self):
        return KeyedDictOfArrays(self.kind)

    def as_dict(self):
        """dict() of it."""
        return self._of_the_same(KeyedDictOfArrays(self.kind))

    def _of_the_same(self, new):
        new.pool = self.pool
        return KeyedDict._of_the_same(self, new)

    def _plain(self):
        return KeyedDict()

    def for_the_caller(self):
        """The same, with the arrays as values."""
        new = self._plain()
        new.names, new.held = list(self.names), [self.pool.arrays[i] for i in self.held]
        return new


class KeyedDefaultDictOfArrays(KeyedDictOfArrays, KeyedDefaultDict):
    """A collections.defaultdict of arrays that are changed in place."""

    def __init__(self, kind, default_factory=None, items=(), /, **names):
        self.kind = kind
        KeyedDefaultDict.__init__(self, default_factory, items, **names)

    def _empty(self):
        return KeyedDefaultDictOfArrays(self.kind, self.default_factory)

    def _plain(self):
        return KeyedDefaultDict(self.default_factory)


class KeyedListOf:
    """A list of containers of one kind that are changed where they stand: of each its number in a pool is held."""

    MAPPED = list

    def __init__(self, kind, items=()):
        self.kind = kind
        self.held = []
        self._begin()
        self.extend(items)

    _begin, _in, _out = KeyedDictOf._begin, KeyedDictOf._in, KeyedDictOf._out

    def same_as(self, other):
        """Are they one list?"""
        return self.held is other.held

    def whole(self):
        """A list of lists, as they are now."""
        return [self._out(i).whole() for i in self.held]

    def __len__(self):
        return len(self.held)

    def __iter__(self):
        n = len(self.held)
        for i in range(n):
            yield self._out(self.held[i])
            refused(
                len(self.held) != n, "a list of lists that data fill is changed while a loop goes over it; go over its positions"
            )

    def __getitem__(self, k):
        if isinstance(k, slice):
            raise UnsupportedError("a slice of a list of lists that data fill; go over its positions")
        return self._out(self.held[k])

    def __setitem__(self, k, value):
        if isinstance(k, slice):
            raise UnsupportedError("a slice of a list of lists that data fill is assigned; store them one by one")
        self.held[k] = self._in(value)

    def __delitem__(self, k):
        self.pop(k)

    def append(self, value):
        """Add an element."""
        self.held.append(self._in(value))

    def extend(self, values):
        """Add elements."""
        for value in values:
            self.append(value)

    def insert(self, k, value):
        """Add an element before another one."""
        self.held.insert(k, self._in(value))

    def pop(self, k=-1):
        """Take an element out. Raises IndexError if there is none."""
        return self._out(self.held.pop(k))

    def clear(self):
        """Take everything out."""
        self.held.clear()

    def reverse(self):
        """Turn the order round."""
        self.held.reverse()

    def __repr__(self):
        raise UnsupportedError("the text of a list of lists that data fill: print its elements")

    def __getattr__(self, name):
        raise UnsupportedAttribute(f"{name} of a list of lists that data fill is not supported")


CLASSES = {dict: KeyedDict, set: KeyedSet, collections.defaultdict: KeyedDefaultDict, collections.Counter: KeyedCounter}
OF = {KeyedDict: KeyedDictOf, KeyedDefaultDict: KeyedDefaultDictOf}
OF_ARRAYS = {KeyedDict: KeyedDictOfArrays, KeyedDefaultDict: KeyedDefaultDictOfArrays}
