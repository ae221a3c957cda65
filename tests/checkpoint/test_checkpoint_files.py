"""Protects checkpoint files: what is damaged or hostile is found out, and a save that is cut short loses only itself.

Promise 13. Every mutated file either raises or gives exactly the values that were saved.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

import graphflow as gf
from graphflow._core.checkpoint.atomic import atomic_file, family
from graphflow._core.checkpoint.reader import CheckpointFile
from graphflow._core.checkpoint.resource_state import pack_state, unpack_state
from graphflow._core.checkpoint.state_file import CheckpointState, parse_state
from graphflow._core.checkpoint.writer import Entry, write_checkpoint

TEXTS = np.array([b"one", b"", b"three\x00"], object)
VALUES = {
    "a/kernel": np.arange(60, dtype=np.float32).reshape(12, 5),
    "flag": np.array([True, False, True]),
    "many": np.arange(7, dtype=np.complex128) * 1j,
    "none": np.zeros((0, 3), np.int16),
    "parts": np.arange(12, dtype=np.int64).reshape(6, 2),
    "texts": TEXTS,
}


def write(prefix: str) -> Path:
    """A small checkpoint of everything a file may hold."""
    entries = [Entry(name, value) for name, value in VALUES.items() if name != "parts"]
    parts = VALUES["parts"]
    entries += [Entry("parts", parts[:4], (6, 2), "0,4:0,2"), Entry("parts", parts[4:], (6, 2), "4,2:0,2")]
    write_checkpoint(prefix, entries)
    return Path(prefix + ".safetensors")


def same(read: Any, value: Any) -> bool:
    return read.dtype == value.dtype and read.shape == value.shape and read.tolist() == value.tolist()


def read_all(path: Path) -> dict[str, Any]:
    file = CheckpointFile(str(path))
    file.verify()
    names = file.names()
    return dict(zip(names, file.read([(name, None) for name in names]), strict=True))


# ---- damaged and hostile files --------------------------------------------------------------------------------------


def header_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def sealed(header: Any, data: bytes, length: int | None = None, text: bytes | None = None) -> bytes:
    """A file with this header and a header checksum that holds, as an attacker would write it."""
    if text is None:
        header["__metadata__"]["header_checksum"] = "0" * 32
        text = json.dumps(header, separators=(",", ":")).encode()
    size = struct.pack("<Q", len(text) if length is None else length)
    checksum = xxhash.xxh3_128_hexdigest(size + text).encode()
    return size + text.replace(b"0" * 32, checksum, 1) + data


Edit = Callable[[dict[str, Any], list[Any], np.random.Generator], None]
NUMBERS = (-1, 0, 1, 7, 2**31, 2**62, 2**63, 2**64, 10**30, 1.5, True, None, "3", [], {})


def edit_record(field: str) -> Edit:
    def edit(header: dict[str, Any], records: list[Any], random: np.random.Generator) -> None:
        record = records[random.integers(len(records))]
        others = (
            [r[field] for r in records]
            + list(NUMBERS)
            + ["__metadata__", "float8", "0,99:0,2", "-:-", "9" * 30]
        )
        record[field] = others[random.integers(len(others))]

    return edit


def edit_entry(field: str) -> Edit:
    def edit(header: dict[str, Any], records: list[Any], random: np.random.Generator) -> None:
        keys = [key for key in header if key != "__metadata__"]
        entry = header[keys[random.integers(len(keys))]]
        number = NUMBERS[random.integers(len(NUMBERS))]
        choices = [
            [number, number],
            [0, number],
            [number],
            [number] * 40,
            number,
            "F64",
            "U8",
            [entry[field]],
        ]
        entry[field] = choices[random.integers(len(choices))]

    return edit


def edit_metadata(header: dict[str, Any], records: list[Any], random: np.random.Generator) -> None:
    metadata = header["__metadata__"]
    key = ("count", "format", "format_version", "tensors")[random.integers(4)]
    values = ["", "0", "99", "2", "[" * 100_000, "[]", "{}", "null", *NUMBERS]
    metadata[key] = values[random.integers(len(values))]
    records.clear()


def swap(header: dict[str, Any], records: list[Any], random: np.random.Generator) -> None:
    """Gives two tensors each other's names, checksums or places."""
    one, other = random.choice(len(records), 2, replace=False)
    field = ("key", "name", "checksum", "dtype", "shape", "slice")[random.integers(6)]
    records[one][field], records[other][field] = records[other][field], records[one][field]


def drop(header: dict[str, Any], records: list[Any], random: np.random.Generator) -> None:
    del records[random.integers(len(records))]


def repeat(header: dict[str, Any], records: list[Any], random: np.random.Generator) -> None:
    records.append(dict(records[random.integers(len(records))]))


EDITS: list[Edit] = [
    *(edit_record(field) for field in ("key", "name", "dtype", "shape", "slice", "checksum")),
    *(edit_entry(field) for field in ("dtype", "shape", "data_offsets")),
    edit_metadata, swap, drop, repeat,
]  # fmt: skip


def with_edit(data: bytes, random: np.random.Generator) -> bytes:
    header, tensors = header_of(data)
    records = json.loads(header["__metadata__"]["tensors"])
    EDITS[random.integers(len(EDITS))](header, records, random)
    if records:
        header["__metadata__"]["tensors"] = json.dumps(records)
    return sealed(header, tensors)


def flipped(data: bytes, random: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for place in random.integers(len(data), size=random.integers(1, 4)):
        changed[place] ^= 1 << int(random.integers(8))
    return bytes(changed)


def cut(data: bytes, random: np.random.Generator) -> bytes:
    return data[: random.integers(len(data))]


def inserted(data: bytes, random: np.random.Generator) -> bytes:
    place = int(random.integers(len(data) + 1))
    return data[:place] + random.bytes(int(random.integers(1, 40))) + data[place:]


def lengthened(data: bytes, random: np.random.Generator) -> bytes:
    lengths = (0, 1, 2**31, 2**63, 2**64 - 1, len(data), len(data) - 8, int(random.integers(1 << 20)))
    _, tensors = header_of(data)
    text = data[8 : len(data) - len(tensors)]
    return struct.pack("<Q", lengths[random.integers(len(lengths))]) + text + tensors


def retyped(data: bytes, random: np.random.Generator) -> bytes:
    """A byte of the header changed to another character, under a checksum that holds."""
    _, tensors = header_of(data)
    text = bytearray(data[8 : len(data) - len(tensors)])
    digits = text.index(b'"header_checksum":"') + len(b'"header_checksum":"')
    text[digits : digits + 32] = b"0" * 32
    text[random.integers(digits + 33, len(text))] = random.choice(list(b'{}[]":,0919-eE.\\ "xn'))
    return sealed(None, tensors, text=bytes(text))


MUTATIONS = (flipped, cut, inserted, lengthened, retyped, with_edit, with_edit)


def test_promise_13_mutated_files_raise_or_give_the_right_values(tmp_path: Path, everything: bool) -> None:
    original = write(str(tmp_path / "m")).read_bytes()
    random = np.random.default_rng(13)
    path = tmp_path / "mutated.safetensors"
    refused = 0
    for number in range(20_000 if everything else 2_000):
        mutation = MUTATIONS[number % len(MUTATIONS)]
        data = mutation(original, random)
        path.write_bytes(data)
        try:
            values = read_all(path)
        except (gf.errors.OpError, ValueError):
            refused += 1
            continue
        wrong = [n for n, v in values.items() if n not in VALUES or not same(v, VALUES[n])]
        assert not wrong, f"mutation {number} ({mutation.__name__}) changed {wrong}"
        assert set(values) <= set(VALUES)
    assert refused > 1_500


def test_headers_that_nest_or_repeat_are_refused(tmp_path: Path) -> None:
    original = write(str(tmp_path / "m")).read_bytes()
    path = tmp_path / "hostile.safetensors"
    start = b'{"__metadata__":{"header_checksum":"' + b"0" * 32 + b'"'
    for text in (
        start + b',"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}}",
        start + b',"header_checksum":"again"}}',
        start + b"}}",
        start + b'},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{}}',
        start + b"\xff\xff}}",
    ):
        path.write_bytes(sealed(None, b"", text=text))
        with pytest.raises(gf.errors.DataLossError):
            CheckpointFile(str(path))
    header, tensors = header_of(original)
    header["__metadata__"]["format_version"] = "2"
    path.write_bytes(sealed(header, tensors))
    with pytest.raises(gf.errors.DataLossError, match="version '2'; this graphflow reads"):
        CheckpointFile(str(path))


def test_slices_that_overlap_and_odd_truth_values_are_refused(tmp_path: Path) -> None:
    value = np.zeros((3, 2))
    with pytest.raises(gf.errors.InvalidArgumentError, match="overlap"):
        write_checkpoint(
            str(tmp_path / "m"), [Entry("p", value, (5, 2), "0,3:0,2"), Entry("p", value, (5, 2), "2,3:0,2")]
        )
    with pytest.raises(gf.errors.InvalidArgumentError, match="Two tensors to save have the name 'p'"):
        write_checkpoint(str(tmp_path / "m"), [Entry("p", value), Entry("p", value)])
    assert os.listdir(tmp_path) == []
    odd = np.array([0, 2], np.uint8).view(np.bool_)
    write_checkpoint(str(tmp_path / "m"), [Entry("odd", odd)])
    with pytest.raises(gf.errors.DataLossError, match="other values than 0 and 1"):
        read_all(tmp_path / "m.safetensors")


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.safetensors")
    (tmp_path / "empty.safetensors").write_bytes(b"")
    os.mkdir(tmp_path / "folder.safetensors")
    os.symlink("loop.safetensors", tmp_path / "loop.safetensors")
    os.symlink("/dev/zero", tmp_path / "zero.safetensors")
    for name in ("fifo", "empty", "folder", "loop", "zero", "none", "a\0b"):
        with pytest.raises(gf.errors.OpError):
            gf.train.NewCheckpointReader(str(tmp_path / name))


def test_the_state_of_resources_is_checked_like_a_file() -> None:
    states = {"queue": {"rows": np.arange(4), "texts": TEXTS}, "nothing": {}}
    packed = pack_state(states, "program")
    whose, found = unpack_state(packed)
    assert whose == "program"
    assert set(found) == {"queue", "nothing"} and found["queue"]["texts"].tolist() == TEXTS.tolist()
    random = np.random.default_rng(1)
    for _ in range(50):
        with pytest.raises(gf.errors.DataLossError):
            unpack_state(np.frombuffer(flipped(packed.tobytes(), random), np.uint8))


# ---- the `checkpoint` file ------------------------------------------------------------------------------------------


def test_the_state_file_is_read_as_text_protobuf_is() -> None:
    state = CheckpointState('odd "name"\n\\ä', ["a", "b"], [1.5, 2e9], 3.25)
    assert parse_state(str(state).encode()) == state
    text = b"""# a comment
        model_checkpoint_path : 'x' "y" ; all_model_checkpoint_paths: ["p", "q\\x41\\101"], # another
        all_model_checkpoint_timestamps: 3 all_model_checkpoint_timestamps: -1.5e3"""
    assert parse_state(text) == CheckpointState("xy", ["p", "qAA"], [3.0, -1500.0])


def test_hostile_state_files_are_passed_over(tmp_path: Path, everything: bool, caplog: Any) -> None:
    good = str(tmp_path / "m-1")
    write(good)
    random = np.random.default_rng(5)
    state = str(CheckpointState(good, [str(tmp_path / "m-0"), good], [1.0, 2.0])).encode()
    tricks = [
        b"", b"\0", b"model_checkpoint_path", b"model_checkpoint_path: 3", b'model_checkpoint_path: "a\\000b"',
        b'model_checkpoint_path: "\\q"', b'model_checkpoint_path: "\\777"', b"{" * 100_000, b'"' * 9999,
        b'model_checkpoint_path: "/dev/zero"', b'model_checkpoint_path: "../../../../etc/passwd"', b"\xff\xfe",
        b'model_checkpoint_path: "' + b"a" * 100_000 + b'"', b'model_checkpoint_path: ["m-1"',
        b'model_checkpoint_path: "$(touch x)"', b'unknown: "m-1"', b"[" * 5000, b'model_checkpoint_path: ""',
        b'model_checkpoint_path: "m-1" all_model_checkpoint_timestamps: ' + b"9" * 5000,
    ]  # fmt: skip
    mutated = [MUTATIONS[i % 3](state, random) for i in range(450 if everything else 45)]
    for data in [*tricks, *mutated]:
        (tmp_path / "checkpoint").write_bytes(data)
        found = gf.train.latest_checkpoint(str(tmp_path))
        assert found is not None and os.path.abspath(found) == good, data[:100]
    (tmp_path / "checkpoint").unlink()
    os.mkfifo(tmp_path / "checkpoint")
    assert gf.train.latest_checkpoint(str(tmp_path)) == good


def test_promise_13_the_latest_checkpoint_is_the_newest_whole_one(tmp_path: Path, caplog: Any) -> None:
    paths = []
    for number in range(5):
        paths.append(write(str(tmp_path / f"m-{number}")))
        os.utime(paths[-1], (number, number))
    gf.train.update_checkpoint_state(
        str(tmp_path), str(tmp_path / "m-4"), [str(tmp_path / f"m-{i}") for i in (2, 3, 4)]
    )

    def latest() -> str:
        return os.path.basename(gf.train.latest_checkpoint(str(tmp_path)) or "")

    assert latest() == "m-4"
    data = bytearray(paths[4].read_bytes())
    data[-200] ^= 4
    paths[4].write_bytes(data)
    paths[3].write_bytes(paths[3].read_bytes()[:-1])
    with caplog.at_level(logging.WARNING):
        assert latest() == "m-2"
    told = caplog.text
    assert (
        "m-4" in told
        and "expected checksum" in told
        and "m-3" in told
        and "is not a whole checkpoint" in told
    )
    paths[2].unlink()
    assert latest() == "m-1"  # Not in the `checkpoint` file, but in the folder.
    (tmp_path / "checkpoint").write_text("torn")
    assert latest() == "m-1"
    for path in paths[:2]:
        path.write_bytes(b"")
    assert gf.train.latest_checkpoint(str(tmp_path)) is None


# ---- saves that are cut short ---------------------------------------------------------------------------------------

SAVING = """
import sys
import numpy as np
import graphflow as gf
step = gf.Variable(0, name="step")
vectors = [gf.Variable(gf.zeros([n]), name=f"v{n}") for n in (10, 300_000, 5)]
more = gf.group(step.assign_add(1), *[v.assign_add(gf.ones(v.shape)) for v in vectors])
saver = gf.train.Saver(max_to_keep=2)
with gf.Session() as session:
    latest = gf.train.latest_checkpoint(sys.argv[1])
    if latest:
        saver.restore(session, latest)
    else:
        session.run(gf.global_variables_initializer())
    while True:
        session.run(more)
        saver.save(session, sys.argv[1] + "/m", global_step=step, write_meta_graph=False)
        print("saved", session.run(step), flush=True)
"""


@pytest.mark.parametrize("form", ["safetensors", "tensorflow"])
@pytest.mark.parametrize("number", range(4))
def test_promise_13_a_killed_save_loses_only_itself(tmp_path: Path, number: int, form: str) -> None:
    """Each of the four kills a process five times, after its first save; the next one goes on from what is left."""
    random = np.random.default_rng(number)
    least = 0
    for _ in range(5):
        command = [sys.executable, "-c", SAVING, str(tmp_path)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=Path(gf.__file__).parents[1],
            env=os.environ | {"GRAPHFLOW_CHECKPOINTS": form},
        )  # fmt: skip
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("saved")
        time.sleep(random.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        told = int((first + rest).rsplit("saved ", 1)[1].split()[0])
        assert told > least
        latest = gf.train.latest_checkpoint(str(tmp_path))
        assert latest is not None
        reader = gf.train.NewCheckpointReader(latest)
        least = int(reader.get_tensor("step"))
        assert least >= told, "a save that was reported is gone"
        for name in ("v10", "v300000", "v5"):
            assert (reader.get_tensor(name) == least).all()
    write_checkpoint(str(tmp_path / "m-99"), [Entry("step", np.array(1))])
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".m~")]


def test_a_temporary_file_is_removed_only_when_its_writer_is_gone(tmp_path: Path) -> None:
    assert family("model.ckpt-12.safetensors") == "model.ckpt" and family("checkpoint") == "checkpoint"
    stale = tmp_path / f".m~{'0' * 16}.tmp"
    stale.write_bytes(b"left by a process that was killed")
    other = tmp_path / f".n~{'0' * 16}.tmp"
    other.write_bytes(b"of another saver")
    with atomic_file(str(tmp_path / "m-1.safetensors")) as first:
        os.write(first, b"first")
        with atomic_file(str(tmp_path / "m-2.safetensors")) as second:
            os.write(second, b"second")
    assert sorted(os.listdir(tmp_path)) == [other.name, "m-1.safetensors", "m-2.safetensors"]
    assert (tmp_path / "m-1.safetensors").read_bytes() == b"first"


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    saver_of = gf.train.Saver
    with gf.Graph().as_default(), gf.Session() as session:
        size = gf.placeholder(gf.int32, [])
        w = gf.Variable(gf.zeros([10]), name="w", validate_shape=False)
        saver = saver_of([w])
        session.run(w.initializer)
        saver.save(session, prefix, write_meta_graph=False)
        session.run(gf.assign(w, gf.ones([size]), validate_shape=False), {size: 1 << 20})
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
        try:
            with pytest.raises(
                gf.errors.ResourceExhaustedError, match=r"Cannot write .*/m\.safetensors: File too large"
            ):
                saver.save(session, prefix, write_meta_graph=False)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "m.safetensors"]
    assert gf.train.load_variable(prefix, "w").tolist() == [0.0] * 10
