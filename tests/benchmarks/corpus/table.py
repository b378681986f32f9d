"""Records of the corpus as text: a line each, a summary, the table in docs/corpus.md."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

FIRST = Path(__file__).with_name("first.json")
DOCUMENT = Path(__file__).parents[3] / "docs" / "corpus.md"
PROGRAMS = "<!-- table: python -m tests.benchmarks.corpus --write -->"
KERNELS = "<!-- table: python -m tests.benchmarks.corpus.compare --write -->"
END = "<!-- end of table -->"


def time_text(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for factor, unit in ((1e6, "us"), (1e3, "ms"), (1.0, "s")):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.0f} s"


def ratio(record: dict[str, Any]) -> float:
    """irad over the better of its peers."""
    return record["irad"] / min(record["numpy"], record.get("numba", record["numpy"]))


def line(r: dict[str, Any]) -> str:
    if "failed" in r:
        return f"{r['name']:20s} FAILED {r['failed']}"
    grad = f"grad {time_text(r['gradient']):>8s} x{r['gradient'] / r['irad']:<6.1f}" if "gradient" in r else " " * 21
    return (
        f"{r['name']:20s} n={r['n']:<6d} {ratio(r):7.2f} of best  irad {time_text(r['irad']):>8s}"
        f" numpy {time_text(r['numpy']):>8s} numba {time_text(r.get('numba')):>8s} {grad}"
        f" first {r['compile']:.2f} {r.get('compile gradient', 0):.2f} s"
        f" err {r['error']:.0e} {r.get('gradient error', 0):.0e}"
    )


def summary(found: list[dict[str, Any]]) -> str:
    good = [r for r in found if "failed" not in r]
    if not good:
        return "nothing"
    ratios = [1 / ratio(r) for r in good]
    slower = [f"{r['name']} ({r['n']})" for r in good if r["irad"] > r["numpy"]]
    wrong = [f"{r['name']} ({r['n']})" for r in good if r["error"] > 1e-8 or r.get("gradient error", 0) > 1e-3]
    return (
        f"median {statistics.median(ratios):.2f} times the better of NumPy and Numba; slower than NumPy: {slower or 'none'};"
        f" values or gradients that differ: {wrong or 'none'}; failed: {[r['name'] for r in found if 'failed' in r] or 'none'}"
    )


def rows(found: list[dict[str, Any]]) -> list[str]:
    first = {}
    if FIRST.exists():
        for text in FIRST.read_text().splitlines():
            r = json.loads(text)
            first[r["name"], r["n"]] = r
    out = [
        "| program | n | NumPy | Numba | irad, first | irad, last | better peer / irad | gradient, first | gradient, last |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in found:
        if "failed" in r:
            out.append(f"| {r['name']} |  |  |  |  | {r['failed']} |  |  |  |")
            continue
        f = first.get((r["name"], r["n"]), {})
        cells = [r["name"], r["n"], time_text(r["numpy"]), time_text(r.get("numba")), time_text(f.get("irad"))]
        cells += [time_text(r["irad"]), f"{1 / ratio(r):.2f}", time_text(f.get("gradient")), time_text(r.get("gradient"))]
        out.append("| " + " | ".join(str(c) for c in cells) + " |")
    return out


def kernel_line(r: dict[str, Any]) -> str:
    times = " ".join(f"{k} {time_text(r.get(k)):>8s}" for k in ("irad", "numpy", "numba", "jax", "gradient", "by hand"))
    peer = min(r[k] for k in ("numba", "jax") if k in r)
    errors = " ".join(f"{r[k]:.0e}" for k in ("error", "gradient error", "numba error", "jax error") if k in r)
    return f"{r['name']:18s} {r['irad'] / peer:5.2f} of peer, gradient {r['gradient'] / r['by hand']:5.2f} of hand  {times}  {errors}"


def kernel_rows(found: list[dict[str, Any]]) -> list[str]:
    out = [
        "| kernel | NumPy | Numba | JAX | irad | better peer / irad | gradient by hand | gradient, irad | by hand / irad |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in found:
        peer = min(r[k] for k in ("numba", "jax") if k in r)
        cells = [r["name"], *(time_text(r.get(k)) for k in ("numpy", "numba", "jax", "irad")), f"{peer / r['irad']:.2f}"]
        cells += [time_text(r["by hand"]), time_text(r["gradient"]), f"{r['by hand'] / r['gradient']:.2f}"]
        out.append("| " + " | ".join(cells) + " |")
    return out


def write(begin: str, lines: list[str]) -> None:
    text = DOCUMENT.read_text()
    before, rest = text.split(begin)
    DOCUMENT.write_text("\n".join([before + begin, "", *lines, "", END]) + rest.split(END, 1)[1])
