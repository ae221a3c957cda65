"""Protects what goes to other processes: errors with all that they say; graphs and sessions, which cannot, say why."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import graphflow as gf
from graphflow._core.transport.client import Overdue

KINDS = [
    kind
    for kind in vars(gf.errors).values()
    if isinstance(kind, type) and issubclass(kind, gf.errors.OpError)
]


def _fails() -> float:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [2], name="x")
        y = gf.check_numerics(x, "no number", name="checked")
        with gf.Session() as session:
            return float(np.sum(session.run(y, {x: [1.0, float("nan")]})))


def _failure() -> gf.errors.OpError:
    with pytest.raises(gf.errors.InvalidArgumentError) as raised:
        _fails()
    return raised.value


@pytest.mark.parametrize("kind", [*KINDS, Overdue])
def test_each_error_comes_out_as_it_went_in(kind: Any) -> None:
    error = kind("late") if kind is Overdue else kind(None, None, "what went wrong", 3)
    error.add_note("in epoch 3")
    error.own = ["of the program"]
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert str(again) == str(error) and again.args == error.args
        assert (again.message, again.error_code) == (error.message, error.error_code)
        assert (again.op, again.node_def) == (None, None)
        assert again.__notes__ == ["in epoch 3"] and again.own == ["of the program"]


def test_the_error_of_an_operation_names_it_still() -> None:
    error = _failure()
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and "'checked'" in str(again) and "test_this_process.py" in str(again)
    assert error.op.name == "checked" and again.op is None


def test_what_unavailable_has_heard_goes_along() -> None:
    error = gf.errors.UnavailableError(None, None, "gone")
    error.journal = ("12 heard of ps 0",)
    assert pickle.loads(pickle.dumps(error)).journal == error.journal


def test_a_pool_of_processes_says_what_failed_in_one() -> None:
    with (
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool,
        pytest.raises(gf.errors.InvalidArgumentError, match=r"'checked'.*no number"),
    ):
        pool.submit(_fails).result(100)


def _elements() -> dict[str, Callable[[], Any]]:
    return {
        "Graph": gf.Graph,
        "Session": gf.Session,
        "Tensor": lambda: gf.constant(1.0),
        "Operation": lambda: gf.no_op(),
        "Variable": lambda: gf.Variable(1.0),
        "Dataset": lambda: gf.data.Dataset.range(3),
    }


@pytest.mark.parametrize("name", _elements())
@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_what_is_of_this_process_says_so(name: str, dumps: Callable[[Any], bytes]) -> None:
    kind = "Session" if name == "Session" else "Graph"
    element = _elements()[name]()
    with pytest.raises(
        TypeError,
        match=f"{kind} is of this process and cannot be pickled or copied. (Open one|Build it anew)",
    ):
        dumps(element)
    with pytest.raises(TypeError, match=f"{kind} is of this process"):
        dumps(lambda: element) if dumps is cloudpickle.dumps else dumps([element])


def test_servers_writers_and_coordinators_say_what_to_send_instead(tmp_path: Path) -> None:
    server = gf.train.Server.create_local_server()
    with gf.summary.FileWriter(tmp_path) as writer:
        for element, instead in (
            (server, "target"),
            (writer, "get_logdir"),
            (gf.train.Coordinator(), "threads"),
        ):
            with pytest.raises(TypeError, match=f"{type(element).__name__} is of this process.*{instead}"):
                pickle.dumps(element)
    server.stop()
