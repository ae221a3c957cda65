"""Protects the terminal of whoever looks at what others have made: nothing that is printed steers it."""

from __future__ import annotations

import io
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import protos
from graphflow._core.checkpoint import bundle_writer
from graphflow._core.checkpoint.opening import open_checkpoint
from graphflow._core.common.printable import printable, printable_lines
from graphflow._core.common.standard_error import SERVER_LINE
from graphflow.cli import status
from graphflow.cli.main import main

EVIL = "w\x1b]0;owned\x07\x1b[2J\x1b[8m\x9b31m\r\b\u202eno\u2066\x00\x7f\nEvery checksum holds (9 of 9)."
OBEYED = {chr(n) for n in (*range(32), *range(127, 160))} - {"\n"} | {"\u202e", "\u2066", "\u2028"}


def harmless(text: str, marker: str = "owned") -> None:
    """No character that a terminal obeys, no line that a name has begun, and the name is there."""
    assert not OBEYED & set(text), repr(text)
    assert not [line for line in text.splitlines() if line.startswith("Every checksum holds (9")]
    assert marker in text and "\\x1b" in text


def test_what_cannot_be_printed_is_escaped_and_all_else_stays() -> None:
    for text in ("", "dense/kernel:0", "größe", "重み", "a b", "\\n", "😀"):
        assert printable(text) is text
    assert printable("a\x1b[0m\n\x9b\u202e") == "a\\x1b[0m\\n\\x9b\\u202e"
    assert printable("\ud800") == "\\ud800"  # half a character, as a name of bytes may have
    assert printable_lines("a\n\tb\r\x1b") == "a\n\tb\\r\\x1b"
    every = "".join(map(chr, range(0x3000)))
    assert printable(every).isprintable() and printable(printable(every)) == printable(every)


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    with gf.Graph().as_default(), gf.Session() as session:
        gf.Variable(np.zeros([4], np.float32), name="w")
        session.run(gf.global_variables_initializer())
        return gf.train.Saver().save(session, str(tmp_path / "model"))


@pytest.fixture
def evil_bundle(prefix: str, tmp_path: Path) -> str:
    """A checkpoint of TensorFlow's with a name that no graph has."""
    from graphflow._core.checkpoint import bundle
    from graphflow._core.checkpoint.reader import mapped

    path = str(tmp_path / "bundle")
    bundle_writer.write_bundle(path, open_checkpoint(prefix))
    entries = {key: bytes(value) for key, value in bundle.read_table(mapped(path + ".index"))}
    entries[EVIL.encode()] = entries.pop(b"w")
    Path(path + ".index").write_bytes(bundle_writer.table_of(sorted(entries.items())))
    return path


@pytest.mark.parametrize("more", [[], ["--quick"], ["--values", EVIL], ["--values", "\x1bmissing"]])
def test_graphflow_checkpoint_show(evil_bundle: str, more: list[str], capsys: Any) -> None:
    main(["checkpoint", "show", evil_bundle, *more])
    out, err = capsys.readouterr()
    harmless(out + err)


def test_graphflow_checkpoint_show_of_a_damaged_one(evil_bundle: str, capsys: Any) -> None:
    data = Path(evil_bundle + ".data-00000-of-00001")
    data.write_bytes(b"\1" + data.read_bytes()[1:])
    assert main(["checkpoint", "show", evil_bundle, "--values", EVIL]) == 1
    out, err = capsys.readouterr()
    harmless(out + err)
    assert "DAMAGED" in out


def test_a_name_of_an_error_that_a_program_prints(evil_bundle: str) -> None:
    file = open_checkpoint(evil_bundle)
    for ask in (["x"], [EVIL + "x"]):
        with pytest.raises(gf.errors.NotFoundError) as caught:
            file.missing(ask)
        assert not OBEYED & set(str(caught.value))
    error = gf.errors.AbortedError(None, None, f"the peer says {EVIL}")
    assert not OBEYED & set(str(error)) and EVIL in error.message


def test_graphflow_saved_model_show_and_run(tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "model"
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [], name="x")
        v = gf.Variable(1.0, name="v")
        session.run(v.initializer)
        gf.saved_model.simple_save(session, str(folder), {"x": x}, {"y": x * v})
    path = folder / "saved_model.pb"
    model = protos.saved_model_pb2.SavedModel.FromString(path.read_bytes())
    model.DiscardUnknownFields()  # Its checksum: it is changed on purpose.
    graph = model.meta_graphs[0]
    graph.meta_info_def.tags.append(EVIL)
    graph.meta_info_def.tensorflow_version = EVIL
    graph.meta_info_def.tensorflow_git_version = ""
    graph.signature_def[EVIL].CopyFrom(graph.signature_def["serving_default"])
    graph.signature_def[EVIL].method_name = EVIL
    graph.signature_def[EVIL].inputs[EVIL].name = EVIL
    graph.collection_def[EVIL].node_list.value.append("x")
    path.write_bytes(model.SerializeToString())
    for arguments in (
        ["show", str(folder), "--all"],
        ["show", str(folder), "--signature", "none"],
        ["show", str(folder), "--tag-set", "none"],
        ["run", str(folder), "--signature", EVIL, "--input-exprs", "x=1.0"],
        ["run", str(folder), "--input-exprs", f"{EVIL}=1.0"],
    ):
        main(["saved-model", *arguments])
        out, err = capsys.readouterr()
        assert out + err
        harmless(out + err)


def test_graphflow_status_of_tasks_that_lie() -> None:
    task = {
        "task": f"/job:{EVIL}/replica:0/task:0",
        "address": EVIL,
        "state": EVIL,
        "pid": EVIL,
        "uptime_seconds": 1.0,
        "sessions": [{"session": EVIL, "threads": EVIL, "heard_seconds_ago": 0.0}],
        "steps": {"taken_part_in": 1, "per_second": 1.0},
        "traffic": {f"{what}_{way}": 1 for what in ("bytes", "messages") for way in ("in", "out")},
        "variables": [{"name": EVIL, "dtype": EVIL, "shape": [1, EVIL], "bytes": n} for n in (1, 2)],
        "resources": {f"/{EVIL}": "FIFOQueue"},
    }
    harmless(status.shown([task, task]))
    lost = {"task": f"/job:{EVIL}", "address": EVIL, "state": "unreachable"}
    harmless(status.shown([lost]))


def test_every_command_prints_through_one_function() -> None:
    """So that a new command cannot forget it."""
    folder = Path(status.__file__).parent
    told = [
        f"{path.name}:{number}: {line.strip()}"
        for path in folder.glob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "print(" in line or "stdout.write(" in line or "stderr.write(" in line
    ]
    # A line is cleared, or a number of percent is shown: no text of others.
    assert all(any(word in line for word in ("clear)", "checking {done", "x1b[K")) for line in told), told


def test_a_line_of_a_servers_log_is_harmless() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(SERVER_LINE)
    logger = logging.Logger("test")
    logger.addHandler(handler)
    try:
        raise ValueError(EVIL)
    except ValueError:
        logger.warning("session %s", EVIL, exc_info=sys.exc_info())
    assert not OBEYED & set(stream.getvalue()) and "Traceback" in stream.getvalue()
