"""What is taken out, kind by kind, and the machine that finds it: the table of docs/testing.md, to be run again."""

from __future__ import annotations

from tests.mutation import Mutant

FREE = "lambda places, at, condition: True"  # the operation that checks nothing
CONDITIONS = "irad/call/conditions.py"
CAPTURES = "irad/frontend/values/captures.py"


def unguarded(kind: str, holds: str, write: str = "", machine: str = "api", features: tuple[str, ...] = ()) -> Mutant:
    """A kind of condition that always holds, in the call through Python and in the one without."""
    row = f'    "{kind}": Kind({holds}{write and ", " + write}'
    free = f'    "{kind}": Kind(lambda x, e: True, {FREE}'
    return Mutant("guard-" + kind.replace(" ", "-"), "assumption", ((CONDITIONS, row, free),), machine, features=features)


# fmt: off
GUARDS = [
    unguarded("is", "lambda x, e: x is e", '_operation("is")'),
    unguarded("eq", "alike", "_equal"),
    unguarded("type", "lambda x, e: type(x) is e", '_operation("class")'),
    unguarded("code", 'lambda x, e: getattr(x, "__code__", None) is e', '_operation("code")'),
    unguarded("lacks", "lambda x, e: not has(x, e)"),
    unguarded("lacks own", "lambda x, e: e not in own_names(x)", features=("assigned", "changing")),
    unguarded("owns", "lambda x, e: e in own_names(x)", features=("assigned", "changing")),
    unguarded("no globals", "lambda x, e: x.__globals__.keys().isdisjoint(e)", "_no_globals"),
    unguarded("len", "lambda x, e: (type(x), len(x)) == e", "_length"),
    unguarded("keys", "_elements_alike", "_keys"),
    unguarded("elements", "_elements_alike"),
    unguarded("attributes", "lambda x, e: own_names(x) == e"),
    unguarded("dtype", "lambda x, e: type(x) is e[0] and x.dtype == e[1]", "_record_type", features=("records", "compile")),
    unguarded("content", "lambda x, e: content(x) == e"),
    unguarded("typed", "lambda x, e: e.fits(x)", "_typed"),
    unguarded("state", "lambda x, e: e.holds()", "_state", machine="identity", features=("classes",)),
    unguarded("same", "lambda x, y: x is y", "_same"),
    unguarded("other", "lambda x, y: x is not y"),
    unguarded("int32", "lambda x, e: bool(INT32[0] <= x <= INT32[1])", machine="python_meaning", features=("extremes", "bits", "logic")),
]


def mutant(
    name: str, kind: str, file: str, old: str, new: str, machine: str, memory: bool = False, features: tuple[str, ...] = ()
) -> Mutant:
    """One text of one file."""
    return Mutant(name, kind, ((file, old, new),), machine, memory, features)


TABLE = "tests/ops/test_derivative_table.py"
ARRAYS_TABLE = "tests/frontend/numpy/test_derivative_table_arrays.py -k first_and_second"
SLOPES = "irad/ops/slopes.py"
ELEMENTWISE = "irad/ops/elementwise.py"
WHOLES = "passes/derivatives/wholes.py"
VIEWS = "irad/frontend/numpy/views.py"
SUBSCRIPTS = "irad/frontend/reading/subscripts.py"

ASSUMPTIONS = [
    mutant("alias-arguments", "assumption", "irad/call/conditions.py", 'return Condition("same", k, info.alias)',
           'return Condition("int32", k) if False else Condition("type", k, np.ndarray)', "api layouts"),
    mutant("overlapping-arguments", "assumption", "irad/call/aliasing.py",
           "not (np.may_share_memory(arrays[target], x) and np.shares_memory(arrays[target], x))", "arrays[target] is not x", "layouts"),
    mutant("callbacks", "assumption", CAPTURES, "        for name, callback in self.callbacks.items():\n            reach",
           "        for name, callback in ():\n            reach", "api", features=('array', 'callback that stores')),
    mutant("closures-of-one-code", "assumption", "irad/frontend/reading/recursion.py", "    if a.code is not b.code or a.around is not b.around:\n        return False\n",
           "    return a.code is b.code\n", "loops flows python_meaning", features=('closures',)),
    mutant("two-paths", "assumption", CAPTURES, "        if first != path and not isinstance(path.root, Fixed)", "        if False and not isinstance(path.root, Fixed)", "api"),
    mutant("infinite-flags", "assumption", CAPTURES, '            self.guard(path, "eq", obj)\n            return obj\n        weak =', "            return obj\n        weak =", "api", features=("zero",)),
    mutant("negative-zero", "assumption", CONDITIONS, "    return isinstance(x, (float, complex, np.inexact)) and (x == 0 or x != x)", "    return False", "api", features=("zero",)),
]

BOUNDARY = [
    mutant("opaque-objects", "boundary", CAPTURES, "            elif self.opaque(obj):\n", "            elif False:\n", "api"),
    mutant("byte-order", "boundary", "irad/frontend/values/guards.py", 'dtype_name(x.dtype.newbyteorder("="))', "dtype_name(x.dtype)", "api", features=("array",)),
    mutant("alignment", "boundary", CONDITIONS, "    return a if a.flags.aligned else a.copy()", "    return a", "layouts", memory=True),
]

MEMORY = [
    mutant("row-starts", "memory", "codegen/schedule/nests.py", "    node = _own_starts(f, node)\n", "", "arrays"),
    mutant("rows-added-unfilled", "memory", "codegen/schedule/nests.py", 'return self.f.defs[node.inputs[node.outputs.index(v)]].op.name == "empty"', "return True", "arrays"),
    mutant("read-in-place", "memory", "passes/memory/copies.py", " and told_apart(maps, dict(enumerate(extents)))", "", "arrays loops"),
    mutant("stores-of-other-trips", "memory", "passes/memory/loop_stores.py", "        return all(never(n, known) for n, known in reads)", "        return True", "loops arrays"),
    mutant("read-by-later-trips", "memory", "passes/memory/lives.py", "        self._use(dict.fromkeys(outside), 2 * self._t + 2)\n", "", "loops arrays"),
    mutant("filled-but-for-one", "memory", "passes/memory/unfilled.py", "fill(runs, (0, size - 1))", "fill(runs, (0, size - 2))", "arrays loops"),
    mutant("exchanged-buffers", "memory", "passes/memory/lives.py", "            self.spans[a].append((start, end))\n            self.spans[b].append((start, end))\n", "            pass\n", "loops"),
    mutant("branches-not-run", "memory", "passes/memory/lives.py", "                skipped = tuple([s for s in self._skipped if s[0] > born])", "                skipped = tuple(self._skipped)", "loops"),
]

DERIVATIVES = [
    mutant("strong-zero", "4a", ELEMENTWISE, "    lambda c, p, o: (p, lambda ct: szmul2(c, ct)), kinds",
           "    lambda c, p, o: (p, lambda ct: select(eq(c, 0), 0, c * ct)), kinds", TABLE),
    mutant("strong-zero-one-sided", "4a", ELEMENTWISE, "    lambda x, y, o: (lambda ct: szmul2(ct, y), lambda ct: szmul2(x, ct)), kinds",
           "    lambda x, y, o: (lambda ct: szmul(ct, y), lambda ct: szmul(ct, x)), kinds", TABLE),
    mutant("strong-zeros-weakened", "4a", "passes/clean/strong_zeros.py", "    first, second = x in flow.masked and y not in flow.finite, y in flow.masked and x not in flow.finite",
           "    first = second = False", "arrays", features=('where',)),
    mutant("logaddexp", "4b", ELEMENTWISE, '        return OPS["logistic"](d), OPS["logistic_of_neg"](d)\n',
           '        even = eq(x, y)\n        return select(even, 0.5, OPS["logistic"](d)), select(even, 0.5, OPS["logistic_of_neg"](d))\n', TABLE),
    mutant("xlogy", "4b", ELEMENTWISE, 'lambda x, y, o: (log(y), OPS["zero_or_div"](x, y)), domain', "lambda x, y, o: (log(y), select(eq(x, 0), 0, x / y)), domain", TABLE),
    mutant("power-of-exponent-0", "4b", SLOPES, "lambda x, y, o, *, n, m: (pow_slope(x, y, n=n + 1, m=m),", "lambda x, y, o, *, n, m: (select(eq(y, n), 0, pow_slope(x, y, n=n + 1, m=m)),", TABLE),
    mutant("boxcox-at-0", "4b", SLOPES, "lambda x, lam, o: (x ** (lam - 1), boxcox_slope(x, lam, m=1)), (_POS", "lambda x, lam, o: (x ** (lam - 1), select(eq(lam, 0), 0, boxcox_slope(x, lam, m=1))), (_POS", TABLE),
    mutant("i0-at-0", "4b", "irad/ops/bessel.py", "lambda x, o: (x * bessel_ratio(x, n=1),)", "lambda x, o: (select(abs(x) > 0, x * bessel_ratio(x, n=1), 0),)", TABLE),
    mutant("wholes", "4c", WHOLES, "    return {name: completed(_Wholes().graph(g)) for name, g in program.items()}", "    return program", ARRAYS_TABLE),
    mutant("squares-of-absolute-values", "4c", WHOLES, '    "abs": _sum_of_squares,\n', "", "tests/frontend/numpy/test_derivative_table_arrays.py tests/frontend/numpy/test_derivative_table_complex.py -k first_and_second"),
    mutant("squares-of-roots", "4c", WHOLES, '    "sqrt": _square_of_sqrt,\n', "", "arrays", features=('wholes',)),
    mutant("reciprocals-of-exponentials", "4d", WHOLES, '    if d is not None and d.op.name == "exp":\n', "    if False:\n", "arrays", features=('wholes',)),
    mutant("exponentials-of-logarithms", "4d", WHOLES, '"exp": _exponential, ', "", "arrays", features=('wholes',)),
    mutant("log-of-a-ratio", "4d", SLOPES, "    small, large = q < float(info.tiny), q > float(info.max)", "    small = large = eq(q, float('nan'))", "tests/ops/test_derivatives_at_extremes.py"),
    mutant("equal-eigenvalues-undetermined", "4e", "irad/ops/spectral.py", "    undetermined = equal & (_size(turn) > largest * eps**0.5)", "    undetermined = equal & (_size(turn) < 0)", ARRAYS_TABLE),
    mutant("equal-eigenvalues-and-values", "4e", "irad/ops/spectral.py", "        return select(equal, np.nan, szmul(turn, inverse))", "        return szmul(turn, inverse)", ARRAYS_TABLE),
    mutant("functions-of-the-spectrum", "4e", "irad/ops/matrix_functions.py", "        return within(gap, size) | within(gap, top) & within(x - y, abs(x) + abs(y))", "        return within(gap, size) & (gap > size)", ARRAYS_TABLE),
]

PYTHON = [
    mutant("identity-of-bools", "5", "irad/frontend/reading/logic.py", '    if dtype_of(x) == "bool":\n        same =', '    if dtype_of(x) == "bool":\n        return False\n        same =', "python_meaning loops"),
    mutant("round-by-multiplying", "5", "irad/frontend/python/round.py", "        k = _nearest(k, counted - k, error, 0.5)\n", "", "python_meaning", features=('rounding', 'extremes')),
    mutant("ints-and-floats", "5", "irad/frontend/python/compare.py", '    kinds = [dtype_of(v).replace("bool", "i64") for v in (x, y)]\n', "    return None\n    kinds = []\n", "python_meaning", features=('extremes', 'logic', 'branches')),
    mutant("powers-that-overflow", "5", "irad/frontend/numpy/python_scalars.py", "    large = ew.isinf(r) & (ew.isfinite(x) & ew.isfinite(y))", "    large = ew.isinf(r) & ew.isnan(r)", "python_meaning"),
    mutant("ints-that-overflow", "5", "irad/frontend/numpy/python_scalars.py", "    if exact[0] < LOWEST or exact[1] > HIGHEST:\n        raise_if", "    if False:\n        raise_if", "python_meaning", features=("extremes", "bits")),
    mutant("augmented-read-late", "5", SUBSCRIPTS, "    k = r.operand(key)\n    if views.is_basic(k) and not _is_position(obj, k):\n        return lambda: None\n", "    return lambda: None\n", "python_meaning loops"),
    mutant("numbers-into-integers", "5", SUBSCRIPTS, "            check_scalar(v, obj.type.dtype)\n", "", "layouts"),
    mutant("finally-last", "5", "irad/frontend/control/tries.py", "        block(r, final.statement.finalbody)\n        if any", "        if any", "flows"),
    mutant("finally-jumps", "5", "irad/frontend/control/tries.py", "    again = lambda: r.state.change(left)\n", "    again = lambda: None\n", "flows"),
]

PASSES = [
    mutant("stores-before-reads", "7", "passes/fusion/groups.py", "        return list(dict.fromkeys(self.group_of[n.outputs[0]] for n in nodes))", "        return []", "loops arrays"),
    mutant("groups-that-cross", "7", "passes/fusion/groups.py", "            if g.bits & elsewhere:\n                continue\n", "", "arrays"),
    mutant("invariants-under-conditions", "7", "passes/clean/licm.py", "        return sure or not any(self.guarded(n) for n in inside)", "        return True", "loops flows containers"),
    mutant("raises-moved", "7", "passes/clean/licm.py", "        if self.acts(node) or any(", "        if any(", "loops flows"),
    mutant("dead-stores-that-are-read", "7", "passes/clean/dead_stores.py", "before is None or count[x] > 1 or", "before is None or", "loops"),
    mutant("one-empty-array", "7", "passes/clean/cse.py", "node.op is empty or effects", "effects", "loops arrays"),
    mutant("cotangents-of-carries", "7", "passes/derivatives/reverse_loops.py", "                adj.add(ad.need(inits[j]), d)", "                adj[ad.need(inits[j])] = d", "loops"),
    mutant("wrap-arounds-off-by-one", "7", "passes/clean/ranges.py", "f.at_most(ins[0], ins[1], -1)", "f.at_most(ins[0], ins[1])", "loops arrays containers"),
    mutant("trips-that-meet", "1", "codegen/kernel/independence.py", "        return not write or not self.numbers.intersection(symbols(at))  # a scatter", "        return True", "nests loops"),
    mutant("trips-that-write-the-same", "1", "codegen/kernel/independence.py", "    return apart([(a.at, a.width) for a in accesses]", "    return True or apart([(a.at, a.width) for a in accesses]", "nests loops arrays"),
    mutant("private-memory-read-first", "1", "codegen/kernel/independence.py", "    return all(covered(a, [w for w in accesses if w.write and w.order < a.order], ranges) for a in accesses if not a.write)", "    return True", "nests loops arrays"),
    mutant("lanes-left-open", "7", "codegen/emit/across.py", 'if at <= k < at + n else "i32 poison" for k', 'if at <= k < at + n else f"i32 {min(max(k - at, 0), n - 1)}" for k', "arrays", features=("softmax", "product", "gather", "reduce", "where")),
    mutant("vmap-of-loops", "7", "passes/batching/control.py", "    return any(is_loop(n) or n.op in (call, push, pop) or effects(n) != \"none\" for n in walk(graph))", "    return False", "api"),
    mutant("tests-of-while-loops", "5", "irad/frontend/control/rolled.py", "        if changed or region.dead or any(", "        if region.dead or any(", "loops", features=('asking',)),
]

STORES = [
    mutant("one-of-two-arrays", "6", SUBSCRIPTS, "        branch(r, x.cond, lambda: store(r, x.left, key, value), lambda: store(r, x.right, key, value))", "        store(r, x.left, key, value)", "loops", features=('alias', 'masks')),
    mutant("functions-of-one-of-two", "6", "irad/frontend/reading/numpy_calls.py", "            return branch(r, x.cond, side(x.left), side(x.right))", "            return side(x.left)()", "loops", features=('alias', 'masks')),
    mutant("ravel-of-strided", "6", VIEWS, "    if a.contiguous:\n        return _in_shape(a, flat,", "    if True:\n        return _in_shape(a, flat,", "layouts"),
    mutant("reshape-copies", "6", VIEWS, "    if shares:\n        return _in_shape(x, shape, strides)", "    if False:\n        return _in_shape(x, shape, strides)", "layouts", features=('views', 'stores')),
    mutant("diagonal-is-read-only", "6", "irad/frontend/numpy/view_picks.py", 'return picked(r, a, np.diagonal, *args, frozen=_READ_ONLY.format("diagonal"), **kwargs)', "return picked(r, a, np.diagonal, *args, **kwargs)", "layouts", features=('views', 'stores')),
    mutant("astype-without-copy", "6", "irad/frontend/numpy/view_conversions.py", "    if not copy and np.dtype(dtype) == a.type.numpy and _fits(a, order) is not False:", "    if False:", "layouts", features=('views', 'stores')),
    mutant("conj-copies", "6", "irad/frontend/numpy/view_conversions.py", 'return r.wrap(METHODS["conj"](r.operand(a)), zero_d=True) if is_complex(a.type.dtype) else a', 'return r.wrap(METHODS["conj"](r.operand(a)), zero_d=True)', "layouts", features=('views', 'stores')),
    mutant("order-of-copies", "6", "irad/frontend/numpy/view_conversions.py", "    return out.laid_out(new_like(a.shape, a.strides, order)) if a.type.static else out\n\n\nBY_NAME", "    return out\n\n\nBY_NAME", "layouts", features=('order', 'views', 'casts')),
    mutant("steps-through-views", "6", SUBSCRIPTS, "    content = x.memory.replaced(new) if x.steps else new\n", "    content = x.replaced(new) if x.steps else new\n", "layouts", features=('views', 'stores')),
    mutant("read-only-arguments", "6", "irad/call/specialisation.py", '                raise ValueError("assignment destination is read-only")', "                pass", "layouts", features=('read_only', 'stores')),
]

# fmt: on
MUTANTS = [*GUARDS, *ASSUMPTIONS, *BOUNDARY, *MEMORY, *DERIVATIVES, *PYTHON, *PASSES, *STORES]

# No machine has found these so far.
OPEN = frozenset(
    """
    opaque-objects alignment rows-added-unfilled
    exchanged-buffers branches-not-run squares-of-absolute-values
    squares-of-roots equal-eigenvalues-undetermined equal-eigenvalues-and-values
    augmented-read-late finally-last stores-before-reads invariants-under-conditions raises-moved
    dead-stores-that-are-read one-empty-array wrap-arounds-off-by-one trips-that-meet private-memory-read-first
    vmap-of-loops steps-through-views read-only-arguments
    """.split()
)
