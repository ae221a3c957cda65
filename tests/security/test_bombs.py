"""Protects: a few bytes of a file cannot ask for all memory. What they ask for is bounded before it is allocated."""

from __future__ import annotations

import gzip
import io
import os
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.common import limits
from graphflow._core.common.files import numpy_files
from graphflow._core.resources.compressed import open_to_read, read_lines, read_whole
from graphflow._core.resources.records import read_records, record

MOST = 1 << 20


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.VARIABLE, str(MOST))


def evaluated(build: Callable[[], Any]) -> Any:
    with gf.Graph().as_default(), gf.Session() as session:
        return session.run(build())


# ---- pictures -------------------------------------------------------------------------------------------------------


def gif(width: int, height: int, frames: int) -> bytes:
    """An animation whose pictures are a point each, on a screen of any size."""
    start = b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\0\0" + b"\0\0\0\xff\xff\xff"
    frame = b"!\xf9\x04\0\0\0\0\0" + b"," + struct.pack("<HHHH", 0, 0, 1, 1) + b"\0" + b"\x02\x02\x44\x01\0"
    return start + frame * frames + b";"


def png(width: int, height: int, depth: int = 8) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, depth, 6, 0, 0, 0)
    row = b"\0" * (1 + width * 4 * depth // 8)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(row * height))
        + chunk(b"IEND", b"")
    )


def jpeg(width: int, height: int) -> bytes:
    """A picture of a few points whose head says another size."""
    with gf.Graph().as_default(), gf.Session() as session:
        data: bytes = session.run(gf.image.encode_jpeg(np.zeros([8, 8, 3], np.uint8)))
    place = data.index(b"\xff\xc0") + 5
    return data[:place] + struct.pack(">HH", height, width) + data[place + 4 :]


BOMBS: list[tuple[str, str, Callable[[], bytes]]] = [
    ("decode_gif", "[40, 100, 100, 3]", lambda: gif(100, 100, 40)),
    ("decode_gif", "[600, 600, 4]", lambda: png(600, 600)),
    ("decode_png", "[600, 600, 4]", lambda: png(600, 600)),
    ("decode_png", "[400, 400, 4]", lambda: png(400, 400, 16)),
    ("decode_png", "[40, 100, 100, 3]", lambda: gif(100, 100, 40)),
    ("decode_jpeg", "[5000, 9000, 3]", lambda: jpeg(9000, 5000)),
    ("decode_png", "[5000, 9000, 3]", lambda: jpeg(9000, 5000)),
]


@pytest.mark.parametrize(("decoder", "shape", "make"), BOMBS)
def test_a_picture_that_asks_for_more_is_refused_with_its_numbers(
    decoder: str, shape: str, make: Callable[[], bytes]
) -> None:
    data = make()
    size = int(np.prod(eval(shape), dtype=object)) * (2 if "400" in shape else 1)
    for name in (decoder, "decode_image"):
        with pytest.raises(gf.errors.InvalidArgumentError) as caught:
            evaluated(lambda name=name: getattr(gf.image, name)(data))
        text = str(caught.value)
        assert f"of {len(data)} bytes that asks for the shape {shape}" in text, text
        if data[1:4] != b"PNG" or decoder == "decode_png":  # decode_image asks for 16 bits where it may
            assert f"takes {size} bytes, more than the {MOST} that are allowed" in text
        assert limits.VARIABLE in text and "Decode" in text and __file__ in text


def test_what_is_within_the_bound_is_decoded_and_the_bound_can_be_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert evaluated(lambda: gf.image.decode_gif(gif(100, 100, 34))).shape == (34, 100, 100, 3)
    assert evaluated(lambda: gf.image.decode_png(png(512, 512))).shape == (512, 512, 4)
    assert evaluated(lambda: gf.image.decode_jpeg(jpeg(4000, 2400), ratio=8)).shape == (300, 500, 3)
    monkeypatch.setenv(limits.VARIABLE, str(2 * MOST))
    assert evaluated(lambda: gf.image.decode_gif(gif(100, 100, 40))).shape == (40, 100, 100, 3)
    monkeypatch.setenv(limits.VARIABLE, "much")
    with pytest.raises(gf.errors.InvalidArgumentError, match="GRAPHFLOW_MOST_BYTES must be a number"):
        evaluated(lambda: gf.image.decode_gif(gif(10, 10, 1)))


def test_a_gif_is_refused_without_the_memory_it_asks_for() -> None:
    """14 KB that ask for 146 GB: in a process that may have 3 GB, with the default bound."""
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "import graphflow as gf\n"
        "try:\n"
        "    with gf.Session() as session: session.run(gf.image.decode_gif(sys.stdin.buffer.read()))\n"
        "except gf.errors.InvalidArgumentError as error: print(error)\n"
    )
    data = gif(9000, 9000, 600)
    environment = {name: value for name, value in os.environ.items() if name != limits.VARIABLE}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        input=data,
        env=environment,
        capture_output=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert f"more than the {1 << 30} that are allowed".encode() in done.stdout, done.stdout
    assert b"DecodeGif" in done.stdout


def test_grey_is_what_it_was() -> None:
    """In rows, of 32 bits without a sign: the highest value of 16 bits still fits."""
    from graphflow._core.kernels.image.files import grey

    source = np.random.RandomState(0)
    for dtype in (np.uint8, np.uint16):
        top = np.iinfo(dtype).max
        colours = source.randint(0, top + 1, (7, 9, 3)).astype(dtype)
        colours[0, 0] = top
        weighted = colours.astype(object) @ np.array([9797, 19234, 3737], object)
        expected = np.vectorize(lambda value: value >> 15)(weighted)
        np.testing.assert_array_equal(grey(colours)[..., 0], expected.astype(dtype))


# ---- records and texts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize("kind", ["record", "line"])
def test_a_record_or_a_line_is_bounded_however_little_its_file_takes(
    tmp_path: Path, compression: str, kind: str
) -> None:
    path = tmp_path / "file"

    def element() -> Any:
        of = gf.data.TFRecordDataset if kind == "record" else gf.data.TextLineDataset
        return of(str(path), compression or None).make_one_shot_iterator().get_next()

    pack = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[compression]
    for size, fits in ((MOST, True), (MOST + 1, False)):
        content = record(bytes(size)) if kind == "record" else b"x" * size + b"\r\nshort\n"
        path.write_bytes(pack(content))
        if fits:
            assert len(evaluated(element)) == size
            continue
        wrong = gf.errors.DataLossError if kind == "record" else gf.errors.InvalidArgumentError
        with pytest.raises(wrong, match=f"more than the {MOST} that are allowed") as caught:
            evaluated(element)
        assert limits.VARIABLE in str(caught.value) and str(path) in str(caught.value)


def test_an_endless_record_of_a_compressed_file_is_not_unpacked(tmp_path: Path) -> None:
    length = struct.pack("<Q", 1 << 62)
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(record(b"")[:0] + length + record(length)[20:24] + bytes(8 * MOST)))
    with open_to_read(str(path), "GZIP") as file, pytest.raises(gf.errors.DataLossError, match=str(1 << 62)):
        list(read_records(file, str(path)))
        raise AssertionError(file.tell())


def test_whole_files_are_bounded_where_they_are_packed_or_have_no_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(2 * MOST))
    with open_to_read(str(path)) as file:
        assert len(read_whole(file, str(path))) == 2 * MOST  # as long as the file is
    path.write_bytes(gzip.compress(bytes(2 * MOST)))
    with (
        open_to_read(str(path), "GZIP") as file,
        pytest.raises(gf.errors.InvalidArgumentError, match="allowed"),
    ):
        read_whole(file, str(path), "GZIP")
    with pytest.raises(gf.errors.InvalidArgumentError, match="/dev/zero"):
        evaluated(lambda: gf.read_file("/dev/zero"))
    with (
        open("/dev/zero", "rb") as zeros,
        pytest.raises(gf.errors.InvalidArgumentError, match="line of /dev/zero"),
    ):
        list(read_lines(zeros, "/dev/zero"))


# ---- arrays, checkpoints and graphs ---------------------------------------------------------------------------------


def npy(shape: tuple[int, ...], dtype: str = "<f4", data: bytes = b"1234") -> bytes:
    head = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(10 + len(head) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


@pytest.mark.parametrize(
    "content", [npy((1 << 40,)), npy((1 << 20, 1 << 20)), npy((2,)), npy((1,), "<U99999999"), npy((1,), "|O")]
)
@pytest.mark.parametrize("packed", [False, True])
def test_an_array_takes_no_more_than_its_file_holds(tmp_path: Path, content: bytes, packed: bool) -> None:
    path = tmp_path / "file"
    if packed:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.npy", content)
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bytes, and|Python objects"):
        numpy_files.load(str(path))


def test_an_archive_of_arrays_that_unpacks_to_more_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "file.npz"
    np.savez_compressed(path, a=np.zeros(MOST, np.uint8), b=np.zeros(1, np.uint8))
    with pytest.raises(ValueError, match=f"more than the {MOST}"):
        numpy_files.load(str(path))
    np.savez_compressed(path, a=np.arange(10), b=np.array([[b"x", b"yz"]]))
    found = numpy_files.load(str(path))
    assert (
        sorted(found) == ["a", "b"] and found["a"].tolist() == list(range(10)) and found["b"][0, 1] == b"yz"
    )
    target = io.BytesIO()
    np.save(target, np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    (tmp_path / "one.npy").write_bytes(target.getvalue())
    assert numpy_files.load(str(tmp_path / "one.npy")).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\3\4" + bytes(100), b"\x93NUMPY\x09\x00", b"no array"])
def test_a_cache_file_that_is_none_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "cache.npz").write_bytes(content)
    with pytest.raises(gf.errors.InvalidArgumentError, match="is damaged"):
        evaluated(
            lambda: (
                gf.data.Dataset.range(3).cache(str(tmp_path / "cache")).make_one_shot_iterator().get_next()
            )
        )


def test_a_constant_of_one_repeated_value_in_a_graph_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with gf.Graph().as_default() as graph:
        gf.constant(1.0, name="c")
    proto = graph.as_graph_def()
    (node,) = proto.node
    for size in (1 << 19, 1 << 40):
        del node.attr["value"].tensor.tensor_shape.dim[:]
        node.attr["value"].tensor.tensor_shape.dim.add(size=size)
        with gf.Graph().as_default(), pytest.raises(ValueError, match="GRAPHFLOW_MOST_BYTES"):
            gf.import_graph_def(proto)
    del node.attr["value"].tensor.tensor_shape.dim[:]
    node.attr["value"].tensor.tensor_shape.dim.add(size=1 << 19)
    monkeypatch.setenv(limits.VARIABLE, str(1 << 21))
    with gf.Graph().as_default():
        gf.import_graph_def(proto)


def test_parts_of_a_tensorflow_checkpoint_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """Ten thousand tensors that are the same megabyte would be ten gigabytes."""
    from graphflow import protos
    from graphflow._core.checkpoint import bundle, bundle_writer
    from graphflow._core.checkpoint.opening import open_checkpoint
    from graphflow._core.checkpoint.reader import mapped

    with gf.Graph().as_default(), gf.Session() as session:
        for name in "ab":
            gf.Variable(np.zeros(4, np.float32), name=name)
        session.run(gf.global_variables_initializer())
        path = gf.train.Saver().save(session, str(tmp_path / "model"))
    prefix = str(tmp_path / "bundle")
    bundle_writer.write_bundle(prefix, open_checkpoint(path))
    assert open_checkpoint(prefix).names() == ["a", "b"]
    entries = {key: bytes(value) for key, value in bundle.read_table(mapped(prefix + ".index"))}
    entry = protos.tensor_bundle_pb2.BundleEntryProto.FromString(entries[b"b"])
    for offset in (0, 15):
        entry.offset = offset
        entries[b"b"] = entry.SerializeToString()
        Path(prefix + ".index").write_bytes(bundle_writer.table_of(sorted(entries.items())))
        with pytest.raises(gf.errors.DataLossError, match="same bytes"):
            open_checkpoint(prefix)


def test_whatever_is_changed_in_a_file_of_arrays_it_is_read_or_refused(tmp_path: Path) -> None:
    """Each byte once; NumPy's parser of heads and that of zip files raise errors of many kinds."""
    path = tmp_path / "file"
    np.savez_compressed(tmp_path / "file.npz", a=np.arange(3))
    np.save(tmp_path / "file.npy", np.eye(2))
    for name in ("file.npz", "file.npy"):
        whole = (tmp_path / name).read_bytes()
        for place in range(len(whole)):
            for byte in (0, 0x22, 0x28, 0x7F, 0xFF):
                path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
                try:
                    numpy_files.load(str(path))
                except numpy_files.reading_errors:
                    continue


def test_what_a_graph_says_of_a_shape_is_not_computed_where_no_shape_could_be_so_long() -> None:
    """Neither while the graph is built nor when it is imported: in a process that may have 3 GB."""
    program = (
        "import resource, graphflow as gf\n"
        "def graphs():\n"
        "    n = 2_000_000_000\n"
        "    yield lambda: gf.fill([n], 1)\n"
        "    yield lambda: gf.range(n)\n"
        "    yield lambda: gf.zeros([n], gf.int32)\n"
        "    yield lambda: gf.tile([1], [n])\n"
        "    yield lambda: gf.ones_like(gf.fill([n], 1))\n"
        "    yield lambda: gf.concat([gf.fill([n], 1), [1]], 0)\n"
        "    yield lambda: gf.pad([1], [[0, n]])\n"
        "    yield lambda: gf.stack([gf.fill([n], 1)[0]])\n"
        "    yield lambda: gf.fill([n], 1)[:3]\n"
        "    yield lambda: gf.gather(gf.fill([n], 1), [1])\n"
        "    yield lambda: gf.cast(gf.fill([n], 1), gf.int64) * 2\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "for build in graphs():\n"
        "    with gf.Graph().as_default() as graph:\n"
        "        gf.reshape(gf.placeholder(gf.float32), build())\n"
        "        gf.zeros(build())\n"
        "    with gf.Graph().as_default(): gf.import_graph_def(graph.as_graph_def())\n"
        "print('built')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=100
    )
    assert done.stdout == "built\n", done.stderr
