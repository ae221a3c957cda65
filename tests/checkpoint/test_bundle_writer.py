"""Protects checkpoints that graphflow writes in TensorFlow's format: the files' names, their content, and that a save
which is cut short at any moment loses only itself.

read_bundle.py beside this file has TensorFlow 1.15 read what these tests write.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
import graphflow.protos as protos
from graphflow._core.checkpoint import atomic, default_format
from graphflow._core.checkpoint.bundle import BundleFile, read_table
from graphflow._core.checkpoint.bundle_entries import BundleEntry, BundleHeader
from graphflow._core.checkpoint.bundle_names import seal_of
from graphflow._core.checkpoint.bundle_writer import write_tensors
from graphflow._core.checkpoint.crc32c import checksum_of, joined
from graphflow._core.checkpoint.reader import mapped
from graphflow._core.checkpoint.writer import Entry, write_checkpoint

V2 = gf.train.SaverDef.V2
DTYPES = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "complex64",
    "complex128",
)  # fmt: skip
DATA = ".data-00000-of-00001"


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def values() -> dict[str, Any]:
    generator = np.random.RandomState(4)
    found: dict[str, Any] = {f"of/{n}": (generator.standard_normal([2, 3]) * 50).astype(n) for n in DTYPES}
    found["strings"] = np.array([[b"", b"a\0b"], [b"\xff" * 300, "ä".encode()]], object)
    found["empty"] = np.zeros([0, 3], np.float32)
    found["scalar"] = np.array(7.5)
    found["text"] = np.array(b"one", object)
    found["long"] = np.arange(5_000_000, dtype=np.float32)
    return found


def entries() -> list[Entry]:
    rows = np.arange(12, dtype=np.int64).reshape(6, 2)
    return [
        *(Entry(name, value) for name, value in values().items()),
        Entry("größe", rows[:4], (6, 2), "0,4:0,2"),
        Entry("größe", rows[4:], (6, 2), "4,2:0,2"),
    ]


def test_every_tensor_is_read_to_the_bit(tmp_path: Path) -> None:
    prefix = str(tmp_path / "model")
    write_tensors(prefix, entries())
    assert sorted(os.listdir(tmp_path)) == ["model" + DATA, "model.index"]
    reader = gf.train.load_checkpoint(prefix)
    assert reader.get_variable_to_shape_map().keys() == values().keys() | {"größe"}
    for name, value in values().items():
        found = reader.get_tensor(name)
        found = np.asarray(found, object if isinstance(found, bytes) else None)
        assert (found.dtype, found.shape, found.tolist()) == (value.dtype, value.shape, value.tolist()), name
    assert reader.get_tensor("größe").tolist() == np.arange(12).reshape(6, 2).tolist()
    BundleFile(prefix).verify()


def test_the_same_tensors_are_the_same_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_tensors(str(tmp_path / name), entries())
    for ending in (".index", DATA):
        assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_the_checksum_of_a_whole_is_made_of_those_of_its_parts() -> None:
    data = random.Random(2).randbytes(70_001)
    for cuts in ([], [0], [1], [35_000], [1, 2, 3, 65_536, 70_000], [70_001]):
        places = [0, *cuts, len(data)]
        parts = [data[start:end] for start, end in pairwise(places)]
        assert joined([(checksum_of([part]), len(part)) for part in parts]) == checksum_of([data])


def test_the_entries_are_those_of_protobuf() -> None:
    messages = protos.tensor_bundle_pb2
    header = messages.BundleHeaderProto(num_shards=3)
    header.version.producer = 1
    assert BundleHeader(3).encoded() == header.SerializeToString()
    for shape, parts in (((), ()), ((0, 3), ()), ((1 << 40,), (((5, 7),), ((12, None),), ((0, 0),)))):
        entry = BundleEntry(9, shape, 2, 1 << 33, 300, 0xFFFFFFFF, list(parts))
        message = messages.BundleEntryProto(dtype=9, shard_id=2, offset=1 << 33, size=300, crc32c=0xFFFFFFFF)
        message.shape.SetInParent()
        for size in shape:
            message.shape.dim.add(size=size)
        for ((start, length),) in parts:
            extent = message.slices.add().extent.add(start=start)
            if length is not None:
                extent.length = length
        assert messages.BundleEntryProto.FromString(entry.encoded()) == message
        assert BundleEntry.of(memoryview(message.SerializeToString())) == entry
    message.shape.unknown_rank = True
    message.shard_id = -1
    found = BundleEntry.of(memoryview(message.SerializeToString()))
    assert found.shape is None and found.shard_id == -1


# ---- a saver ---------------------------------------------------------------------------------------------------------


def test_a_saver_leaves_the_files_that_programs_look_for(tmp_path: Path) -> None:
    w = gf.get_variable("w", initializer=[1.0, 2.0])
    parts = gf.get_variable("parts", [5, 2], partitioner=gf.fixed_size_partitioner(3))
    whole = gf.convert_to_tensor(parts)
    saver = gf.train.Saver(max_to_keep=2, write_version=V2)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        expected = session.run([w, whole])
        paths = [saver.save(session, str(tmp_path / "model.ckpt"), step) for step in (1, 2, 3)]
        files = [f"model.ckpt-{step}{e}" for step in (2, 3) for e in (DATA, ".index", ".meta")]
        assert sorted(os.listdir(tmp_path)) == ["checkpoint", *files]
        session.run(gf.global_variables_initializer())
        saver.restore(session, paths[-1])
        for found, value in zip(session.run([w, whole]), expected, strict=True):
            assert found.tobytes() == value.tobytes()
    assert [gf.train.checkpoint_exists(path) for path in paths] == [False, True, True]
    assert gf.train.latest_checkpoint(str(tmp_path)) == paths[-1]
    assert gf.train.list_variables(str(tmp_path)) == [("parts", [5, 2]), ("w", [2])]
    assert len(gf.train.get_checkpoint_mtimes(paths)) == 2
    gf.train.remove_checkpoint(paths[-1])
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", *files[:3]]


def test_state_that_is_no_variable_stands_where_tensorflow_does_not_look(tmp_path: Path) -> None:
    gf.get_variable("unused", initializer=0)
    noise = gf.random_uniform([2], seed=1)
    saver = gf.train.Saver(write_version=V2)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        session.run(noise)
        prefix = saver.save(session, str(tmp_path / "model"))
        expected = session.run(noise)
        saver.restore(session, prefix)
        assert session.run(noise).tobytes() == expected.tobytes()
    index = mapped(prefix + ".index")
    assert [key for key, _ in read_table(index)] == [b"", b"unused"]
    assert [key for key, _ in read_table(index, besides=True)] == [b"graphflow/seal", b"graphflow/state/"]


def test_the_saver_of_a_meta_graph_writes_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which format a saver writes is not said in a graph's file, which may be TensorFlow's."""
    w = gf.get_variable("w", initializer=1.0)
    with gf.Session() as session:
        session.run(w.initializer)
        prefix = gf.train.Saver([w], write_version=V2).save(session, str(tmp_path / "model"))
    with gf.Graph().as_default(), gf.Session() as session:
        saver = gf.train.import_meta_graph(prefix + ".meta")
        saver.restore(session, prefix)
        saver.save(session, str(tmp_path / "own"), write_meta_graph=False)
        monkeypatch.setenv("GRAPHFLOW_CHECKPOINTS", "tensorflow")
        saver.save(session, str(tmp_path / "again"), write_meta_graph=False)
    assert sorted(p.name for p in tmp_path.glob("own*")) == ["own.safetensors"]
    assert sorted(p.name for p in tmp_path.glob("again*")) == ["again" + DATA, "again.index"]


def test_the_format_is_the_programs_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    w = gf.get_variable("w", initializer=1.0)

    def endings(**options: Any) -> list[str]:
        folder = tmp_path / str(len(os.listdir(tmp_path)))
        with gf.Session() as session:
            session.run(w.initializer)
            saver = gf.train.Saver([w], **options)
            saver.save(session, str(folder / "m"), write_meta_graph=False, write_state=False)
        return sorted(os.listdir(folder))

    own, theirs = ["m.safetensors"], ["m" + DATA, "m.index"]
    assert endings() == own
    assert endings(write_version=V2) == theirs
    assert endings(write_version=gf.train.SaverDef.V1) == theirs
    monkeypatch.setenv("GRAPHFLOW_CHECKPOINTS", "tensorflow")
    assert endings() == theirs
    monkeypatch.setattr(default_format, "_default", default_format.TENSORFLOW)
    monkeypatch.setenv("GRAPHFLOW_CHECKPOINTS", "safetensors")
    assert endings() == own
    monkeypatch.delenv("GRAPHFLOW_CHECKPOINTS")
    assert endings() == theirs
    monkeypatch.setenv("GRAPHFLOW_CHECKPOINTS", "pickle")
    with pytest.raises(ValueError, match="set it to safetensors or tensorflow"):
        endings()


PROGRAM = """
import glob, os, re, shutil
import tensorflow as tf
w = tf.get_variable("w", initializer=[1.0, 2.0])
saver = tf.train.Saver()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    saver.save(session, "model.ckpt", global_step=100)
assert os.path.exists("model.ckpt-100.index") and glob.glob("*.meta") == ["model.ckpt-100.meta"]
assert [re.findall(r"ckpt-(\\d+).index", name) for name in sorted(os.listdir("."))] == [[], [], ["100"], [], []]
os.mkdir("best")
for name in glob.glob("model.ckpt-100.*"):
    shutil.copy(name, "best")
assert sorted(os.listdir("best")) == [f"model.ckpt-100.{e}" for e in ("data-00000-of-00001", "index", "meta")]
with tf.Session() as session:
    tf.train.Saver().restore(session, "best/model.ckpt-100")
    print(session.run(w))
tf.saved_model.simple_save
print(open("checkpoint").read(), end="")
with tf.train.MonitoredTrainingSession(checkpoint_dir="run") as session:
    pass
"""


def test_a_program_of_tensorflow_finds_its_files(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        PROGRAM.replace("with tf.train.Mon", "tf.train.get_or_create_global_step()\nwith tf.train.Mon")
    )
    done = subprocess.run(
        [sys.executable, "-m", "graphflow", "run", str(program)],
        cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(Path(gf.__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        '[1. 2.]\nmodel_checkpoint_path: "model.ckpt-100"\nall_model_checkpoint_paths: "model.ckpt-100"\n'
    )
    names = sorted(name for name in os.listdir(tmp_path / "run") if not name.startswith("events."))
    files = [f"model.ckpt-0.{ending}" for ending in ("data-00000-of-00001", "index", "meta")]
    assert names == ["checkpoint", "graph.pbtxt", *files]


def test_without_protobuf(tmp_path: Path) -> None:
    program = """
import sys
sys.modules["google.protobuf"] = None
import graphflow as gf
w = gf.get_variable("w", initializer=[1.0, 2.0])
saver = gf.train.Saver(write_version=gf.train.SaverDef.V2)
with gf.Session() as session:
    session.run(w.initializer)
    path = saver.save(session, sys.argv[1], write_meta_graph=False)
    session.run(w.assign([0.0, 0.0]))
    saver.restore(session, path)
    print(session.run(w))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "m")],
        capture_output=True, text=True, cwd=Path(gf.__file__).parents[1],
    )  # fmt: skip
    assert done.stdout == "[1. 2.]\n", done.stderr


def test_one_name_has_one_checkpoint(tmp_path: Path) -> None:
    """Whichever format was written last under a name is the one that is read."""
    prefix = str(tmp_path / "model")
    write_checkpoint(prefix, [Entry("w", np.array(1))])
    write_tensors(prefix, [Entry("w", np.array(2))])
    assert sorted(os.listdir(tmp_path)) == ["model" + DATA, "model.index"]
    assert gf.train.load_variable(prefix, "w") == 2
    write_checkpoint(prefix, [Entry("w", np.array(3))])
    os.utime(prefix + ".index", (1, 1))
    assert gf.train.load_variable(prefix, "w") == 3
    gf.train.remove_checkpoint(prefix)
    assert os.listdir(tmp_path) == []


# ---- saves that are cut short ---------------------------------------------------------------------------------------


class Killed(BaseException):
    """Stands for the end of the process: nothing of what a save does after it is done."""


def save_and_be_killed(prefix: str, value: int, after: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Writes a checkpoint; everything it does with names from the call number `after` on is left undone."""
    calls = 0
    with monkeypatch.context() as patched:

        def counted(function: Any) -> Any:
            def call(*arguments: Any, **options: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls > after:
                    raise Killed
                return function(*arguments, **options)

            return call

        for name in ("link", "rename", "unlink"):
            patched.setattr(atomic.os, name, counted(getattr(os, name)))
        try:
            write_tensors(prefix, [Entry("w", np.full(1000, value)), Entry("x", np.array(value))])
        except Killed:
            return True
    return False


@pytest.mark.parametrize("links", [True, False])
def test_the_former_one_of_the_same_name_is_whole_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:

        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError

        monkeypatch.setattr(os, "link", refuse)
    prefix = str(tmp_path / "model")
    write_tensors(prefix, [Entry("w", np.full(1000, 0)), Entry("x", np.array(0))])
    held, after, value, killed = 0, 0, 0, True
    while killed:
        for _ in range(2):  # The second one finds what the first has left.
            value += 1
            killed = save_and_be_killed(prefix, value, after, monkeypatch)
            reader = gf.train.load_checkpoint(prefix)
            found = reader.get_tensor("w")
            assert (found == found[0]).all() and reader.get_tensor("x") == found[0]
            assert int(found[0]) in ((held, value) if killed else (value,))
            held = int(found[0])
            assert gf.train.checkpoint_exists(prefix)
        after += 1
    assert after > 3
    write_tensors(prefix, [Entry("x", np.array(-1))])
    assert gf.train.load_variable(prefix, "x") == -1
    assert sorted(os.listdir(tmp_path)) == ["model" + DATA, "model.index"]


def test_a_former_one_that_tensorflow_wrote_is_whole_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = str(tmp_path / "model")
    write_tensors(prefix, [Entry("w", np.full(1000, 0)), Entry("x", np.array(0))])
    from graphflow._core.checkpoint.bundle_writer import table_of

    table = [(key, bytes(value)) for key, value in read_table(mapped(prefix + ".index"))]
    data = (tmp_path / ("model" + DATA)).read_bytes()
    for after in range(1, 5):
        for path in tmp_path.iterdir():
            path.unlink()
        (tmp_path / "model.index").write_bytes(table_of(table))  # As it would have: without a seal.
        (tmp_path / ("model" + DATA)).write_bytes(data[:-24])
        assert seal_of(data) and not seal_of(data[:-24])
        killed = save_and_be_killed(prefix, 1, after, monkeypatch)
        found = gf.train.load_variable(prefix, "w")
        assert (found == found[0]).all()
    assert killed


def test_files_of_two_saves_are_refused(tmp_path: Path) -> None:
    for name, value in (("a", 1), ("b", 2)):
        write_tensors(str(tmp_path / name), [Entry("w", np.array(value))])
    os.rename(tmp_path / "b.index", tmp_path / "a.index")
    with pytest.raises(gf.errors.DataLossError, match="are of two different saves"):
        gf.train.load_checkpoint(str(tmp_path / "a"))


def test_readers_and_other_writers_of_the_same_name(tmp_path: Path) -> None:
    prefix = str(tmp_path / "model")
    write_tensors(prefix, [Entry("w", np.full(1000, 0))])
    failed: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for turn in range(15):
                write_tensors(prefix, [Entry("w", np.full(1000, number * 100 + turn))])
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in writers:
        thread.start()
    while any(thread.is_alive() for thread in writers):
        found = gf.train.load_variable(prefix, "w")
        assert (found == found[0]).all()
    for thread in writers:
        thread.join()
    assert not failed
    assert sorted(os.listdir(tmp_path)) == ["model" + DATA, "model.index"]
    BundleFile(prefix).verify()


def test_damage_is_found(tmp_path: Path, everything: bool) -> None:
    small = [entry for entry in entries() if entry.name != "long"]
    state = Entry("graphflow/state/", np.arange(40, dtype=np.uint8))
    write_tensors(str(tmp_path / "whole"), [*small, state])
    expected = {name: value for name, value in values().items() if name != "long"}
    expected["größe"] = np.arange(12).reshape(6, 2)
    generator = random.Random(7)
    refused = 0
    for _ in range(3000 if everything else 300):
        for ending in (".index", DATA):
            data = bytearray((tmp_path / f"whole{ending}").read_bytes())
            if ending == generator.choice((".index", DATA)):
                place = generator.randrange(len(data))
                kind = generator.randrange(4)
                if kind == 0:
                    data[place] ^= 1 << generator.randrange(8)
                elif kind == 1:
                    data[place] = generator.choice((0, 0x7F, 0xFF))
                elif kind == 2:
                    del data[place : place + generator.choice((1, 20, len(data)))]
                else:
                    data[place:place] = data[:place][-generator.choice((1, 8, 50)) :]
            (tmp_path / f"damaged{ending}").write_bytes(data)
        try:
            reader = gf.train.load_checkpoint(str(tmp_path / "damaged"))
        except gf.errors.DataLossError:
            refused += 1
            continue
        assert reader.get_variable_to_shape_map().keys() == expected.keys()
        for name, value in expected.items():
            try:
                assert np.asarray(reader.get_tensor(name)).tolist() == value.tolist()
            except gf.errors.DataLossError:
                refused += 1
    assert refused > 100


def test_a_graph_beside_tensorflows_files_has_no_operations_that_it_lacks(tmp_path: Path) -> None:
    """The saver in it saves and restores the variables alone; TensorFlow 1.15 imports it and goes on."""
    from graphflow._core.interop.op_table import tensorflow_op

    w = gf.get_variable("w", initializer=[1.0, 2.0])
    gf.random_uniform([2], seed=1)
    with gf.Session() as session:
        session.run(w.initializer)
        prefix = gf.train.Saver(write_version=V2).save(session, str(tmp_path / "model"))
    message = protos.meta_graph_pb2.MetaGraphDef.FromString(Path(prefix + ".meta").read_bytes())
    assert [node.op for node in message.graph_def.node if tensorflow_op(node.op) is None] == []
    restore = next(node for node in message.graph_def.node if node.op == "RestoreV2")
    assert (
        list(restore.attr["dtypes"].list.type) == [1] and len(restore.attr["_output_shapes"].list.shape) == 1
    )
    with gf.Graph().as_default(), gf.Session() as session:
        saver = gf.train.import_meta_graph(prefix + ".meta")
        saver.restore(session, prefix)
        assert session.run("w:0").tolist() == [1.0, 2.0]
        again = saver.save(session, str(tmp_path / "again"))
    assert gf.train.list_variables(again) == [("w", [2])]
