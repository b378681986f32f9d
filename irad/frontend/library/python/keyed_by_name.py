"""Dicts whose keys are known texts, some of which are there on some paths only: each value is an attribute, as plain Python that is read.

So values may be of any kinds. What asks for all keys is read again with a dict that keeps them in a list (keyed.KeyedDict).
"""

_MISSING = object()


def field(key, of):
    """The attribute of a key. The reader answers, and reads the function again if the key is not known."""
    raise NotImplementedError


def fields(of):
    """The attributes of all keys that may be there. The reader answers."""
    raise NotImplementedError


def all_keys(of):
    """Somebody asks for all keys: the reader reads the function again with a dict that keeps them in a list."""
    raise NotImplementedError


class KeyedByName:
    """A dict of known texts."""

    MAPPED = dict
    OF_ATTRIBUTES = True  # so that data may choose among several

    def __init__(self, made_by, items=()):
        self.made_by = made_by
        self.update(items)

    def same_as(self, other):
        """Are they one dict? Not as far as this is asked."""
        return self is other

    def __contains__(self, key):
        return hasattr(self, field(key, self))

    def __len__(self):
        return sum([1 if hasattr(self, name) else 0 for name in fields(self)])

    def __getitem__(self, key):
        if key not in self:
            raise KeyError(key)
        return getattr(self, field(key, self))

    def __setitem__(self, key, value):
        setattr(self, field(key, self), value)

    def __delitem__(self, key):
        if key not in self:
            raise KeyError(key)
        delattr(self, field(key, self))

    def get(self, key, default=None):
        """The value of a key, or the default."""
        return getattr(self, field(key, self), default)

    def setdefault(self, key, default=None):
        """The value of a key, which is the default from now on if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key, default=_MISSING):
        """Take a key out and give its value, or the default. Raises KeyError without one."""
        if key not in self:
            if default is _MISSING:
                raise KeyError(key)
            return default
        value = self[key]
        del self[key]
        return value

    def update(self, items=(), **names):
        """Store the items of a dict, or pairs, and those given by name."""
        if isinstance(items, KeyedByName):
            for name in fields(items):
                if hasattr(items, name):
                    setattr(self, name, getattr(items, name))
        else:
            for k, v in items.items() if isinstance(items, dict) else items:
                self[k] = v
        for k, v in names.items():
            self[k] = v

    def copy(self):
        """Another one of the same keys and values."""
        return KeyedByName(self.made_by, self)

    def as_dict(self):
        """dict() of it."""
        return self.copy()

    def _of_all(self, *args):
        return all_keys(self)

    __iter__ = __reversed__ = __eq__ = __repr__ = __or__ = __ror__ = __ior__ = _of_all
    keys = values = items = popitem = clear = for_the_caller = _of_all
