"""Write the generated parts of docs/architecture.md: the rooms and who may use whom.

python docs/architecture_page.py            writes the file
python docs/architecture_page.py --check    fails if it would change
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "architecture.md"
START, END = "<!-- made by docs/architecture_page.py -->\n", "<!-- end -->\n"


def layers() -> Any:
    """tests/test_layers.py, which enforces what is drawn here."""
    spec = importlib.util.spec_from_file_location("layers", ROOT / "tests" / "test_layers.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sentence(package: str) -> str:
    """The first sentence of a package or module."""
    path = ROOT / package
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(doc.split("\n\n")[0].split())


def rooms(package: str, lines: list[set[str]]) -> list[str]:
    """The rooms of a package, a line each, from the lowest layer up."""
    folder = package.removeprefix("irad.").replace(".", "/")
    folder = folder if folder in ("passes", "codegen") else "irad/" + folder
    out = [f"**[{folder}/](../{folder})**: {sentence(folder)}", "", "```text"]
    width = max(len(name) for line in lines for name in line) + 2
    for line in lines:
        for k, name in enumerate(sorted(line)):
            out.append(f"{'  ' if k else '- '}{name:<{width}}{sentence(f'{folder}/{name}')}")
    return [*out, "```", ""]


def generated() -> str:
    found = layers()
    top = [", ".join(f"`{n.removeprefix('irad.')}`" for n in sorted(line) if n != "irad") for line in found.LAYERS]
    out = [
        "From below to above; a room uses its own line and the lines before it, and `frontend`, `passes` and `codegen` never each other:",
        "",
    ]
    out += [f"{k + 1}. {line}" for k, line in enumerate(top)]
    out += ["", "Within the large rooms the same holds; a dash starts a line:", ""]
    for package in ("irad.frontend", "irad.passes", "irad.codegen"):
        out += rooms(package, found.WITHIN[package])
    return "\n".join(out)


def page() -> str:
    text = TARGET.read_text(encoding="utf-8")
    head, _, rest = text.partition(START)
    return head + START + "\n" + generated() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(TARGET.read_text(encoding="utf-8") != page())
    TARGET.write_text(page(), encoding="utf-8")
