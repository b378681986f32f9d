"""Generators of random numbers while a function is read: objects that are made in the program, given to it, or NumPy's own.

A draw is a call of NumPy at run time, in program order, so that the numbers and the state are NumPy's. What stands for a generator
holds its number (irad.core.random_streams), which is read at each call where the object comes from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from irad.core import random_streams as streams
from irad.core import room
from irad.core.ir import Value
from irad.core.once import import_later
from irad.core.types import DTYPES, Dim, Extent, Type, dtype_name
from irad.errors import NO_BOUND, IradTypeError, UnsupportedError
from irad.frontend.control.stands import Stands
from irad.frontend.python.numbers import builtin
from irad.frontend.reader import Reader
from irad.frontend.reading.host_calls import host_call
from irad.frontend.registry import into
from irad.frontend.values.arr import Arr, broadcast_shapes, lift, shape_of, static_int, static_value
from irad.frontend.values.objects import Array, describe, is_traced_deep
from irad.ops.array import Slice, dim_value, index
from irad.ops.control import raise_if
from irad.ops.custom import stop_gradient
from irad.ops.elementwise import cast_to, limit, maximum
from irad.ops.intervals import affine_of, bound, dim_interval, interval

Draw = Callable[..., Any]
DRAWS: dict[str, Draw] = {}
"""Methods of generators: functions of the reader, the stream and NumPy's arguments, by name."""
draws = into(DRAWS)  # methods of generators


class RandomStream(Stands):
    """A generator, by its number."""

    draws = DRAWS

    def __init__(self, number: Arr):
        self.number = number

    def attribute(self, r: Reader, name: str) -> Any:
        if self._draws(name):
            self.METHODS.setdefault(name, self.draws[name])
        return super().attribute(r, name)

    def _draws(self, name: str) -> bool:
        """Is it a method? NumPy's are there once their module is, which Python's `random` does not need."""
        if self.draws is DRAWS:
            import_later("irad.frontend.reading.random_draws")
        return name in self.draws and hasattr(self.cls, name)

    def call(self, r: Reader, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if not self._draws(name):
            raise UnsupportedError(f"{self.cls.__name__}.{name} is not supported in compiled code; call it outside")
        return self.draws[name](r, self, *args, **kwargs)


class Modern(RandomStream):
    """numpy.random.Generator."""

    cls = np.random.Generator
    METHODS: dict[str, Any] = {}


class Legacy(RandomStream):
    """numpy.random.RandomState, the one behind np.random.rand and its kin among them."""

    cls = np.random.RandomState
    METHODS: dict[str, Any] = {}


def stand_for(obj: Any, number: Value) -> RandomStream:
    """What stands for a generator from outside, of which `number` is the number."""
    if not type(obj).__module__.startswith("numpy"):
        return import_later("irad.frontend.reading.python_random").Python(Arr(number))  # type: ignore[no-any-return]
    return (Modern if isinstance(obj, np.random.Generator) else Legacy)(Arr(number))


# ---- generators that the program makes ------------------------------------------------------------------------------


def _seed(r: Reader, seed: Any) -> tuple[Any, list[Value]]:
    """What tells seeds apart, and the operand that a seed is, if it is one."""
    if not (isinstance(seed, Array) or is_traced_deep(seed)):
        r.captures.pin(seed)
        return repr(seed), []
    v = lift(r.operand(seed)).value
    if v.type.dtype[0] not in "iu":
        raise IradTypeError("SeedSequence expects int or sequence of ints for entropy, not floats")
    return None, [v]


def making(make: Callable[..., Any], stand: type[RandomStream]) -> Callable[..., RandomStream]:
    """np.random.default_rng and its kin: a new object each time that the program comes here."""

    def call(r: Reader, seed: Any = None) -> RandomStream:
        if isinstance(seed, RandomStream):
            return seed
        if isinstance(seed, Bits):
            return seed.used(r, make, stand)
        return _made(r, seed, make, stand)

    return call


def _made(r: Reader, seed: Any, make: Callable[..., Any], stand: type[RandomStream], kind: str = "") -> RandomStream:
    key, operands = _seed(r, seed)
    if not operands:
        make(seed)  # raises what it raises

    def run(*given: Any) -> list[Any]:
        return [int(streams.number(make(given[0] if given else seed)))]

    return stand(Arr(host_call((f"{stand.__name__}_rng", kind, key), run, operands, (Type("i64"),))[0]))


class Bits(Stands):
    """A bit generator that is made in the program, for one generator."""

    def __init__(self, cls: type, seed: Any):
        self.cls, self.seed, self.taken = cls, seed, False

    def used(self, r: Reader, make: Callable[..., Any], stand: type[RandomStream]) -> RandomStream:
        if self.taken:
            raise UnsupportedError("two generators of one bit generator in compiled code; make it outside")
        self.taken = True
        return _made(r, self.seed, lambda seed: make(self.cls(seed)), stand, self.cls.__name__)


builtin(np.random.default_rng)(making(np.random.default_rng, Modern))
builtin(np.random.RandomState)(making(np.random.RandomState, Legacy))
for _bits in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64):
    builtin(_bits)(lambda r, seed=None, _bits=_bits: Bits(_bits, seed))


@builtin(np.random.Generator)
def generator(r: Reader, bit_generator: Any) -> RandomStream:
    """np.random.Generator of a bit generator that is made in the program."""
    if not isinstance(bit_generator, Bits):
        raise UnsupportedError("np.random.Generator of a bit generator from outside; make the generator outside too")
    return bit_generator.used(r, np.random.Generator, Modern)


@builtin(np.random.SeedSequence)
def seeds(r: Reader, entropy: Any = None, **rest: Any) -> Any:
    """A seed that is known: it is the same object at each call, as everything that is known."""
    if entropy is None:
        raise UnsupportedError("np.random.SeedSequence() would be made once, at compile time; give it a seed")
    static_value(r.operand([entropy, *rest.values()]), "the entropy of a SeedSequence")
    return np.random.SeedSequence(r.operand(entropy), **rest)


@builtin(np.random.seed)
def seed_globally(r: Reader, seed: Any = None) -> None:
    reseed(r, r.captures.take(np.random.mtrand._rand, r.captures.origin(np.random.mtrand._rand)), seed)


@draws("seed")
def reseed(r: Reader, s: RandomStream, seed: Any = None) -> None:
    """RandomState.seed: from now on the numbers of that seed."""
    key, operands = _seed(r, seed)
    if not operands and seed is not None:
        s.cls(seed) if s.cls is not np.random.Generator else None

    def run(n: int, *given: Any) -> list[Any]:
        streams.stream(n).seed(given[0] if given else seed)
        return []

    host_call(("seed", key), run, [s.number.value, *operands], ())


@draws("spawn")
def spawn(r: Reader, s: RandomStream, n_children: Any) -> list[RandomStream]:
    """Generator.spawn: new generators, independent of each other."""
    count = static_int(n_children, "the number of generators")
    run = lambda n: [int(streams.number(g)) for g in streams.stream(n).spawn(count)]
    return r.state.made([type(s)(Arr(v)) for v in host_call(("spawn", count), run, [s.number.value], (Type("i64"),) * count)])


# ---- draws ----------------------------------------------------------------------------------------------------------


Shape = tuple[Any, ...]  # ints, and numbers that data decide


def extents(r: Reader, size: Any) -> Shape:
    """`size=` as a shape. Raises NeedStatic for numbers that may be known: those of the arguments, counters of loops to be written out."""
    return tuple(_extent(r, n) for n in (size if isinstance(size, (tuple, list)) else (size,)))


def _extent(r: Reader, n: Any) -> Any:
    n = Arr(dim_value(n)) if isinstance(n, Extent) else r.operand(n)
    if not isinstance(n, Arr) or n.shape or n.name[0] not in "iu" or r.from_arguments(n) or r.may_be_known(n):
        return static_int(n, "the size of a sample")
    lo, hi = interval(n.value)
    return int(lo) if lo == hi else n


def parameter(r: Reader, x: Any, dtype: str | None = None) -> Any:
    """A parameter of a distribution as an operand: a number or an `Arr`, float64 if it is to be `dtype`."""
    x = r.operand(x)
    if not isinstance(x, (Arr, np.ndarray, list, tuple, int, float, np.generic)):
        raise IradTypeError(f"a parameter of a distribution must be a number or an array, got {describe(x)}")
    a = lift(x)
    return Arr(cast_to(a.value, dtype), a.weak) if dtype is not None and a.name != dtype else a


def is_constant(*params: Any) -> bool:
    """Do the parameters carry no derivative, so that NumPy draws with them?"""
    return not any(is_traced_deep(x) for x in params)


def ask(
    s: RandomStream, name: str, draw: Callable[..., Any], operands: Sequence[Value], kind: Type, key: Hashable, advice: str = ""
) -> Value:
    """draw(method, *operands) of a method of the generator, at run time; `key` tells what `draw` does."""

    stream = streams.stream
    advice = advice or "draw with parameters that are constants (irad.stop_gradient), or by a function of a standard sample"
    why = f"a sample of {s.cls.__name__}.{name} has no derivative by the parameters that it is drawn with; {advice}"

    def run(n: int, *xs: Any) -> list[Any]:
        return [draw(getattr(stream(n), name), *xs)]

    return host_call((name, s.cls.__name__, key), run, [s.number.value, *operands], (kind,), why)[0]


def shaped(
    s: RandomStream, name: str, draw: Callable[..., Any], operands: Sequence[Value], dtype: str, shape: Shape | None, key: Hashable,
    advice: str = "", inner: tuple[int, ...] = (), highest: float | None = None,
) -> Value:  # fmt: skip
    """draw(method, shape, *operands), with `inner` after the shape. Where data decide the shape, NumPy draws of that shape, and the
    sample is the beginning of an array that has room for the largest. `highest`: whole numbers from 0 to that come out."""
    loose = {k: n for k, n in enumerate(shape or ()) if isinstance(n, Arr)}
    dims = tuple(_dim(n) if k in loose else n for k, n in enumerate(shape or ()))
    box = tuple(int(dim_interval(d)[1]) for d in dims) + inner

    def run(method: Any, *given: Any) -> Any:
        sizes = dict(zip(loose, given))
        wanted = None if shape is None else tuple(sizes.get(k, n) for k, n in enumerate(shape))
        found = draw(method, wanted, *given[len(loose) :])
        if not loose:
            return found
        out = np.zeros(box, DTYPES[dtype])
        out[tuple(map(slice, np.shape(found)))] = found
        return out

    sizes = [dim_value(d) for k, d in enumerate(dims) if k in loose]
    marks = tuple(None if k in loose else n for k, n in enumerate(shape or ()))
    v = ask(s, name, run, [*sizes, *operands], Type(dtype, box), (shape is None, marks, box, key), advice)
    if highest is not None:
        bound(v, 0, highest)
    if loose:
        v = index(v, spec=tuple(Slice(0, d) for d in (*dims, *inner)))
        if highest is not None:
            bound(v, 0, highest)
    return v


def _dim(n: Arr) -> Dim:
    """An extent of a sample that data decide; one of a number that nothing bounds is checked against the room there is."""
    v = cast_to(n.value, "i64")
    lo, hi = interval(v)
    if lo < 0:
        raise_if(v < 0, exc="ValueError", message="negative dimensions are not allowed")
    if hi > _LARGEST:
        if not room.extents_checked():
            raise UnsupportedError(f"{NO_BOUND} f64 that is drawn is only known at run time and has no bound that could be found")
        hi = room.extent(room.level())
        raise_if(v > hi, exc=room.Outgrown.__name__, message=room.MESSAGE, keeps=())
        v = limit(v, hi)
    return affine_of(maximum(v, 0) if lo < 0 else v)


_LARGEST = 1 << 20  # extents up to which a sample has room for the greatest


def host_draw(
    r: Reader, s: RandomStream, name: str, params: Sequence[Any], size: Any, result: Any = np.float64, smooth: bool = False, **extra: Any
) -> Value:  # fmt: skip
    """A sample. `smooth`: derivatives that reach the parameters are refused, else there are none."""
    dtype = dtype_name(np.dtype(result)) or "f64"
    key = tuple(extra.items())
    if size is None:
        shape = broadcast_shapes(*map(shape_of, params))
        draw = lambda method, shape, *xs: method(*xs, size=None, **extra)
        known = tuple(d for d in shape if isinstance(d, int))
        inner, given = (known, None) if len(known) == len(shape) else ((), extents(r, shape))
    else:
        draw = lambda method, shape, *xs: method(*xs, size=shape, **extra)
        known, given = (), extents(r, size)
        inner = known
    if params and all(type(p) in (int, float) for p in params):
        fixed = tuple(params)
        of = lambda method, shape: draw(method, shape, *fixed)
        return shaped(s, name, of, [], dtype, given, (*key, tuple(map(repr, fixed))), inner=inner)
    values = [p.value if smooth else constant(p) for p in map(lift, params)]
    return shaped(s, name, draw, values, dtype, given, key, inner=inner)


def constant(p: Arr) -> Value:
    """A parameter by which there is no derivative."""
    return stop_gradient(p.value) if p.type.differentiable else p.value


def sampled(r: Reader, v: Value, size: Any, python: bool = True) -> Any:
    """A sample as the user sees it: without a size one number, else an array."""
    if not v.type.shape and size is None:
        return Arr(v, python)
    return r.wrap(Arr(v), zero_d=True)
