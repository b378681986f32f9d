"""Compiled functions in other processes and in several threads."""

from __future__ import annotations

import copy
import importlib.util
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irad
from irad.call import compiled
from irad.core.text import parse

ROOT = Path(__file__).parents[2]
X = np.array([0.3, 0.9, 0.45])


@irad.compile
def decorated(x: Any) -> Any:
    return np.sum(x * x)


def plain(x: Any) -> Any:
    return np.sum(np.sin(x))


of_plain = irad.compile(plain, fastmath=True, threads=1)


@irad.grad
def slope(x: Any) -> Any:
    return np.sum(x**3)


@irad.custom_vjp
def ruled(x: Any) -> Any:
    return 2 * x


def ruled_forward(x: Any) -> Any:
    return 2 * x, None


def ruled_backward(kept: Any, ct: Any) -> Any:
    return (3 * ct,)


ruled.defvjp(ruled_forward, ruled_backward)
noted = irad.callback(plain, 0.0)


def of_ruled(x: Any) -> Any:
    return np.sum(ruled(x))


class Model:
    k = 2.0

    @irad.compile
    def loss(self, x: Any) -> Any:
        return np.sum(x * self.k)


def again(x: Any, how: Any = pickle) -> Any:
    return pickle.loads(how.dumps(x))


PICKLED = [
    decorated, decorated.grad, of_plain, of_plain.grad, slope, irad.hessian(decorated), irad.grad(decorated), irad.grad(of_ruled),
    irad.jacobian(slope), ruled, Model().loss,
]  # fmt: skip


@pytest.mark.parametrize("how", ["pickle", "cloudpickle"])
@pytest.mark.parametrize("c", PICKLED, ids=range(len(PICKLED)))
def test_pickled(c: Any, how: str) -> None:
    got = again(c, pytest.importorskip(how))
    np.testing.assert_array_equal(got(X), c(X))
    assert getattr(got, "options", None) is getattr(c, "options", None)


def test_pickled_by_name() -> None:
    for c in (decorated, slope, ruled, Model.loss):
        assert again(c) is c and copy.deepcopy(c) is c and len(pickle.dumps(c)) < 200


def test_pickled_with_its_code() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    k = 3.0

    @irad.compile
    def local(x: Any) -> Any:
        return np.sum(x) * k if x[0] > 0 else 0.0

    for c in (local, again(local, cloudpickle)):
        assert again(c.grad, cloudpickle)(X).tolist() == [3.0] * 3


def test_pickled_on_the_way_again() -> None:
    """A scheduler that has unpickled a function hands on the text of its file, too."""
    cloudpickle = pytest.importorskip("cloudpickle")

    def inner(x: Any) -> Any:
        return np.sum(x) if x[0] > 0 else x[1]

    once = cloudpickle.loads(cloudpickle.dumps(irad.grad(inner)))
    assert once.fun.__code__.co_filename != __file__
    twice = cloudpickle.dumps(once)
    assert b"def test_pickled_on_the_way_again" in twice
    assert cloudpickle.loads(twice)(X).tolist() == irad.grad(inner)(X).tolist()


def test_what_cannot_be_pickled_says_why() -> None:
    for made in (irad.vjp(plain, X)[1], irad.linearize(plain, X)[1]):
        with pytest.raises(TypeError, match="cannot be pickled: it holds memory of this process"):
            pickle.dumps(made)
    with pytest.raises(TypeError, match="stages cannot be pickled"):
        pickle.dumps(irad.compile(plain).lower(X))
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(irad.compile(lambda x: x))


def test_graphs() -> None:
    text = "func @f(%x: f64[3]) -> f64[3] {\n  %y: f64[3] = mul %x, %x\n  return %y\n}\n"
    c = again(irad.compile(parse(text)))
    np.testing.assert_array_equal(c(X), X * X)


def test_sparse_functions() -> None:
    pytest.importorskip("scipy.sparse")
    c = irad.hessian(plain, sparse=True)
    np.testing.assert_array_equal(again(c)(X).toarray(), c(X).toarray())


SCRIPT = """
import sys
import numpy as np
import irad


@irad.compile
def f(x):
    return np.sum(np.cos(x)) if x[0] > -5 else f(x + 1)


@irad.compile
def fits(w, x, y):
    return np.sum((x @ w - y) ** 2)


def closure(k):
    @irad.compile
    def g(x):
        return np.sum(x) * k if x[0] > -5 else helper(x)
    return g


def helper(x):
    return x[0] if x[1] > 0 else x[2]


def call(c):
    return c(np.ones(3))


def map_pool(how):
    import multiprocessing
    with multiprocessing.get_context(how).Pool(2) as pool:
        return pool.map(call, [f.grad, f.grad])


def map_futures(how):
    import concurrent.futures, multiprocessing
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(how)) as pool:
        return list(pool.map(f.grad, [np.ones(3)] * 2))


def map_joblib(how):
    import joblib
    assert np.array_equal(joblib.Parallel(2)(joblib.delayed(closure(2.0).grad)(np.ones(3)) for _ in range(2)), np.full((2, 3), 2.0))
    return joblib.Parallel(2)(joblib.delayed(f.grad)(np.ones(3)) for _ in range(2))


def map_dask(how):
    from dask.distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as client:
        assert np.array_equal(client.submit(closure(2.0).grad, np.ones(3)).result(), np.full(3, 2.0))
        x, y, w = np.arange(24.0).reshape(8, 3) / 9, np.arange(8.0), np.ones(3)
        slopes = client.gather(client.map(fits.grad, [w] * 2, [x[:4], x[4:]], [y[:4], y[4:]]))
        assert np.allclose(sum(slopes), fits.grad(w, x, y), rtol=1e-13)
        return client.gather(client.map(f.grad, [np.ones(3)] * 2, pure=False))


def map_ray(how):
    import ray
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    assert np.array_equal(ray.get(ray.remote(call).remote(closure(2.0).grad)), np.full(3, 2.0))
    found = ray.get([ray.remote(call).remote(f.grad) for _ in range(2)])
    ray.shutdown()
    return found


if __name__ == "__main__":
    if sys.argv[2] == "fork":
        f.grad(np.ones(3))
    assert np.array_equal(globals()["map_" + sys.argv[1]](sys.argv[2]), [-np.sin(np.ones(3))] * 2)
"""


@pytest.mark.plain
@pytest.mark.parametrize(
    ("what", "how"),
    [("pool", "fork"), ("pool", "spawn"), ("pool", "forkserver"), ("futures", "fork"), ("futures", "spawn"), ("joblib", "loky"),
     pytest.param("dask", "processes", marks=pytest.mark.slow), pytest.param("ray", "processes", marks=pytest.mark.slow)],
)  # fmt: skip
def test_workers(what: str, how: str, tmp_path: Path) -> None:
    library = {"joblib": "joblib", "dask": "distributed", "ray": "ray"}.get(what)
    if library is not None and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not there")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "IRAD_CACHE": "1", "IRAD_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):  # the second time from the cache
        run = subprocess.run([sys.executable, str(path), what, how], env=env, capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stderr[-3000:]
    assert list((tmp_path / "cache").glob("*.entry"))


# ---- threads --------------------------------------------------------------------------------------------------------------


def at_once(n: int, work: Callable[[int], None]) -> None:
    """Run work(0), work(1)... in threads that start together."""
    start, failed = threading.Barrier(n), []

    def run(k: int) -> None:
        start.wait()
        try:
            work(k)
        except BaseException as e:  # noqa: BLE001  (raised below)
            failed.append(e)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]


def powers() -> list[Any]:
    """Eight functions whose code is their own."""
    made = []
    for n in range(2, 10):
        space: dict[str, Any] = {"np": np}
        exec(f"def f{n}(x):\n    return np.sum(x**{n})\n", space)  # noqa: S102
        made.append(irad.value_and_grad(space[f"f{n}"]))
    return made


@pytest.mark.plain
@pytest.mark.parametrize("disk", [False, True])
def test_threads_compile_and_call_at_once(disk: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRAD_CACHE", str(int(disk)))
    monkeypatch.setenv("IRAD_CACHE_DIR", str(tmp_path))
    made, make = [], compiled.Job.make

    def counted(self: Any) -> Any:
        made.append(next(iter(self.program)))
        return make(self)

    monkeypatch.setattr(compiled.Job, "make", counted)
    functions = powers()

    def work(k: int) -> None:
        for j in range(8):
            n = 2 + (j + k) % 8
            for _ in range(20):
                value, grad = functions[n - 2](X)
                np.testing.assert_allclose(value, np.sum(X**n), rtol=1e-12)
                np.testing.assert_allclose(grad, n * X ** (n - 1), rtol=1e-12)

    at_once(8, work)
    assert len(made) == len(set(made)) == 8
