"""Dicts whose keys data decide: their keys in a list, in the order in which they came, as plain Python that is read.

What finds a key looks through the list: as many comparisons as there are keys.
"""

import collections

from irad.errors import UnsupportedAttribute, UnsupportedError
from irad.frontend.library.python.keyed_lists import KeyedList

MISSING = object()


def container(value, holder):
    """Is a value of a dict a list, set or dict? The reader answers, and reads the function again if the dict cannot hold such a one."""
    raise NotImplementedError


def read_out(value, holder):
    """A value of a dict. The reader notes where an array is from."""
    raise NotImplementedError


class Keyed:
    """What has keys, in the list `names`."""

    def _pooled(self, names):
        """Have the keys in a pool from now on."""
        self.names = names

    def _place(self, key):
        if isinstance(self.names, KeyedList):
            return self.names.place(key)
        for i in range(len(self.names)):
            if self.names[i] == key:
                return i
        return -1

    def _place_of(self, key):
        at = self._place(key)
        if at < 0:
            raise KeyError(key)
        return at

    def same_as(self, other):
        """Are they one container, of which there are two objects?"""
        return isinstance(self.names, KeyedList) and isinstance(other.names, KeyedList) and self.names.same_as(other.names)

    def __contains__(self, key):
        return self._place(key) >= 0

    def __len__(self):
        return len(self.names)


class View:
    """What keys(), values() or items() of a dict give: what is in it when somebody looks."""

    MAPPED = list  # what the caller gets

    def __init__(self, of, what):
        self.of, self.what = of, what

    def whole(self):
        """What is there now."""
        return self.of.taken(self.what)

    def listed(self):
        """list() of it."""
        return list(self.whole())

    def in_order(self, key, reverse):
        """sorted() of it."""
        return sorted(self.whole(), key=key, reverse=reverse)

    def __iter__(self):
        return self.of.live(self.what)

    def at(self, i, size):
        """An element of what had so many when somebody began to go over it."""
        self.of._check_size(size)
        return self.of.at(self.what, i)

    def __len__(self):
        return len(self.of)

    def __contains__(self, x):
        return x in self.of if self.what == "keys" else x in self.whole()

    def __eq__(self, other):
        raise UnsupportedError("a comparison of keys, values or items of a dict whose keys depend on data: compare sorted lists")

    def same_as(self, other):
        """Are they one object? Not as far as this is asked."""
        return False

    def __getattr__(self, name):
        raise UnsupportedAttribute(
            f"{name} of keys, values or items of a dict whose keys depend on data is not supported; make a list"
        )


class KeyedDict(Keyed):
    """A dict whose keys data decide."""

    MAPPED = dict

    def __init__(self, items=(), /, **names):
        self.names = []
        self.held = []
        self._begin()
        self.update(items, **names)

    def _begin(self):
        """Before anything is in it."""

    def _in(self, value):
        """What is held of a value."""
        container(value, self)
        return value

    def _out(self, held):
        """The value of which this is held."""
        return read_out(held, self)

    def _missing(self, key):
        """What is held of the value of a key that is not there."""
        raise KeyError(key)

    def _add(self, key, held):
        self.names.append(key)
        self.held.append(held)

    def _drop(self, at):
        """Take the key at a place out; what was held of its value."""
        self.names.pop(at)
        return self.held.pop(at)

    def _check_size(self, size):
        if len(self.names) != size:
            raise RuntimeError("dictionary changed size during iteration")

    def __iter__(self):
        size = len(self.names)
        for k in list(self.names):
            yield k
            self._check_size(size)

    def __repr__(self):
        raise UnsupportedError("the text of a dict whose keys depend on data: print its keys and values")

    def __eq__(self, other):
        raise UnsupportedError("a comparison of dicts whose keys depend on data: compare their keys and values")

    def __getitem__(self, key):
        at = self._place(key)
        if at < 0:
            held = self._missing(key)
        else:
            held = self.held[at]
        return self._out(held)

    def __setitem__(self, key, value):
        held = self._in(value)
        at = self._place(key)
        if at < 0:
            self._add(key, held)
        else:
            self.held[at] = held

    def __delitem__(self, key):
        self._drop(self._place_of(key))

    def get(self, key, default=None):
        """The value of a key, or the default."""
        at = self._place(key)
        return default if at < 0 else self.held[at]

    def setdefault(self, key, default=None):
        """The value of a key, which is the default from now on if there was none."""
        at = self._place(key)
        held = self._in(default)
        if at < 0:
            self._add(key, held)
        else:
            held = self.held[at]
        return self._out(held)

    def pop(self, key, default=MISSING):
        """Take a key out and give its value, or the default. Raises KeyError without one."""
        at = self._place(key)
        if at < 0:
            if default is MISSING:
                raise KeyError(key)
            return default
        return self._out(self._drop(at))

    def popitem(self):
        """Take the last key out and give it with its value. Raises KeyError if there is none."""
        if len(self.names) == 0:
            raise KeyError("popitem(): dictionary is empty")
        return self.names.pop(), self._out(self.held.pop())

    def clear(self):
        """Take everything out."""
        self.names.clear()
        self.held.clear()

    def _empty(self):
        return KeyedDict()

    def as_dict(self):
        """dict() of it."""
        return self._of_the_same(KeyedDict())

    def copy(self):
        """Another one of the same keys and values."""
        return self._of_the_same(self._empty())

    def _of_the_same(self, new):
        new.names, new.held = list(self.names), list(self.held)
        return new

    def update(self, items=(), /, **names):
        """Store the items of a dict, or pairs, and those given by name."""
        if isinstance(items, KeyedDict):
            for i in range(len(items.names)):
                self[items.names[i]] = items._out(items.held[i])
        else:
            for k, v in items.items() if isinstance(items, dict) else items:
                self[k] = v
        for k, v in names.items():
            self[k] = v

    def keys(self):
        """The keys, in the order in which they came."""
        return View(self, "keys")

    def values(self):
        """The values."""
        return View(self, "values")

    def items(self):
        """Pairs of key and value."""
        return View(self, "items")

    def taken(self, what):
        """keys(), values() or items() as they are now."""
        if what == "keys":
            return list(self.names)
        return list(self.held) if what == "values" else list(zip(list(self.names), list(self.held)))

    def live(self, what):
        """keys(), values() or items() in a loop: what is there when the loop comes to it."""
        size = len(self.names)
        for i in range(size):
            yield self.at(what, i)
            self._check_size(size)

    def at(self, what, i):
        """An element of keys(), values() or items()."""
        if what == "keys":
            return self.names[i]
        value = self._out(self.held[i])
        return value if what == "values" else (self.names[i], value)

    def __or__(self, other):
        new = self.copy()
        new.update(other)
        return new

    def __ror__(self, other):
        new = KeyedDict(other)
        new.update(self)
        return new

    def __ior__(self, other):
        self.update(other)
        return self

    def __getattr__(self, name):
        raise UnsupportedAttribute(f"{name} of a dict whose keys depend on data is not supported; keep keys and values in lists")


class KeyedDefaultDict(KeyedDict):
    """A collections.defaultdict whose keys data decide."""

    MAPPED = collections.defaultdict

    def __init__(self, default_factory=None, items=(), /, **names):
        self.default_factory = default_factory
        super().__init__(items, **names)

    def _made(self):
        return self.default_factory()

    def _missing(self, key):
        if self.default_factory is None:
            raise KeyError(key)
        held = self._in(self._made())
        self._add(key, held)
        return held

    def _empty(self):
        return KeyedDefaultDict(self.default_factory)


class KeyedCounter(KeyedDict):
    """A collections.Counter of what data decide."""

    MAPPED = collections.Counter

    def _missing(self, key):
        return 0

    def __delitem__(self, key):
        if key in self:
            super().__delitem__(key)

    def update(self, items=()):
        """Count the elements, or add the counts of a dict."""
        if isinstance(items, (dict, KeyedDict)):
            for k, n in items.items():
                self[k] = self[k] + n
        else:
            for k in items:
                self[k] = self[k] + 1

    def subtract(self, items=()):
        """Take counts off."""
        for k, n in KeyedCounter(items).items():
            self[k] = self[k] - n

    def _empty(self):
        return KeyedCounter()

    def _with(self, other, sign):
        new = KeyedCounter()
        for k, n in self.items():
            if n + sign * other[k] > 0:
                new[k] = n + sign * other[k]
        for k, n in other.items():
            if k not in self and sign * n > 0:
                new[k] = sign * n
        return new

    def __add__(self, other):
        return self._with(other, 1)

    def __sub__(self, other):
        return self._with(other, -1)

    def __or__(self, other):
        raise UnsupportedError("| of Counters whose keys depend on data: write a loop over their items")

    __ror__ = __or__

    def __ior__(self, other):
        raise UnsupportedError("|= of Counters whose keys depend on data: write a loop over their items")

    def total(self):
        """The sum of the counts."""
        return sum(self.held)

    def most_common(self, n=None):
        """Pairs of element and count, those of the highest counts first; of equal ones, those that came first."""
        order = sorted(range(len(self.held)), key=lambda i: -self.held[i])
        pairs = [(self.names[i], self.held[i]) for i in order]
        return pairs if n is None else pairs[:n]
