"""What stands for an object of NumPy that is no array: `x.flat`, `np.nditer`, a generator of random numbers.

Such an object is not given to code that is run: what a program may do with it is what its class here defines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irad.core.foreign import with_article
from irad.errors import IradTypeError, PythonTypeError, UnsupportedError
from irad.frontend.control.sequences import Seq
from irad.frontend.reader import Reader
from irad.frontend.values.objects import Method, Stand


class Stands(Stand):
    """Base of them. `METHODS` are the names that can be called, `ATTRIBUTES` what can be read: functions of the reader and this."""

    METHODS: dict[str, Any] = {}
    ATTRIBUTES: dict[str, Any] = {}

    def attribute(self, r: Reader, name: str) -> Any:
        """self.name."""
        if name in self.ATTRIBUTES:
            return self.ATTRIBUTES[name](r, self)
        if name in self.METHODS:
            return Method(self, name)
        if not hasattr(self.cls, name):
            raise AttributeError(f"'{self.cls.__module__}.{self.cls.__name__}' object has no attribute '{name}'")
        raise UnsupportedError(f"{self.cls.__name__}.{name} is not supported in compiled code")

    def assign(self, r: Reader, name: str, value: Any) -> None:
        """self.name = value."""
        raise UnsupportedError(f"assigning {self.cls.__name__}.{name} in compiled code")

    def call(self, r: Reader, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """self.name(*args, **kwargs)."""
        return self.METHODS[name](r, self, *args, **kwargs)

    def leave(self, r: Reader) -> None:
        """The end of a `with` block of it, also where an exception leaves it."""

    def item(self, r: Reader, key: Any) -> Any:
        """self[key]."""
        raise PythonTypeError(f"'{self.cls.__name__}' object is not subscriptable")

    def store(self, r: Reader, key: Any, value: Any) -> None:
        """self[key] = value."""
        raise PythonTypeError(f"'{self.cls.__name__}' object does not support item assignment")

    def elements(self, r: Reader) -> Seq:
        """What a loop goes over."""
        raise PythonTypeError(f"'{self.cls.__name__}' object is not iterable")

    def length(self, r: Reader) -> Any:
        """len(self)."""
        raise PythonTypeError(f"object of type '{self.cls.__name__}' has no len()")

    def array(self, r: Reader) -> Any:
        """What np.asarray makes of it."""
        raise IradTypeError(f"{with_article(self.cls.__name__)} is no array")
