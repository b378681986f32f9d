"""Selections of one float on x86, in vector registers.

`select i1 %c, double %x, double %y` is a comparison into a mask and a blend only where nothing else uses the comparison. Else, and
where %c is no comparison of floats (a bool from memory, `and` of two), LLVM makes a branch of it, and on data that nobody can foretell a
branch costs some twenty cycles every second time. As bits, (mask & x) | (~mask & y) in vector registers, it is none. With AVX-512 it is no
branch, but a comparison that has other uses goes through flags, general registers and a mask, some ten cycles; as one lane of a vector it
goes into a mask at once. AArch64 has an instruction for it.
What data decide is marked (`Values.either`); special cases of functions are not: there a branch is better.

It works on text, just before LLVM reads it: what is emitted does not depend on the CPU, and what else uses a comparison is known once
all of a function is there.
"""

from __future__ import annotations

import re
from collections import Counter

from irad.codegen.llvm_text import EITHER

ANY = r"^ (%\S+) = select i1 (%[^\s,]+), (double|float) ([^\s,]+), (?:double|float) ([^\s,]+)"
SELECT = re.compile(rf"{ANY}{EITHER}$", re.M)
ALL = re.compile(rf"{ANY}(?:{EITHER})?$", re.M)
COMPARE = re.compile(r"^ (%\S+) = fcmp (\w+) (double|float) ([^\s,]+), ([^\s,]+)$", re.M)
NAME = re.compile(r"%[\w.]+")
VECTORS = {"double": ("<2 x double>", "<2 x i64>", "i64", "<2 x i1>"), "float": ("<4 x float>", "<4 x i32>", "i32", "<4 x i1>")}
ZERO = "0x0000000000000000"  # not that of a negative zero


def without_branches(text: str, masks: bool = False) -> str:
    """The functions of a module with such selections as bits; `masks`: with all selections by masks, for AVX-512."""
    kind = ALL if masks else SELECT
    if not kind.search(text):
        return text
    return re.sub(r"^define .*?^}", lambda m: _function(m.group(), kind), text, flags=re.M | re.S)


def _function(text: str, kind: re.Pattern[str]) -> str:
    if not kind.search(text):
        return text
    masks = kind is ALL
    uses = Counter(NAME.findall(text))  # and where it is made
    compares = {m[1]: m for m in COMPARE.finditer(text)}

    def bits(m: re.Match[str]) -> str:
        name, cond, ty, x, y = m.groups()
        c = compares.get(cond)
        same = c is not None and c[3] == ty
        if (same and uses[cond] == 2) or (masks and not same):
            return m[0]
        vec, ints, word, bools = VECTORS[ty]
        out: list[str] = []

        def op(hint: str, rhs: str) -> str:
            out.append(f" {name}.{hint} = {rhs}")
            return f"{name}.{hint}"

        def wide(hint: str, v: str) -> str:
            return op(hint, f"insertelement {vec} poison, {ty} {v}, i64 0")

        def as_bits(hint: str, v: str) -> str:
            return op(f"{hint}b", f"bitcast {vec} {wide(hint, v)} to {ints}")

        if same:
            assert c is not None
            test = op("c", f"fcmp {c[2]} {vec} {wide('l', c[4])}, {wide('r', c[5])}")
            if masks:
                back = op("f", f"select {bools} {test}, {vec} {wide('x', x)}, {vec} {wide('y', y)}")
                return "\n".join([*out, f" {name} = extractelement {vec} {back}, i64 0"])
            mask = op("m", f"sext {bools} {test} to {ints}")
        else:
            mask = op("m", f"insertelement {ints} poison, {word} {op('s', f'sext i1 {cond} to {word}')}, i64 0")
        taken = None if x == ZERO else op("t", f"and {ints} {mask}, {as_bits('x', x)}")
        if y != ZERO:
            other = op("o", f"and {ints} {op('n', f'xor {ints} {mask}, splat ({word} -1)')}, {as_bits('y', y)}")
            taken = other if taken is None else op("e", f"or {ints} {taken}, {other}")
        back = op("f", f"bitcast {ints} {taken if taken is not None else 'zeroinitializer'} to {vec}")
        out.append(f" {name} = extractelement {vec} {back}, i64 0")
        return "\n".join(out)

    return kind.sub(bits, text)
