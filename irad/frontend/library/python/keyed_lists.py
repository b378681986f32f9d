"""Lists, sets and dicts that are values of a dict whose keys data decide, as plain Python that is read.

What is in all of these lists stands in one, the pool, beside the numbers of the lists that it is in. So what is asked of one of them
goes over the pool.
"""

from irad.errors import UnsupportedAttribute, UnsupportedError


def refused(condition, message):
    """UnsupportedError where a condition holds, at run time if data decide it."""
    if condition:
        raise UnsupportedError(message)


class Pool:
    """What is in several lists: `items`, in the order in which they came, `owners`, the number of each one's list, and `sizes`,
    how many elements each list has. `stores` counts changes of what was there."""

    def __init__(self):
        self.items = []
        self.owners = []
        self.sizes = []
        self.stores = 0

    def numbered(self):
        """The number of another list."""
        self.sizes.append(0)
        return len(self.sizes) - 1


class DictPool(Pool):
    """The pool of a dict. `elsewhere`: the numbers of its lists that stand in the pool of another dict, too."""

    def __init__(self):
        self.elsewhere = []
        super().__init__()


class KeyedList:
    """A list, of which the elements are in a pool: its own until it becomes a value of a dict."""

    MAPPED = list

    def __init__(self, items=(), pool=None, number=0):
        self.pool, self.number = pool, number
        if pool is None:
            self.pool = Pool()
            self.number = self.pool.numbered()
            self.extend(items)

    def same_as(self, other):
        """Are they one list? Each reading of a dict makes another object of it."""
        return self.pool is other.pool and self.number == other.number

    def moved(self, pool):
        """Its number in a pool, in which its elements are from now on. One that is a value of another dict stays there, too, and
        neither of the two may be changed: they would be two lists."""
        if self.pool is not pool:
            old = self.whole()
            if isinstance(self.pool, DictPool):
                number = pool.numbered()
                KeyedList((), pool, number).extend(old)
                self.pool.elsewhere.append(self.number)
                pool.elsewhere.append(number)
                return number
            self.pool = pool
            self.number = pool.numbered()
            self.extend(old)
        return self.number

    def _changing(self):
        if isinstance(self.pool, DictPool):
            refused(
                self.number in self.pool.elsewhere,
                "a list, set or dict that is a value of two dicts whose keys depend on data is changed: give one of them a copy",
            )

    def _storing(self):
        self._changing()
        self.pool.stores += 1

    def _positions(self):
        return [i for i, owner in enumerate(self.pool.owners) if owner == self.number]

    def whole(self):
        """A list of the elements."""
        return [x for x, owner in zip(self.pool.items, self.pool.owners) if owner == self.number]

    def __iter__(self):
        n, xs, stores = len(self), self.whole(), self.pool.stores
        for i in range(n):
            if self.pool.stores != stores:
                xs, stores = self.whole(), self.pool.stores
            yield xs[i]
            refused(len(self) != n, "a list that is a value of a dict is changed while a loop goes over it; go over list(xs)")

    def __len__(self):
        return self.pool.sizes[self.number]

    def place(self, x):
        """The position of the first element that equals x, or -1."""
        k = 0
        for owner, y in zip(self.pool.owners, self.pool.items):
            if owner == self.number:
                if y == x:
                    return k
                k += 1
        return -1

    def __contains__(self, x):
        return self.place(x) >= 0

    def __getitem__(self, k):
        return self.whole()[k]

    def __setitem__(self, k, x):
        if isinstance(k, slice):
            raise UnsupportedError("a slice of a list that is a value of a dict is assigned; make a new list")
        self._storing()
        self.pool.items[self._positions()[k]] = x

    def __delitem__(self, k):
        if isinstance(k, slice):
            raise UnsupportedError("a slice of a list that is a value of a dict is deleted; make a new list")
        self.pop(k)

    def __eq__(self, other):
        return self.whole() == (other.whole() if isinstance(other, KeyedList) else other)

    def __add__(self, other):
        return KeyedList(self.whole() + list(other))

    def __radd__(self, other):
        return KeyedList(list(other) + self.whole())

    def __iadd__(self, other):
        self.extend(other)
        return self

    def __imul__(self, n):
        xs = self.whole()
        if n <= 0:
            self.clear()
        for _ in range(n - 1):
            self.extend(xs)
        return self

    def __mul__(self, n):
        return KeyedList(self.whole() * n)

    def __repr__(self):
        raise UnsupportedError("the text of a list that is a value of a dict whose keys depend on data: print its elements")

    def append(self, x):
        """Add an element."""
        self._changing()
        self.pool.items.append(x)
        self.pool.owners.append(self.number)
        self.pool.sizes[self.number] += 1

    def extend(self, xs):
        """Add elements."""
        for x in xs.whole() if isinstance(xs, KeyedList) else xs:
            self.append(x)

    def insert(self, k, x):
        """Add an element before another one."""
        at = self._positions()
        if k < 0:
            k = max(k + len(at), 0)
        if k >= len(at):
            self.append(x)
        else:
            self._storing()
            self.pool.items.insert(at[k], x)
            self.pool.owners.insert(at[k], self.number)
            self.pool.sizes[self.number] += 1

    def pop(self, k=-1):
        """Take an element out. Raises IndexError if there is none."""
        at = self._positions()[k]
        self._storing()
        self.pool.owners.pop(at)
        self.pool.sizes[self.number] -= 1
        return self.pool.items.pop(at)

    def remove(self, x):
        """Take the first element out that equals x. Raises ValueError if there is none."""
        self.pop(self.whole().index(x))

    def clear(self):
        """Take everything out."""
        self._keep([])

    def _keep(self, xs):
        """Have these elements instead."""
        self._storing()
        others = [(x, owner) for x, owner in zip(self.pool.items, self.pool.owners) if owner != self.number]
        self.pool.items = [x for x, _ in others]
        self.pool.owners = [owner for _, owner in others]
        self.pool.sizes[self.number] = 0
        self.extend(xs)

    def sort(self, key=None, reverse=False):
        """Bring the elements into order."""
        self._keep(sorted(self.whole(), key=key, reverse=reverse))

    def reverse(self):
        """Turn the order round."""
        self._keep(self.whole()[::-1])

    def copy(self):
        """Another list of the same elements."""
        return KeyedList(self.whole())

    def index(self, x):
        """The position of the first element that equals x. Raises ValueError if there is none."""
        return self.whole().index(x)

    def count(self, x):
        """How many elements equal x."""
        return self.whole().count(x)

    def __getattr__(self, name):
        raise UnsupportedAttribute(f"{name} of a list that is a value of a dict whose keys depend on data is not supported")
