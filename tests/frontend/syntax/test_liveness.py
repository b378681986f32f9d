"""Which names are read after a statement."""

import ast

from irad.frontend.syntax.liveness import Liveness

DEPTH = 40


def nest():
    lines = ["def f(x, n):", "    s = t = 0"]
    for k in range(DEPTH):
        lines.append("    " * (k + 1) + f"for i{k} in range(n):")
    lines.append("    " * (DEPTH + 1) + "s, t = t + x, s")
    return ast.parse("\n".join([*lines, "    return s"])).body[0]


def test_loops_in_loops_take_a_few_passes():
    live = Liveness(nest())
    loops = [n for n in ast.walk(live.node) if isinstance(n, ast.For)]
    assert len(loops) == DEPTH and all({"s", "t", "x", "n"} <= live.head[loop] for loop in loops)
