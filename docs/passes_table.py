"""Write docs/passes.md: the passes in their order, each with the first sentence of its module and what shows it at work.

python docs/passes_table.py            writes the file
python docs/passes_table.py --check    fails if it would change
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

from irad.codegen.transform.manager import KERNEL_PIPELINE
from irad.passes.manager import PASSES
from irad.pipeline import DIFFERENTIATE, LOOPS, MEMORY, REDUCE

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "passes.md"

HEAD = """\
# The passes, in order

A pass takes a program and returns one that computes the same; what did not change is the very same node. The verifier runs at the
end, and in tests after each (`IRAD_VERIFY=1`). `irad dump FILE.py:f 'f64[8]' --grad --steps` prints the program after every pass,
and a golden test is the smallest program that shows one fact about a pass: `# run:` names the passes, what stands below the line is
what they make of it.
How to write one: [add-a-pass.md](add-a-pass.md).

Which pass may come where is checked when the pipeline is made: each finds what it needs, made by one before it, and none comes too
late (`irad/core/pipelines.py`; the facts are explained at the table, `irad/passes/manager.py`). The passes of the kernel form are in
a table of their own, `irad/codegen/transform/manager.py`.

This page is made from the modules by `python docs/passes_table.py`.
"""


HEADER = "| pass | what it does | needs | makes | at work |\n|---|---|---|---|---|"


def sentence(name: str) -> str:
    """The first sentence of the pass's module."""
    doc = import_module(PASSES[name].run.__module__).__doc__ or ""
    text = " ".join(doc.split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", text)[0]


def goldens(name: str) -> str:
    """Golden tests that run the pass in their first line, at most three, its own folder first."""
    own = [p for p in sorted((ROOT / "tests" / "golden").glob("*/*.irad")) if re.match(rf"# run:.*\b{name}\b", p.read_text())]
    own.sort(key=lambda p: p.parent.name != name)
    return ", ".join(f"[{p.stem}](../{p.relative_to(ROOT).as_posix()})" for p in own[:3])


def rows(names: tuple[str, ...], seen: set[str]) -> list[str]:
    out = []
    for n in names:
        again = n in seen
        seen.add(n)
        module = "passes/" + PASSES[n].run.__module__.removeprefix("irad.passes.").replace(".", "/") + ".py"
        facts = f"{', '.join(PASSES[n].needs)} | {', '.join(PASSES[n].makes)}"
        out.append(f"| `{n}` | again | | | |" if again else f"| [`{n}`](../{module}) | {sentence(n)} | {facts} | {goldens(n)} |")
    return out


def page() -> str:
    seen: set[str] = set()
    out = [HEAD]
    for title, names in (
        ("Derivatives, on the program as it was written", DIFFERENTIATE),
        ("The joint program, forward and backward: less work", REDUCE),
        ("Loops", LOOPS),
        ("Memory", MEMORY),
    ):
        out += [f"## {title}\n", HEADER, *rows(names, seen), ""]
    out += ["## Kernel form\n", "| pass | what it does | needs | makes |", "|---|---|---|---|"]
    out += [f"| `{p.name}` | {p.doc} | {', '.join(p.needs)} | {', '.join(p.makes)} |" for p in KERNEL_PIPELINE.values()]
    out.append("")
    return "\n".join(out)


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(TARGET.read_text(encoding="utf-8") != page())
    TARGET.write_text(page(), encoding="utf-8")
