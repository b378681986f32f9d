"""Graphs and kernels as text, with random edits: parse errors are clean, what parses prints and parses again, the verifiers never crash,
and passes run on whatever the verifier lets through."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from irad.codegen.kernel import check as kcheck
from irad.codegen.kernel import parse as kparse
from irad.codegen.kernel import show as kprint
from irad.core.text import parse, show
from irad.core.verify import verify
from irad.errors import IradError, ParseError, VerifyError
from irad.passes.manager import run
from irad.pipeline import PIPELINE
from tests.fuzz.case import Case, Fault, load

FEATURES = ("delete", "copy", "swap", "numbers", "names", "types", "ops", "characters", "kernels", "many")

ROOT = Path(__file__).parents[1]
TOKEN = re.compile(r"%?\w+(?:\.\w+)?|\S")
NUMBERS = ("0", "1", "-1", "2", "3", "7", "9223372036854775807", "-9223372036854775808", "1e400", "nan", "0.5", "1000000")
TYPES = (
    "f64",
    "f32",
    "i64",
    "bool",
    "i8",
    "f64[3]",
    "f64[2,3]",
    "f64[]",
    "f64[0]",
    "tape",
    "c128",
    "f64[%n]",
    "f64[-1]",
    "f16",
    "u64[3]",
)
OPS = (
    "add",
    "mul",
    "sin",
    "select",
    "cast",
    "broadcast",
    "index",
    "update",
    "dot",
    "sum",
    "for",
    "if",
    "while",
    "call",
    "loop",
    "load",
    "const",
)
CHARACTERS = ("(", ")", "[", "]", "{", "}", ",", ":", "=", "|", "->", "#", '"', "\\", "\x00", "é", "@", "%", "'", "\n", "\t", "?")


@functools.cache
def texts() -> tuple[str, ...]:
    """The graphs of golden tests."""
    found = [p.read_text(encoding="utf-8").partition("----\n")[0] for p in sorted((ROOT / "golden").rglob("*.irad"))]
    return tuple("\n".join(line for line in t.splitlines() if not line.startswith("#")) for t in found)


@functools.cache
def kernels() -> tuple[str, ...]:
    """The kernel forms of some of those graphs."""
    from irad.codegen.lower.arena import arena_size
    from irad.codegen.lower.graph import lower

    found = []
    for text in texts()[::12]:
        try:
            program = parse(text)
            verify(program)  # golden texts may call what is not there
            program = run(program, PIPELINE)
            lowered = lower(program, arena_size(next(iter(program.values()))))
            found.append(kprint.show(lowered.kernels))
        except IradError:
            continue
    return tuple(t for t in found if len(t) < 6000)


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    r = random.Random(seed)
    has = lambda f: features is None or f in features
    kernel = has("kernels") and r.random() < 0.35
    text = r.choice(kernels() if kernel else texts())
    edits = [e for e in ("delete", "copy", "swap", "numbers", "names", "types", "ops", "characters") if has(e)] or ["delete"]
    used = set()
    for _ in range(r.choice((1, 1, 2, 3)) if not has("many") or r.random() < 0.8 else 12):
        edit = r.choice(edits)
        used.add(edit)
        text = edited(text, edit, r)
    return Case("text", seed, source(text, kernel), frozenset(used | ({"kernels"} if kernel else set())))


def source(text: str, kernel: bool) -> str:
    check = "check_kernel" if kernel else "check_graph"
    return f"from tests.fuzz.text import {check}\n\nTEXT = {text!r}\n\n\ndef main():\n    {check}(TEXT)\n"


def edited(text: str, edit: str, r: random.Random) -> str:
    """The text with one random edit."""
    lines = text.split("\n")
    at = r.randrange(len(lines))
    if edit == "delete" and r.random() < 0.5:
        return "\n".join(lines[:at] + lines[at + 1 :])
    if edit == "copy":
        return "\n".join([*lines[:at], lines[r.randrange(len(lines))], *lines[at:]])
    if edit == "swap" and r.random() < 0.5:
        other = r.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
        return "\n".join(lines)
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        return text
    wanted = {"numbers": r"-?\d", "names": "%", "types": r"[fiubc]\d+|bool", "ops": "[a-z]"}.get(edit)
    fits = [t for t in tokens if wanted is None or re.match(wanted, t.group())] or tokens
    t = r.choice(fits)
    new = {
        "delete": lambda: "", "swap": lambda: r.choice(tokens).group(), "numbers": lambda: r.choice(NUMBERS), "names": lambda: r.choice(fits).group(),
        "types": lambda: r.choice(TYPES), "ops": lambda: r.choice(OPS), "characters": lambda: r.choice(CHARACTERS),
    }[edit]()  # fmt: skip
    return text[: t.start()] + new + text[t.end() :]


def check_graph(text: str) -> None:
    """Raise Fault unless the text is refused cleanly, or is a graph that prints, parses again and goes through all passes."""
    try:
        program = verify(parse(text))
    except VerifyError:
        return
    except IradError as e:
        if e.loc is None:
            raise Fault(f"refused without a line: {type(e).__name__}: {e.message}") from e
        return
    again = show(program)
    if show(verify(parse(again))) != again:
        raise Fault("the text changes when it is printed and parsed again")
    for name in PIPELINE:
        try:
            program = run(program, [name])
        except VerifyError:
            raise
        except IradError:
            return  # an op that the pass refuses


def check_kernel(text: str) -> None:
    """Raise Fault unless the text is refused cleanly, or is kernels that print, parse again and can be verified."""
    try:
        found = kparse.parse(text)
        for k in found:
            kcheck.verify(k)
    except VerifyError:
        return
    except ParseError as e:
        if e.loc is None:
            raise Fault(f"refused without a line: {e.message}") from e
        return
    again = kprint.show(found)
    if kprint.show(kparse.parse(again)) != again:
        raise Fault("the text changes when it is printed and parsed again")


def reduce(case: Case) -> Iterator[Case]:
    """Fewer lines, then fewer tokens."""
    text = load(case.source, "<text>")["TEXT"]
    kernel = "check_kernel" in case.source
    lines = text.split("\n")
    size = max(1, len(lines) // 2)
    while True:
        for at in range(0, len(lines), size):
            yield replace(case, source=source("\n".join(lines[:at] + lines[at + size :]), kernel))
        if size == 1:
            break
        size //= 2
    for t in TOKEN.finditer(text):
        yield replace(case, source=source(text[: t.start()] + text[t.end() :], kernel))
