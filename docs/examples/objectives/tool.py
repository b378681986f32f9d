"""The objectives as a tool of the public benchmark GradBench: JSON messages, one a line, on standard input and output.

    python docs/examples/objectives/tool.py

A call is timed from arrays to arrays: what is read from JSON before, and written to JSON after, does not count. The first call
of a function compiles, and is timed like the others.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import ba
import det
import gmm
import hello
import ht
import kmeans
import llsq
import lse
import lstm
import numpy as np
import ode
import particle
import saddle

import irad

MODES = {"f": "forward", "r": "reverse"}
Function = tuple[Callable[[dict[str, Any]], tuple[Any, ...]], Any, Callable[..., Any]]  # arguments of an input; call; output


def array(x: Any) -> Any:
    return np.array(x, dtype=float)


def of_gmm(i: dict[str, Any]) -> tuple[Any, ...]:
    alpha, mu, q, x = (array(i[k]) for k in ("alpha", "mu", "q", "x"))
    return alpha, mu, q, array(i["l"]).reshape(len(q), -1), x, float(i["gamma"]), int(i["m"])


def of_ba(i: dict[str, Any]) -> tuple[Any, ...]:
    n, m, p = i["n"], i["m"], i["p"]
    tiled = (np.tile(array(i["cam"]), (n, 1)), np.tile(array(i["x"]), (m, 1)), np.full(p, float(i["w"])))
    return *tiled, np.tile(array(i["feat"]), (p, 1)), np.arange(p) % n, np.arange(p) % m


def of_ht(i: dict[str, Any]) -> tuple[Any, ...]:
    data = i["data"]
    m = data["model"]
    arrays = (array(m[k]) for k in ("base_relatives", "inverse_base_absolutes", "base_positions", "weights"))
    model = (tuple(m["parents"]), *arrays, np.array(m["triangles"], int), bool(m["is_mirrored"]))
    rest = model, np.array(data["correspondences"], int), array(data["points"])
    return (array(i["theta"]), array(i["us"]).reshape(-1, 2), *rest) if i.get("us") else (array(i["theta"]), *rest)


def of_lstm(i: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(array(i[k]) for k in ("main_params", "extra_params", "state", "sequence"))


def of_det(i: dict[str, Any]) -> tuple[Any, ...]:
    return array(i["A"]).reshape(i["ell"], i["ell"]), int(i["ell"])


def elements(x: Any) -> list[float]:
    return np.ravel(x).tolist()


def shortened(x: Any) -> list[Any]:
    """The first 30 elements and the last."""
    return [*x[:30].tolist(), x[-1].item()]


def to_gmm(g: Any) -> dict[str, Any]:
    return {name: x.tolist() for name, x in zip(("alpha", "mu", "q", "l"), g)}


def to_ba(out: Any) -> dict[str, Any]:
    errors, of_weights = out
    p = len(of_weights)
    found = {"elements": errors[0].tolist(), "repeated": p}
    return {"reproj_error": found, "w_err": {"element": of_weights[0].item(), "repeated": p}}


def to_ba_jacobian(out: Any) -> dict[str, Any]:
    return {name: shortened(x) for name, x in zip(("rows", "cols", "vals"), out)}


def to_rows(out: Any) -> list[Any]:
    return out.reshape(-1, out.shape[-1]).tolist()


def descents(solve: Any, argument: Any, output: Any) -> dict[str, Function]:
    """A search in all modes of its two derivatives, each compiled for itself."""
    out: dict[str, Function] = {}
    for name in ("ff", "fr", "rf", "rr"):
        outer, inner = (MODES[k] for k in name)
        out[name] = argument, irad.compile(lambda x, o=outer, i=inner: solve(x, o, i)), output
    return out


def det_flat(a: Any, size: int) -> Any:
    return det.determinant(a)


number = float
MODULES: dict[str, dict[str, Function]] = {
    "hello": {
        "square": (lambda i: (float(i),), irad.compile(hello.square), number),
        "double": (lambda i: (float(i),), irad.grad(hello.square), number),
    },
    "gmm": {
        "objective": (of_gmm, irad.compile(gmm.objective), number),
        "jacobian": (of_gmm, irad.grad(gmm.objective, argnums=(0, 1, 2, 3)), to_gmm),
    },
    "ba": {
        "objective": (of_ba, irad.compile(ba.objective), to_ba),
        "jacobian": (of_ba, irad.compile(ba.jacobian), to_ba_jacobian),
    },
    "ht": {"objective": (of_ht, irad.compile(ht.objective), elements), "jacobian": (of_ht, irad.compile(ht.jacobian), to_rows)},
    "lstm": {
        "objective": (of_lstm, irad.compile(lstm.loss), number),
        "jacobian": (of_lstm, irad.grad(lstm.loss, argnums=(0, 1)), lambda g: [*elements(g[0]), *elements(g[1])]),
    },
    "ode": {
        "primal": (lambda i: (array(i["x"]), int(i["s"])), irad.compile(ode.solve), elements),
        "gradient": (lambda i: (array(i["x"]), int(i["s"])), irad.grad(ode.last), elements),
    },
    "kmeans": {
        "cost": (lambda i: (array(i["points"]), array(i["centroids"])), irad.compile(kmeans.cost), number),
        "dir": (lambda i: (array(i["points"]), array(i["centroids"])), irad.compile(kmeans.direction), lambda x: x.tolist()),
    },
    "llsq": {
        "primal": (lambda i: (array(i["x"]), int(i["n"])), irad.compile(llsq.residual), number),
        "gradient": (lambda i: (array(i["x"]), int(i["n"])), irad.grad(llsq.residual), elements),
    },
    "lse": {
        "primal": (lambda i: (array(i["x"]),), irad.compile(lse.logsumexp), number),
        "gradient": (lambda i: (array(i["x"]),), irad.grad(lse.logsumexp), elements),
    },
    "det": {"primal": (of_det, irad.compile(det_flat), number), "gradient": (of_det, irad.grad(det_flat), elements)},
    "particle": descents(particle.solve, lambda i: (float(i["w"]),), number),
    "saddle": descents(saddle.solve, lambda i: (array(i["start"]),), elements),
}


def evaluated(message: dict[str, Any]) -> dict[str, Any]:
    """The answer to an "evaluate" message, without its id."""
    given = message["input"]
    arguments, call, output = MODULES[message["module"]][message["function"]]
    args = arguments(given)
    runs = given if isinstance(given, dict) else {}
    timings: list[dict[str, Any]] = []
    total = 0
    while not timings or len(timings) < runs.get("min_runs", 1) or total < runs.get("min_seconds", 0) * 1e9:
        start = time.perf_counter_ns()
        out = call(*args)
        took = time.perf_counter_ns() - start
        timings.append({"name": "evaluate", "nanoseconds": took})
        total += took
    return {"success": True, "output": output(out), "timings": timings}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """What is written for a message."""
    kind, found = message["kind"], {"id": message["id"]}
    if kind == "start":
        return {**found, "tool": "irad"}
    if kind == "define":
        known = message["module"] in MODULES
        return {**found, "success": known, **({} if known else {"error": f"no module {message['module']!r}"})}
    if kind != "evaluate":
        return found
    try:
        return {**found, **evaluated(message)}
    except Exception as e:  # whatever goes wrong in one evaluation is the answer to it
        return {**found, "success": False, "error": f"{type(e).__name__}: {e}"}


def main() -> None:
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
