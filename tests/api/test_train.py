"""The main job on real data: `irad train`, and its parts."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from irad import train
from irad.cli import main

pytest.importorskip("sklearn")
pytest.importorskip("rich")

MODELS = [(train.logistic, train.logistic_by_hand, (64, 10)), (train.perceptron, train.perceptron_by_hand, (64, 128, 64, 10))]


@pytest.fixture(scope="module")
def data() -> Any:
    return train.digits()


def test_the_digits(data: Any) -> None:
    X, y, X_test, y_test = data
    assert X.shape == (1437, 64) and X_test.shape == (360, 64) and X.dtype == np.float32 and 0 <= X.min() < X.max() == 1
    assert np.bincount(np.concatenate([y, y_test])).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


@pytest.mark.parametrize("loss, by_hand, sizes", MODELS, ids=["logistic", "perceptron"])
def test_steps_are_those_by_hand(data: Any, loss: Any, by_hand: Any, sizes: Any) -> None:
    X, y = data[0][: train.BATCH], data[1][: train.BATCH]
    step = train.make_step(loss)
    ours = theirs = train.initial(sizes)
    for _ in range(10):
        (a, ours), (b, theirs) = step(ours, X, y), by_hand(theirs, X, y)
        np.testing.assert_allclose(a, b, rtol=2e-5)
    for k in theirs:
        assert ours[k].dtype == np.float32
        np.testing.assert_allclose(ours[k], theirs[k], rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("loss, by_hand, sizes", MODELS, ids=["logistic", "perceptron"])
def test_gradients_against_differences(data: Any, loss: Any, by_hand: Any, sizes: Any) -> None:
    params = train.initial(sizes)
    assert train.gradient_error(loss, params, data[0][:32], data[1][:32]) < 1e-6


def test_a_short_training_reaches_95_percent(data: Any) -> None:
    X, y, X_test, y_test = data
    losses: list[float] = []
    params = train.train(train.make_step(train.perceptron), train.initial((64, 128, 64, 10)), X, y, 20, losses.append)
    assert len(losses) == 20 * (1437 // train.BATCH) and np.mean(losses[-20:]) < 0.2 < losses[0]
    assert train.accuracy(params, X_test, y_test) > 0.95


@pytest.mark.parametrize("epochs, enough, code", [(0, 10, 0), (1, 10, 0), (1, 1, 1)])
def test_the_command_reports(capsys: Any, monkeypatch: Any, epochs: int, enough: int, code: int) -> None:
    """In 80 columns. It fails where training for long enough does not reach 95 %: one pass does not."""
    monkeypatch.setattr(train, "ROUNDS", 1)
    monkeypatch.setattr(train, "_ENOUGH", enough)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["train", "--epochs", str(epochs), "--seed", "3"]) == code
    out = capsys.readouterr().out
    assert (
        "1437 digits to train on, 360 to test" in out
        and f"epochs: {epochs}, seed: 3" in out
        and "each on one thread" in " ".join(out.split())
    )
    assert "logistic regression" in out and "perceptron 64-128-64-10" in out and max(map(len, out.splitlines())) <= 80


def test_steps_are_timed_in_turns() -> None:
    calls: list[int] = []
    times = train.seconds_per_step([lambda *_, k=k: calls.append(k) for k in range(2)], None, None, None)
    assert len(times) == 2 and calls[: 2 * train.STEPS] == [0] * train.STEPS + [1] * train.STEPS


@pytest.mark.parametrize("missing", ["sklearn.datasets", "rich.console", "threadpoolctl"])
def test_without_the_extra_it_says_what_to_install(capsys: Any, monkeypatch: Any, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["train"]) == 1
    assert "pip install scikit-learn rich" in capsys.readouterr().err
