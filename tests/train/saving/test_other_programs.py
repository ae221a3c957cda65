"""Protects that state beside variables is restored into the program that saved it, and into no other one.

Each program below has, under the same names, a queue, an iterator, a reader or a random op, and is trained, saved, and
restored into another graph: what that one reads must be its own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

TIMEOUT = gf.RunOptions(timeout_in_ms=60_000)
Source = Callable[[Any], Any]
"""Builds what reads one value a run; its argument tells one program's input from another's."""


def fifo(first: int) -> Any:
    return filled(gf.FIFOQueue(50, gf.int64, (), name="q"), first)


def padding(first: int) -> Any:
    return filled(gf.PaddingFIFOQueue(50, [gf.int64], [()], name="q"), first)


def shuffling(first: int) -> Any:
    return filled(gf.RandomShuffleQueue(50, 0, gf.int64, (), seed=3, name="q"), first)


def priority(first: int) -> Any:
    queue = gf.PriorityQueue(50, gf.int64, (), name="q")
    numbers = np.arange(first, first + 20)
    gf.add_to_collection("fill", queue.enqueue_many([numbers, numbers]))
    return queue.dequeue()[1]


def filled(queue: Any, first: int) -> Any:
    gf.add_to_collection("fill", queue.enqueue_many([np.arange(first, first + 20)]))
    return queue.dequeue()


def iterator(first: int) -> Any:
    data = gf.data.Dataset.from_tensor_slices(np.arange(first, first + 20))
    return data.make_one_shot_iterator().get_next()


def shuffled(first: int) -> Any:
    data = gf.data.Dataset.range(first, first + 20).shuffle(20, seed=1).map(lambda x: x + 0)
    made = data.make_initializable_iterator()
    gf.add_to_collection("fill", made.initializer)
    return made.get_next()


def generated(first: int) -> Any:
    def numbers() -> Any:
        yield from range(first, first + 20)

    # The function itself is not looked at: what tells the programs apart is a constant.
    data = gf.data.Dataset.from_generator(numbers, gf.int64).skip(first - first % 100)
    return gf.data.Dataset.range(first, first + 20).concatenate(data).make_one_shot_iterator().get_next()


def reader(first: int) -> Any:
    """Two files of lines, read by a reader from a queue of names."""
    folder = Path(gf.test.get_temp_dir()) / str(first)
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(2):
        numbers = range(first + 10 * part, first + 10 * part + 10)
        (folder / str(part)).write_text("".join(f"{number}\n" for number in numbers))
    names = gf.FIFOQueue(50, gf.string, (), name="q")
    gf.add_to_collection("fill", names.enqueue_many([[str(folder / "0"), str(folder / "1")]]))
    return gf.string_to_number(gf.TextLineReader(name="lines").read(names)[1], gf.int64)


def random(seed: int) -> Any:
    return gf.cast(gf.random_uniform([], 0, 1_000_000, gf.int32, seed=seed, name="noise"), gf.int64)


SOURCES = [fifo, padding, shuffling, priority, iterator, shuffled, generated, reader, random]


def program(source: Source, argument: Any, trains: bool) -> Any:
    """A model with its input; the one that trains has an optimizer."""
    value = source(argument)
    w = gf.get_variable("w", initializer=0.0)
    step = gf.train.AdamOptimizer(0.1).minimize(gf.square(w - 1.0)) if trains else gf.no_op()
    return value, step, gf.train.Saver() if trains else gf.train.Saver([w])


def take(session: gf.Session, value: Any, count: int) -> list[int]:
    return [int(session.run(value, options=TIMEOUT)) for _ in range(count)]


def start(session: gf.Session) -> None:
    session.run(gf.global_variables_initializer())
    for operation in gf.get_collection("fill"):
        session.run(operation)


def saved(source: Source, folder: Path) -> tuple[str, list[int]]:
    """Trains for five steps, saves, and goes on: the checkpoint, and the five values that came after it."""
    with gf.Graph().as_default(), gf.Session() as session:
        value, step, saver = program(source, 100, True)
        start(session)
        take(session, value, 5)
        session.run(step)
        prefix = saver.save(session, str(folder / "model"), write_meta_graph=False)
        return prefix, take(session, value, 5)


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_program_goes_on(source: Source, tmp_path: Path) -> None:
    prefix, expected = saved(source, tmp_path)
    with gf.Graph().as_default(), gf.Session() as session:
        value, _, saver = program(source, 100, True)
        for _ in range(2):  # again and again
            saver.restore(session, prefix)
            assert take(session, value, 5) == expected


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("filled_before", [True, False])
def test_another_program_keeps_its_own(source: Source, filled_before: bool, tmp_path: Path) -> None:
    prefix, _ = saved(source, tmp_path)
    with gf.Graph().as_default(), gf.Session() as alone:
        value = program(source, 200, True)[0]
        start(alone)
        expected = take(alone, value, 20)
    with gf.Graph().as_default(), gf.Session() as session:
        value, _, saver = program(source, 200, True)
        if filled_before:
            start(session)
            saver.restore(session, prefix)
        else:
            saver.restore(session, prefix)
            start(session)
        assert take(session, value, 20) == expected
        assert (
            session.run(gf.global_variables()[0]) != 0 or not filled_before
        )  # `start` initializes it again.


@pytest.mark.parametrize("source", [fifo, iterator, shuffled, reader, random])
def test_an_evaluation_with_the_same_input_begins_at_its_beginning(source: Source, tmp_path: Path) -> None:
    """The same input under the same names, but nothing that trains."""
    prefix, _ = saved(source, tmp_path)

    def evaluation() -> Any:
        return source(100), gf.get_variable("w", initializer=0.0)

    with gf.Graph().as_default(), gf.Session() as alone:
        value, _ = evaluation()
        start(alone)
        expected = take(alone, value, 5)
    with gf.Graph().as_default(), gf.Session() as session:
        value, w = evaluation()
        saver = gf.train.Saver()
        start(session)
        saver.restore(session, prefix)
        assert take(session, value, 5) == expected
        assert session.run(w) != 0


@pytest.mark.parametrize(
    "other",
    [
        lambda: gf.FIFOQueue(50, gf.float32, (), name="q"),
        lambda: gf.FIFOQueue(50, gf.int64, (2,), name="q"),
        lambda: gf.FIFOQueue(3, gf.int64, (), name="q"),
        lambda: gf.PaddingFIFOQueue(50, [gf.int64], [()], name="q"),
        lambda: gf.RandomShuffleQueue(50, 2, gf.int64, (), name="q"),
    ],
)
def test_a_queue_of_another_kind_dtype_shape_or_capacity_stays_empty(other: Any, tmp_path: Path) -> None:
    prefix, _ = saved(fifo, tmp_path)
    with gf.Graph().as_default(), gf.Session() as session:
        queue = other()
        gf.get_variable("w", initializer=0.0)
        saver = gf.train.Saver()
        saver.restore(session, prefix)
        assert session.run(queue.size()) == 0


def test_devices_the_learning_rate_and_further_savers_make_no_other_program(tmp_path: Path) -> None:
    def build(rate: float, device: str, savers: int) -> Any:
        with gf.device(device):
            value = iterator(100)
        w = gf.get_variable("w", initializer=0.0)
        step = gf.train.GradientDescentOptimizer(rate).minimize(gf.square(w - 1.0))
        return value, step, [gf.train.Saver() for _ in range(savers)][-1]

    with gf.Graph().as_default(), gf.Session() as session:
        value, step, saver = build(0.1, "/cpu:0", 1)
        start(session)
        take(session, value, 5)
        session.run(step)
        prefix = saver.save(session, str(tmp_path / "model"), write_meta_graph=False)
    with gf.Graph().as_default(), gf.Session() as session:
        value, step, saver = build(0.01, "", 3)
        saver.restore(session, prefix)
        assert take(session, value, 3) == [105, 106, 107]


def test_a_graph_read_from_its_file_is_the_same_program(tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf")
    with gf.Graph().as_default(), gf.Session() as session:
        value, _, saver = program(fifo, 100, True)
        start(session)
        take(session, value, 5)
        prefix = saver.save(session, str(tmp_path / "model"))
    with gf.Graph().as_default(), gf.Session() as session:
        saver = gf.train.import_meta_graph(f"{prefix}.meta")
        saver.restore(session, prefix)
        assert take(session, value.name, 5) == [105, 106, 107, 108, 109]


def test_a_session_that_queue_runners_fill_is_the_same_program_in_another_process(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        """
import sys
import graphflow as gf

folder, first, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
number = gf.train.input_producer(list(range(first, first + 50)), shuffle=False, num_epochs=None).dequeue()
w = gf.get_variable("w", initializer=0.0)
train = gf.group(w.assign_add(1.0), gf.train.get_or_create_global_step().assign_add(1))
hook = gf.train.CheckpointSaverHook(folder, save_steps=1)
with gf.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_secs=None, hooks=[hook]) as session:
    print([int(session.run([number, train])[0]) for _ in range(steps)], session.run(w))
"""
    )

    def run(first: int, steps: int) -> str:
        command = [sys.executable, str(script), str(tmp_path / "folder"), str(first), str(steps)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run(0, 4) == "[0, 1, 2, 3] 4.0"
    assert run(0, 3) == "[4, 5, 6] 7.0"
    assert run(1000, 3) == "[1000, 1001, 1002] 10.0"
