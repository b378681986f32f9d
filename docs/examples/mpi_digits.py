"""A perceptron on handwritten digits, trained by N processes on a part of each batch each:

    mpiexec -n 4 python docs/examples/mpi_digits.py

Every process has all parameters. A step is compiled whole: forward, backward, the sum of the gradients over the processes, update.
"""

import time

import numpy as np

import irad

RATE, BATCH = 0.2, 256


def loss(params, x, y):
    """The sum of the cross-entropies of these images."""
    h = np.tanh(x @ params["w1"] + params["b1"])
    z = h @ params["w2"] + params["b2"]
    z = z - np.max(z, axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(len(y)), y])


@irad.compile
def step(params, x, y):
    """On a part of the batch; every process gets the loss of the whole batch and the same new parameters."""
    value, grads = irad.mpi.allreduce(irad.value_and_grad(loss)(params, x, y))
    return value / BATCH, {k: params[k] - RATE / BATCH * grads[k] for k in params}


@irad.compile
def whole_step(params, x, y):
    """The same on the whole batch, in one process."""
    value, grads = irad.value_and_grad(loss)(params, x, y)
    return value / BATCH, {k: params[k] - RATE / BATCH * grads[k] for k in params}


def digits():
    """1,792 images of 64 pixels in [0, 1], and what they show; without scikit-learn, numbers like them."""
    try:
        from sklearn.datasets import load_digits

        data = load_digits()
        return data.data[:1792] / 16, data.target[:1792].astype(int)
    except ImportError:
        r = np.random.default_rng(0)
        y = r.integers(0, 10, 1792)
        return np.clip(np.eye(10)[y] @ r.random((10, 64)) + 0.3 * r.random((1792, 64)), 0, 1), y


def train(steps, alone=False, report=False):
    """The parameters after so many steps. `alone`: on one process."""
    x, y = digits()
    r = np.random.default_rng(1)
    params = {"w1": r.normal(size=(64, 64)) / 8, "b1": np.zeros(64), "w2": r.normal(size=(64, 10)) / 8, "b2": np.zeros(10)}
    size, rank = irad.mpi.size(), irad.mpi.rank()
    mine = slice(None) if alone else slice(rank * BATCH // size, (rank + 1) * BATCH // size)
    for k in range(steps):
        batch = np.arange(k * BATCH, (k + 1) * BATCH) % len(y)
        value, params = (whole_step if alone else step)(params, x[batch][mine], y[batch][mine])
        if report and rank == 0 and k % 50 == 0:
            print(f"step {k}: loss {value:.4f}", flush=True)
    return params


if __name__ == "__main__":
    start = time.perf_counter()
    found = train(301, report=True)
    if irad.mpi.rank() == 0:
        print(f"{time.perf_counter() - start:.2f} s with {irad.mpi.size()} processes")
