"""What TensorBoard's own reader finds in our event files, and what ours does with damaged ones."""

import io
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.resources.records import masked_checksum, read_records, record

pytest.importorskip("tensorboard")


def reader(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    sizes = dict.fromkeys(("scalars", "histograms", "images", "tensors", "audio"), 0)
    accumulator = EventAccumulator(str(folder), size_guidance=sizes)
    accumulator.Reload()
    return accumulator


def point(value: float, tag: str = "loss") -> Any:
    return gf.Summary(value=[gf.Summary.Value(tag=tag, simple_value=value)])


def test_all_kinds_of_summaries(tmp_path: Path) -> None:
    with gf.Graph().as_default(), gf.Session() as session, gf.summary.FileWriter(tmp_path) as writer:
        gf.summary.scalar("curve", 2.5)
        gf.summary.histogram("spread", [1.0, 2.0, 2.0])
        gf.summary.image("picture", gf.ones([2, 4, 5, 3]))
        gf.summary.audio("tone", gf.zeros([1, 30]), 100)
        gf.summary.text("words", gf.constant("**bold**"))
        merged = gf.summary.merge_all()
        for step in (3, 4):
            writer.add_summary(session.run(merged), step)
    found = reader(tmp_path)
    tags = found.Tags()
    assert (tags["scalars"], tags["histograms"], tags["audio"], tags["tensors"]) == (
        ["curve"],
        ["spread"],
        ["tone/audio/0"],
        ["words"],
    )
    assert tags["images"] == ["picture/image/0", "picture/image/1"]
    assert [(e.step, e.value) for e in found.Scalars("curve")] == [(3, 2.5), (4, 2.5)]
    assert found.Histograms("spread")[1].histogram_value.num == 3
    assert (found.Images("picture/image/1")[0].width, found.Audio("tone/audio/0")[0].length_frames) == (5, 30)
    assert found.Tensors("words")[1].tensor_proto.string_val[0] == b"**bold**"
    assert found.SummaryMetadata("words").plugin_data.plugin_name == "text"
    (path,) = tmp_path.iterdir()
    described = [
        any(v.HasField("metadata") for v in e.summary.value) for e in gf.train.summary_iterator(path)
    ]
    assert described == [False, True, False]  # Metadata are written once a tag.


def test_runs_side_by_side(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer

    for name, rate in (("slow", 0.1), ("fast", 0.4)):
        with gf.summary.FileWriter(tmp_path / name) as writer:
            for step in range(5):
                writer.add_summary(point((1 - rate) ** step), step)
    both = EventMultiplexer().AddRunsFromDirectory(str(tmp_path))
    both.Reload()
    assert sorted(both.Runs()) == ["fast", "slow"]
    assert both.Scalars("slow", "loss")[4].value == pytest.approx(0.9**4)


def test_graph_with_devices_and_shapes(tmp_path: Path) -> None:
    with gf.Graph().as_default() as graph:
        with gf.device("/cpu:1"), gf.name_scope("layer"):
            x = gf.placeholder(gf.float32, [None, 3], name="x")
            gf.square(x, name="y")
        gf.summary.FileWriter(tmp_path, graph).close()
    node = {n.name: n for n in reader(tmp_path).Graph().node}["layer/y"]
    assert (node.op, list(node.input), node.device) == ("Square", ["layer/x"], "/device:CPU:1")
    (shape,) = node.attr["_output_shapes"].list.shape
    assert [d.size for d in shape.dim] == [-1, 3]
    with gf.summary.FileWriter(tmp_path / "other") as writer:
        writer.add_graph(None, graph_def=graph.as_graph_def())
        writer.add_meta_graph(gf.MetaGraphDef(graph_def=graph.as_graph_def()), 5)
        with pytest.raises(ValueError, match="not both"):
            writer.add_graph(graph, graph_def=graph.as_graph_def())
        with pytest.raises(TypeError, match="must be an instance of `Graph`"):
            writer.add_graph("a graph")
        with pytest.raises(TypeError, match="MetaGraphDef"):
            writer.add_meta_graph(graph)
    assert len(reader(tmp_path / "other").Graph().node) == 2


def test_time_and_memory_of_a_traced_run(tmp_path: Path) -> None:
    config = gf.ConfigProto(device_count={"CPU": 2})
    with gf.Graph().as_default(), gf.Session(config=config) as session:
        x = gf.placeholder(gf.float32, [None, 4])
        with gf.device("/cpu:1"):
            y = gf.square(x, name="y")
        total = gf.reduce_sum(y, name="total")
        metadata = gf.RunMetadata()
        options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
        session.run(total, {x: np.ones((5, 4))}, options=options, run_metadata=metadata)
        with gf.summary.FileWriter(tmp_path, session.graph) as writer:
            writer.add_run_metadata(metadata, "step 1", 1)
            with pytest.raises(ValueError, match="already used"):
                writer.add_run_metadata(metadata, "step 1", 2)
    found = reader(tmp_path)
    assert found.Tags()["run_metadata"] == ["step 1"]
    devices = found.RunMetadata("step 1").step_stats.dev_stats
    assert sorted(d.device[-5:] for d in devices) == ["CPU:0", "CPU:1"]
    stats = {n.node_name: n for d in devices for n in d.node_stats}
    assert stats["y"].all_start_micros > 1e15 and stats["y"].all_end_rel_micros >= 1
    assert stats["y"].memory[0].total_bytes == 5 * 4 * 4
    assert [d.size for d in stats["y"].output[0].tensor_description.shape.dim] == [5, 4]
    assert stats["total"].memory[0].total_bytes == 4


def test_start_drops_what_was_written_beyond(tmp_path: Path) -> None:
    """A program writes up to step 9, dies, and goes on from the checkpoint of step 5."""
    for first, last, value in ((0, 9, 1.0), (5, 12, 2.0)):
        writer = gf.summary.FileWriter(tmp_path)
        start = gf.SessionLog(status=gf.SessionLog.START, checkpoint_path="model")
        writer.add_session_log(start, first)
        for step in range(first, last + 1):
            writer.add_summary(point(value), step)
        writer.close()
    curve = [(e.step, e.value) for e in reader(tmp_path).Scalars("loss")]
    assert curve == [(s, 1.0) for s in range(5)] + [(s, 2.0) for s in range(5, 13)]


def test_writers_are_shared_by_folder(tmp_path: Path) -> None:
    cache = gf.summary.FileWriterCache
    with gf.Graph().as_default():
        gf.constant(1.0, name="one")
        writer = cache.get(tmp_path)
        assert cache.get(str(tmp_path)) is writer
    cache.clear()
    assert [n.name for n in reader(tmp_path).Graph().node] == ["one"]
    assert cache.get(tmp_path) is not writer
    cache.clear()


def test_add_summary_takes_bytes_messages_and_arrays(tmp_path: Path) -> None:
    with gf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(point(1.0), np.int64(1))
        writer.add_summary(point(2.0).SerializeToString(), 2)
        writer.add_summary(np.array(point(3.0).SerializeToString(), object), 3)
        writer.add_summary(gf.Summary())
        writer.add_event(gf.Event(step=9, wall_time=1.0, summary=point(4.0)))
        with pytest.raises(gf.errors.InvalidArgumentError, match="no Summary"):
            writer.add_summary(b"\xff\xff", 4)
    assert [(e.step, e.value) for e in reader(tmp_path).Scalars("loss")] == [(1, 1), (2, 2), (3, 3), (9, 4)]


def test_old_names() -> None:
    assert gf.train.SummaryWriter is gf.summary.FileWriter
    assert gf.summary.Summary is gf.Summary and gf.summary.Event is gf.Event
    assert gf.HistogramProto(num=3).num == 3
    with pytest.raises(AttributeError, match="nearest names are scalar"):
        gf.summary.scaler("v", 1.0)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(gf.errors.NotFoundError, match="no such file"):
        next(gf.train.summary_iterator(tmp_path / "none"))


# ---- damaged files ------------------------------------------------------------------------------------------------


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The file with a few bytes changed, taken out, put in, repeated or cut off."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(data) + 1)
        size = chance.choice((1, 2, 4, 8, 100))
        match chance.randrange(6):
            case 0 if data:
                data[at % len(data)] ^= 1 << chance.randrange(8)
            case 1:
                data[at : at + size] = chance.randbytes(size)
            case 2:
                del data[at : at + size]
            case 3:
                data[at:at] = chance.randbytes(size)
            case 4:
                data[at:at] = data[at : at + size]
            case 5:
                del data[at:]
    return bytes(data)


def rechecked(content: bytes, chance: random.Random) -> bytes:
    """The file with one record's data or length changed, and checksums that hold."""
    records = list(read_records(io.BytesIO(content)))
    chosen = chance.randrange(len(records))
    pieces = [record(r) for r in records]
    if chance.random() < 0.3:
        length = struct.pack("<Q", chance.choice((0, 1, 1 << 20, 1 << 40, (1 << 64) - 1)))
        pieces[chosen] = length + struct.pack("<I", masked_checksum(length)) + pieces[chosen][12:]
    else:
        pieces[chosen] = record(mutated(records[chosen], chance))
    return b"".join(pieces)


@pytest.mark.parametrize(
    "count", [pytest.param(150, id="some"), pytest.param(2000, id="all", marks=pytest.mark.slow)]
)
def test_damaged_files_give_the_events_before_the_damage_or_an_error(tmp_path: Path, count: int) -> None:
    chance = random.Random(count)
    with gf.Graph().as_default() as graph, gf.Session() as session:
        gf.summary.scalar("curve", 2.5)
        gf.summary.histogram("spread", np.linspace(-1, 1, 100))
        gf.summary.text("words", gf.constant(["some", "words"]))
        merged = gf.summary.merge_all()
        with gf.summary.FileWriter(tmp_path / "good", graph) as writer:
            for step in range(4):
                writer.add_summary(session.run(merged), step)
    (good,) = (tmp_path / "good").iterdir()
    content = good.read_bytes()
    events = [e.SerializeToString() for e in gf.train.summary_iterator(good)]
    path = tmp_path / "damaged"
    errors = 0
    for number in range(count):
        deep = number % 4 == 0
        path.write_bytes(rechecked(content, chance) if deep else mutated(content, chance))
        found = []
        try:
            for event in gf.train.summary_iterator(path):
                found.append(event.SerializeToString())
        except gf.errors.DataLossError as error:
            assert str(path) in str(error)
            errors += 1
        if not deep:  # Where checksums were made to hold, nobody can tell.
            assert set(found) <= set(events)
            assert found[:1] in ([], events[:1])
    assert errors > count // 2
