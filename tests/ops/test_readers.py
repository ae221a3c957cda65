"""Protects what reads files in the graph: readers, examples, comma-separated values, files by name and by pattern.

Keys, values, shapes and refusals are those of TensorFlow 1.15.5.
"""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.ops.io.readers import RecordInput
from graphflow._core.resources.readers import Reader, lines
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext
from tests.overdue import overdue

CONFIG = gf.ConfigProto(operation_timeout_in_ms=60_000)


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_bytes(b"head\nl1\nl2\r\n\nl4")
    (tmp_path / "b.txt").write_bytes(b"head\nm1\n")
    (tmp_path / "f.bin").write_bytes(b"HHaaabbbcccF")
    with gf.python_io.TFRecordWriter(tmp_path / "r.rec") as writer:
        for size in range(3):
            writer.write(b"x" * size)
    return tmp_path


def read(reader: Any, folder: Path, *names: str, most: int = 0) -> tuple[list[Any], list[int], type]:
    """What a reader gives of files until it raises, its counts, and the error; keys without the folder."""
    queue = gf.FIFOQueue(10, gf.string, ())
    key, value = reader.read_up_to(queue, most) if most else reader.read(queue)
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    found: list[Any] = []
    with gf.Session(config=CONFIG) as session:
        session.run(queue.enqueue_many([[str(folder / name) for name in names]]))
        session.run(queue.close())
        try:
            while True:
                k, v = session.run([key, value])
                found.append((np.ravel(k).tolist(), np.ravel(v).tolist()))
        except gf.errors.OpError as error:
            ended = type(error)
        produced = session.run(counts)
        session.run(reader.reset())
        assert session.run(counts) == [0, 0]
    start = len(str(folder)) + 1
    return [([k.decode()[start:] for k in ks], vs) for ks, vs in found], produced, ended


END = gf.errors.OutOfRangeError


def test_lines(folder: Path) -> None:
    reader = gf.TextLineReader(skip_header_lines=1)
    found = [("a.txt:2", b"l1"), ("a.txt:3", b"l2"), ("a.txt:4", b""), ("a.txt:5", b"l4"), ("b.txt:2", b"m1")]
    assert read(reader, folder, "a.txt", "b.txt") == ([([k], [v]) for k, v in found], [5, 2], END)


def test_several_at_once_never_of_two_files(folder: Path) -> None:
    found, counts, _ = read(gf.TextLineReader(), folder, "a.txt", "b.txt", most=3)
    assert [len(keys) for keys, _ in found] == [3, 2, 2] and counts == [7, 2]


def test_whole_files_blocks_records_and_names(folder: Path) -> None:
    assert read(gf.WholeFileReader(), folder, "b.txt") == ([(["b.txt"], [b"head\nm1\n"])], [1, 1], END)
    blocks = read(gf.FixedLengthRecordReader(3, 2, 1), folder, "f.bin")[0]
    assert blocks == [([f"f.bin:{n}"], [v]) for n, v in enumerate([b"aaa", b"bbb", b"ccc"])]
    blocks = read(gf.FixedLengthRecordReader(3, 2, 1, hop_bytes=2), folder, "f.bin")[0]
    assert [v for _, (v,) in blocks] == [b"aaa", b"abb", b"bbc", b"ccc"]
    assert read(gf.TFRecordReader(), folder, "r.rec")[0] == [
        (["r.rec:0"], [b""]), (["r.rec:16"], [b"x"]), (["r.rec:33"], [b"xx"]),
    ]  # fmt: skip
    name = str(folder / "none").encode()
    assert read(gf.IdentityReader(), folder, "none")[0] == [(["none"], [name])]


def test_compressed_records(folder: Path) -> None:
    (folder / "r.gz").write_bytes(gzip.compress((folder / "r.rec").read_bytes()))
    options = gf.python_io.TFRecordOptions(gf.python_io.TFRecordCompressionType.GZIP)
    assert len(read(gf.TFRecordReader(options=options), folder, "r.gz")[0]) == 3


def test_records_as_a_dataset(folder: Path) -> None:
    (folder / "r.gz").write_bytes(gzip.compress((folder / "r.rec").read_bytes()))
    for name, kind in (("r.rec", None), ("r.gz", "GZIP")):
        dataset = gf.data.TFRecordDataset([str(folder / name)] * 2, kind).batch(6)
        with gf.Session() as session:
            found = session.run(dataset.make_one_shot_iterator().get_next())
        assert found.tolist() == [b"", b"x", b"xx"] * 2
    (folder / "r.rec").write_bytes((folder / "r.rec").read_bytes()[:-1])
    taken = gf.data.TFRecordDataset(str(folder / "r.rec")).skip(2).make_one_shot_iterator().get_next()
    with gf.Session() as session, pytest.raises(gf.errors.DataLossError, match=r"r\.rec"):
        session.run(taken)


def test_a_file_that_cannot_be_read_is_an_error_and_the_next_one_is_read(folder: Path) -> None:
    assert read(gf.TextLineReader(), folder, "none", "b.txt")[2] is gf.errors.NotFoundError
    (folder / "cut.rec").write_bytes((folder / "r.rec").read_bytes()[:-3])
    found, _, error = read(gf.TFRecordReader(), folder, "cut.rec")
    assert len(found) == 2 and error is gf.errors.DataLossError
    queue = gf.FIFOQueue(10, gf.string, ())
    _, value = gf.TextLineReader().read(queue)
    with gf.Session(config=CONFIG) as session:
        session.run(queue.enqueue_many([[str(folder / "none"), str(folder / "b.txt")]]))
        with pytest.raises(gf.errors.NotFoundError, match="none"):
            session.run(value)
        assert session.run(value) == b"head"


def test_waiting_for_a_file_has_a_deadline_and_a_line() -> None:
    queue = gf.FIFOQueue(10, gf.string, (), name="names")
    _, value = gf.TextLineReader().read(queue)
    wrong = gf.TextLineReader().read(gf.FIFOQueue(10, gf.int32, ()))
    with gf.Session() as session:
        overdue(lambda options: session.run(value, options=options), "It waited for .*FIFOQueue 'names'")
        with pytest.raises(gf.errors.InvalidArgumentError, match="queue of strings"):
            session.run(wrong)


def test_a_reader_goes_on_from_its_state(folder: Path) -> None:
    queue = gf.FIFOQueue(10, gf.string, ())
    _, value = gf.TextLineReader(name="reader").read(queue)
    with gf.Session(config=CONFIG) as first, gf.Session(config=CONFIG) as second:
        first.run(queue.enqueue(str(folder / "a.txt")))
        assert [first.run(value) for _ in range(2)] == [b"head", b"l1"]
        second.store.set_state(first.store.get_state())
        assert second.run(value) == b"l2"
    reader = Reader("reader", lines(0))
    good = dict(reader.get_state())
    for change in (
        {"given": np.array(0.5)},
        {"work": np.array(3)},
        {"counts": np.array([-1, 0])},
        {"given": None},
    ):
        with pytest.raises(ValueError, match="no state of the reader"):
            reader.set_state(good | change)


def test_a_pipeline_from_files_to_batches(folder: Path) -> None:
    (folder / "x.csv").write_text("1.5,7\n2.5,8\n3.5,\n4.5,9\n")
    queue = gf.train.string_input_producer([str(folder / "x.csv")], num_epochs=1)
    _, line = gf.TextLineReader().read(queue)
    x, label = gf.decode_csv(line, [[0.0], [-1]])
    batch = gf.train.batch([x, label], 2)
    with gf.Session(config=CONFIG) as session:
        session.run(gf.local_variables_initializer())
        coord = gf.train.Coordinator()
        threads = gf.train.start_queue_runners(session, coord)
        found = [[a.tolist() for a in session.run(batch)] for _ in range(2)]
        with pytest.raises(gf.errors.OutOfRangeError):
            session.run(batch)
        coord.request_stop()
        coord.join(threads)
    assert found == [[[1.5, 2.5], [7, 8]], [[3.5, 4.5], [-1, 9]]]


def test_files_by_name_and_by_pattern(folder: Path) -> None:
    with gf.Session() as session:
        names = session.run(gf.matching_files([str(folder / "*.txt"), str(folder / "r*")]))
        assert [Path(n.decode()).name for n in names] == ["a.txt", "b.txt", "r.rec"]
        assert session.run(gf.matching_files(str(folder / "*.none"))).tolist() == []
        with pytest.raises(gf.errors.NotFoundError):
            session.run(gf.matching_files(str(folder / "none" / "*")))
        path = str(folder / "new" / "file")
        session.run(gf.write_file(path, "content"))
        assert session.run(gf.read_file(path)) == b"content"
        with pytest.raises(gf.errors.FailedPreconditionError):
            session.run(gf.write_file(str(folder), "content"))


# ---- comma-separated values -----------------------------------------------------------------------------------------


def csv(record: Any, defaults: Any, **options: Any) -> list[Any]:
    with gf.Session() as session:
        return [np.asarray(v).tolist() for v in session.run(gf.decode_csv(record, defaults, **options))]


def test_fields() -> None:
    records = ['1.5,"a,""b",3', ",,4", " 2 ,c d, 5"]
    defaults = [[1.0], ["x"], gf.constant([], gf.int32)]
    assert csv(records, defaults) == [[1.5, 1.0, 2.0], [b'a,"b', b"x", b"c d"], [3, 4, 5]]
    assert csv("1|NA|3", [[0], [7], [0]], field_delim="|", na_value="NA") == [1, 7, 3]
    assert csv("1,2,3", [[0], [7]], select_cols=[0, 2]) == [1, 3]
    assert csv('1,"2",3', [[0], [""], [0]], use_quote_delim=False) == [1, b'"2"', 3]
    assert csv("1,1e3,inf,-.5", [[0.0]] * 4) == [1.0, 1000.0, float("inf"), -0.5]


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ("1.5,a,", "Field 2 is required but missing in record 0"),
        ("1.5,a", "Expect 3 fields but have 2"),
        ("q,a,3", "Field 0 in record 0 is not a valid float: q"),
        ("1,a,99999999999", "Field 2 in record 0 is not a valid int32"),
        ("1_0,a,3", "not a valid float: 1_0"),
        ('1,a"b,3', "Unquoted fields"),
        ('1,"ab,3', "has to end with quote"),
        ('1,"a"b,3', "has to be escaped"),
    ],
)
def test_records_that_cannot_be(record: str, told: str) -> None:
    with pytest.raises(gf.errors.InvalidArgumentError, match=told):
        csv(record, [[1.0], ["x"], gf.constant([], gf.int32)])


# ---- examples -------------------------------------------------------------------------------------------------------


def example(**features: Any) -> bytes:
    made = {}
    for key, value in features.items():
        if isinstance(value[0], bytes):
            made[key] = gf.train.Feature(bytes_list=gf.train.BytesList(value=value))
        elif isinstance(value[0], float):
            made[key] = gf.train.Feature(float_list=gf.train.FloatList(value=value))
        else:
            made[key] = gf.train.Feature(int64_list=gf.train.Int64List(value=value))
    data: bytes = gf.train.Example(features=gf.train.Features(feature=made)).SerializeToString()
    return data


FIRST = example(x=[1.0, 2.0], y=[3], s=[b"a"], v=[1, 2, 3], q=[1.0, 2.0, 3.0, 4.0])
SECOND = example(x=[5.0, 6.0], y=[4], v=[9])
FEATURES = {
    "x": gf.FixedLenFeature([2], gf.float32),
    "y": gf.FixedLenFeature([], gf.int64),
    "s": gf.FixedLenFeature([], gf.string, default_value="none"),
    "v": gf.VarLenFeature(gf.int64),
    "q": gf.FixedLenSequenceFeature([2], gf.float32, allow_missing=True),
}


def test_one_example() -> None:
    parsed = gf.parse_single_example(FIRST, FEATURES)
    shapes = {k: v.get_shape().as_list() for k, v in parsed.items() if k != "v"}
    assert shapes == {"x": [2], "y": [], "s": [], "q": [None, 2]}
    with gf.Session() as session:
        found = session.run(parsed)
    assert (found["x"].tolist(), found["y"], found["s"]) == ([1.0, 2.0], 3, b"a")
    assert found["q"].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert [np.asarray(part).tolist() for part in found["v"]] == [[[0], [1], [2]], [1, 2, 3], [3]]


def test_several_examples() -> None:
    with gf.Session() as session:
        found = session.run(gf.parse_example([FIRST, SECOND], FEATURES))
    assert found["x"].tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert (found["y"].tolist(), found["s"].tolist()) == ([3, 4], [b"a", b"none"])
    assert found["q"].tolist() == [[[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]]
    assert found["v"].indices.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0]]
    assert (found["v"].values.tolist(), found["v"].dense_shape.tolist()) == ([1, 2, 3, 9], [2, 3])


def sequence(**lists: Any) -> bytes:
    """A SequenceExample of lists of integers, with n = 3 as its context."""
    made = {
        key: gf.train.FeatureList(
            feature=[gf.train.Feature(int64_list=gf.train.Int64List(value=step)) for step in steps]
        )
        for key, steps in lists.items()
    }
    n = gf.train.Feature(int64_list=gf.train.Int64List(value=[3]))
    message = gf.train.SequenceExample(
        context=gf.train.Features(feature={"n": n}), feature_lists=gf.train.FeatureLists(feature_list=made)
    )
    data: bytes = message.SerializeToString()
    return data


def test_a_sequence_example() -> None:
    data = gf.placeholder(gf.string, [])
    context, steps = gf.parse_single_sequence_example(
        data,
        {"n": gf.FixedLenFeature([], gf.int64), "w": gf.VarLenFeature(gf.float32)},
        {
            "token": gf.FixedLenSequenceFeature([], gf.int64),
            "pair": gf.FixedLenSequenceFeature([2], gf.int64, allow_missing=True),
            "any": gf.VarLenFeature(gf.int64),
        },
        example_name="one",
    )
    assert (steps["token"].shape.as_list(), steps["pair"].shape.as_list()) == ([None], [None, 2])
    with gf.Session() as session:
        n, found = session.run(
            [context["n"], steps], {data: sequence(token=[[1], [2]], any=[[5, 6], [], [7]])}
        )
        assert (n, found["token"].tolist(), found["pair"].shape) == (3, [1, 2], (0, 2))
        assert [part.tolist() for part in found["any"]] == [[[0, 0], [0, 1], [2, 0]], [5, 6, 7], [3, 2]]
        for wrong, told in [
            (sequence(), "Name: one, Feature list 'token' is required"),
            (
                sequence(token=[[1], [2, 3]]),
                r"Name: one, Key: token, Index: 1\.  Number of int64 values != expected",
            ),
            (b"\xff\xff", "Could not parse"),
        ]:
            with pytest.raises(gf.errors.InvalidArgumentError, match=told):
                session.run(steps["token"], {data: wrong})
    with pytest.raises(ValueError, match="Missing features"):
        gf.parse_single_sequence_example(data)
    with pytest.raises(ValueError, match="Invalid sequence feature x"):
        gf.parse_single_sequence_example(data, None, {"x": gf.FixedLenFeature([], gf.int64)})


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\xff\xff", "Could not parse example"),
        (example(x=[1.0, 2.0]), r"Feature: y \(data type: int64\) is required"),
        (
            example(x=[1.0, 2.0, 3.0], y=[1]),
            r"Key: x(, Index: 0)?\.  Number of float values != expected\.  values size: 3 but output shape: \[2\]",
        ),
        (
            example(x=[1.0, 2.0], y=[1.0]),
            r"Key: y(, Index: 0)?\.  Data types don't match\. Data type: float but expected type: int64",
        ),
        (
            example(x=[1.0, 2.0], y=[1], q=[1.0]),
            r"Key: q(, Index: 0)?\.  Number of float values is not a multiple of stride length",
        ),
    ],
    ids=["no example", "a feature that lacks", "too many values", "another dtype", "too few values"],
)
def test_examples_that_cannot_be(data: bytes, told: str) -> None:
    with gf.Session() as session:
        with pytest.raises(gf.errors.InvalidArgumentError, match=told):
            session.run(gf.parse_single_example(data, FEATURES))
        with pytest.raises(gf.errors.InvalidArgumentError, match=f"Name: the name, {told}"):
            session.run(gf.parse_example([data], FEATURES, example_names=["the name"]))


def test_wrong_requests_are_refused_where_they_are_built() -> None:
    data = gf.placeholder(gf.string, [])
    requests: list[tuple[Any, type[Exception], str]] = [
        ({}, ValueError, "features was empty"),
        ({"x": 5}, ValueError, "Invalid feature x"),
        ({"x": gf.VarLenFeature(None)}, ValueError, "Missing type"),
        ({"x": gf.FixedLenFeature(None, gf.float32)}, ValueError, "Missing shape"),
        (
            {"x": gf.FixedLenFeature([None], gf.float32)},
            ValueError,
            "First dimension .* FixedLenSequenceFeature",
        ),
        (
            {"x": gf.FixedLenFeature([1, None], gf.float32)},
            ValueError,
            r"to be known but received \[1, None\]",
        ),
        (
            {"x": gf.FixedLenSequenceFeature([2], gf.float32, True, [])},
            ValueError,
            "Cannot reshape a tensor with 0 elements",
        ),
        ({"x": gf.FixedLenFeature([], gf.int32)}, TypeError, "has type int32"),
        ({"x": gf.FixedLenSequenceFeature([], gf.int64)}, ValueError, "allow_missing"),
    ]
    for features, error, told in requests:
        with pytest.raises(error, match=told):
            gf.parse_single_example(data, features)
    calls: list[Callable[[], Any]] = [
        lambda: gf.decode_csv("1", []),
        lambda: gf.decode_csv("1", [[1]], field_delim=",,"),
        lambda: gf.decode_csv("1", [[1]], select_cols=[1, 0]),
        lambda: gf.decode_csv("1", [[[1]]]),
        lambda: gf.FixedLengthRecordReader(0),
    ]
    for call in calls:
        with pytest.raises(ValueError):
            call()


def open_files() -> set[str]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(os.readlink(entry))
    return found


def test_a_closed_session_has_no_file_open(folder: Path) -> None:
    queue = gf.FIFOQueue(10, gf.string, ())
    record = gf.TextLineReader().read(queue)
    session = gf.Session(config=CONFIG)
    session.run(queue.enqueue([str(folder / "a.txt")]))
    session.run(record)
    assert str(folder / "a.txt") in open_files()
    session.close()
    assert str(folder / "a.txt") not in open_files()


def test_a_session_that_is_closed_while_it_reads_has_no_file_open(folder: Path) -> None:
    """The run that reads closes the file when it ends, since the reader is its own meanwhile."""
    reads, go_on = threading.Event(), threading.Event()

    def slow_lines(path: str) -> Iterator[tuple[bytes, bytes]]:
        for found in lines(0)(path):
            reads.set()
            assert go_on.wait(60)
            yield found

    store = ResourceStore()
    reader = store.other("reader", lambda: Reader("reader", slow_lines))
    work = np.array(os.fsencode(folder / "a.txt"), object)
    reader.set_state({"work": work, "given": np.array(0), "counts": np.array([0, 0])})
    thread = threading.Thread(target=reader.read, args=(RunContext(store), None, 1))
    thread.start()
    assert reads.wait(60)
    store.close()
    go_on.set()
    thread.join(60)
    assert str(folder / "a.txt") not in open_files()


# ---- records at random -----------------------------------------------------------------------------------------------


def record_files(folder: Path, files: int, records: int) -> str:
    """Files of numbered records; a pattern of their names."""
    for number in range(files):
        with gf.python_io.TFRecordWriter(str(folder / f"r{number}")) as writer:
            for record in range(records):
                writer.write(b"%03d" % (number * records + record))
    return str(folder / "r*")


@pytest.mark.parametrize("buffer_size", [1, 7, 1000])
def test_all_records_of_an_epoch_come_before_the_next(tmp_path: Path, buffer_size: int) -> None:
    pattern = record_files(tmp_path, 6, 10)
    source = RecordInput(pattern, batch_size=5, buffer_size=buffer_size, shift_ratio=0.4, seed=3, batches=2)
    batches = source.get_yield_op()
    assert [len(batch) for batch in batches] == [5, 5] and batches[0][0].shape.as_list() == []
    epochs = []
    with gf.Session() as session:
        for _ in range(3):
            epochs.append([text for _ in range(6) for batch in session.run(batches) for text in batch])
    assert [sorted(epoch) for epoch in epochs] == [[b"%03d" % number for number in range(60)]] * 3
    assert epochs[0] != epochs[1] != epochs[2]


def test_records_follow_from_the_seed_and_an_epoch_may_end_within_a_batch(tmp_path: Path) -> None:
    pattern = record_files(tmp_path, 1, 3)
    found = []
    for seed in (1, 1, 2):
        with gf.Graph().as_default(), gf.Session() as session:
            records = RecordInput(pattern, batch_size=4, buffer_size=3, seed=seed).get_yield_op()
            assert records.shape.as_list() == [4]
            found.append(session.run(records).tolist() + session.run(records).tolist())
    assert found[0] == found[1] and sorted(found[0][:3]) == sorted(found[0][3:6]) == [b"000", b"001", b"002"]


def test_records_that_are_not_there_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "torn").write_bytes(b"\x01\x02")
    with gf.Session() as session:
        for name, error in (
            ("none*", gf.errors.NotFoundError),
            ("empty", gf.errors.OutOfRangeError),
            ("torn", gf.errors.DataLossError),
        ):
            with pytest.raises(error):
                session.run(RecordInput(str(tmp_path / name)).get_yield_op())
    with pytest.raises(ValueError, match="buffer_size must be positive"):
        RecordInput("x", buffer_size=0)
    with pytest.raises(ValueError, match=r"shift_ratio must be in \[0, 1\)"):
        RecordInput("x", shift_ratio=1.0)
