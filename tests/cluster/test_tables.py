"""Protects tables whose keys come and go on a cluster: they live where they are built, for all sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import graphflow as gf
from tests.cluster.serving import serve_all, spec_of

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


@pytest.fixture
def targets() -> Iterator[list[str]]:
    with ExitStack() as stack:
        yield [server.target for server in serve_all(stack, spec_of(stack, ps=1, worker=2))]


def test_workers_share_a_table_of_a_ps(targets: list[str], tmp_path: Path) -> None:
    with gf.Graph().as_default():
        with gf.device(PS):
            table = gf.contrib.lookup.MutableHashTable(gf.string, gf.int64, -1, name="words")
            pairs = gf.lookup.experimental.DenseHashTable(gf.int64, gf.float32, [0.0, 0.0], [0, 0], [-1, -1])
        with gf.device(WORKER):
            insert = table.insert(["a", "b"], [1, 2])
            fill = pairs.insert([[1, 2], [3, 4]], [[0.5, 0.25], [1.0, 2.0]])
            found = table.lookup(gf.constant(["b", "c"])) * 10
            sums = gf.reduce_sum(pairs.lookup([[3, 4], [5, 6]]), axis=1)
        with gf.device("/job:worker/task:1"):
            remove = table.remove(gf.constant(["b"]))
        saver = gf.train.Saver()
        config = gf.ConfigProto(operation_timeout_in_ms=60_000)
        with gf.Session(targets[1], config=config) as one, gf.Session(targets[2], config=config) as other:
            one.run([insert, fill])
            assert other.run(found).tolist() == [20, -10]
            assert other.run(sums).tolist() == [3.0, 0.0]
            path = saver.save(one, str(tmp_path / "model"), write_meta_graph=False)
            other.run(remove)
            assert one.run([found, table.size()])[0].tolist() == [-10, -10]
            saver.restore(one, path)
            assert other.run(found).tolist() == [20, -10]
            assert sorted(one.run(table.export())[0].tolist()) == [b"a", b"b"]


def test_a_compiled_plan_looks_keys_up(targets: list[str]) -> None:
    del targets
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        table = gf.contrib.lookup.MutableHashTable(gf.int64, gf.float32, 0.5)
        keys = gf.placeholder(gf.int64, [None])
        with gf.control_dependencies([table.insert(keys, gf.cast(keys, gf.float32) * 2.0)]):
            found = gf.reduce_sum(table.lookup(keys + 1) + 1.0)
        for turn in range(3):
            assert session.run(found, {keys: [turn, turn + 10]}) == pytest.approx(3.0)
