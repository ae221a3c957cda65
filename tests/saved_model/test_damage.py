"""Protects against damaged and hostile saved_model.pb: an error that says so, or the right answer.

Half of the mutated files keep the checksum that finds any damage. The other half is what a hostile author would write,
without one: there any graph may come out, but never a crash, a hang, or an exception that is none of ours.
"""

from __future__ import annotations

import contextlib
import random
import time
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow import protos

sm = gf.saved_model
CHECKSUM = 13
"""Bytes of the field at the end of the file."""
REPLACED = (
    (b"float", b"int32"), (b"MatMul", b"ReadFi"), (b"Const", b"NoOp\0"), (b"main", b"path"), (b"x", b"y"),
    (b"_class", b"dtype\0"), (b"shape", b"value"), (b"T", b"N"), (b":0", b":1"),
)  # fmt: skip
"""Texts of a model and what stands in their place."""


def save(folder: Path) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        words = folder.with_suffix(".txt")
        words.write_text("words")
        path = gf.constant(str(words), name="path")
        gf.add_to_collection(gf.GraphKeys.ASSET_FILEPATHS, path)
        x = gf.placeholder(gf.float32, [None, 2], name="x")
        w = gf.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]])
        found = gf.Variable("", collections=[gf.GraphKeys.LOCAL_VARIABLES], name="found")
        hidden = gf.nn.relu(gf.matmul(x, w) + gf.constant([0.5, -0.5]))
        loop = gf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, h * 0.5), (gf.constant(0), hidden))
        y = gf.cond(gf.reduce_sum(x) > 0.0, lambda: loop[1], lambda: -loop[1], name="y")
        session.run(gf.global_variables_initializer())
        main_op = gf.group(found.assign(path), name="main")
        sm.simple_save(session, folder, {"x": x}, {"y": gf.identity(y, name="answer")}, main_op)


def answer(folder: Path) -> Any:
    with (
        gf.Graph().as_default(),
        gf.Session(config=gf.ConfigProto(operation_timeout_in_ms=60_000)) as session,
    ):
        signature = sm.load(session, ["serve"], folder).signature_def["serving_default"]
        x = sm.get_tensor_from_tensor_info(signature.inputs["x"])
        y = sm.get_tensor_from_tensor_info(signature.outputs["y"])
        return session.run(y, {x: [[1.0, 2.0]]}).tolist()


def mutated(data: bytes, generator: random.Random, other: bytes) -> bytes:
    """One to three changes: bits, bytes, sizes, texts; pieces lost, moved, doubled or taken from another file."""
    changed = bytearray(data)
    for _ in range(generator.choice((1, 1, 1, 2, 3))):
        place = generator.randrange(len(changed) + 1)
        length = generator.choice((1, 1, 2, 4, 8, 30, 200))
        piece = changed[place : place + length]
        kind = generator.randrange(7)
        if kind == 0 and place < len(changed):
            changed[place] ^= 1 << generator.randrange(8)
        elif kind == 1 and place < len(changed):
            changed[place] = generator.choice((0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)))
        elif kind == 2:
            del changed[place : place + length]
        elif kind == 3:
            changed[place:place] = generator.choice(
                (piece, other[place : place + length], b"\xff" * 9 + b"\x01")
            )
        elif kind == 4:
            target = generator.randrange(len(changed) + 1)
            changed[target : target + length] = piece
        elif kind == 5:
            del changed[place:]
        else:
            old, new = generator.choice(REPLACED)
            changed = changed.replace(old, new, generator.randrange(1, 4))
    return bytes(changed)


def changed_inside(data: bytes, generator: random.Random) -> bytes:
    """One to three fields of the message changed, so that it can still be read: what a hostile author would do."""
    model = protos.saved_model_pb2.SavedModel.FromString(data)
    for _ in range(generator.choice((1, 1, 2, 3))):
        message = generator.choice([model.meta_graphs[0], *model.meta_graphs[0].graph_def.node])
        while True:
            filled = message.ListFields()
            if not filled:
                break
            field, value = generator.choice(filled)
            if hasattr(value, "keys"):
                key = generator.choice(sorted(value))
                if generator.random() < 0.1:
                    del value[key]
                    break
                message = value[key]
                continue
            many = hasattr(value, "append")
            if many and generator.random() < 0.2:
                del value[generator.randrange(len(value))]
                break
            place = generator.randrange(len(value)) if many else 0
            item = value[place] if many else value
            if hasattr(item, "ListFields"):
                message = item
                continue
            new = changed_scalar(item, generator, model)
            with contextlib.suppress(ValueError):  # a number that the field cannot hold
                if many:
                    value[place] = new
                else:
                    setattr(message, field.name, new)
            break
    return bytes(model.SerializeToString())


def changed_scalar(value: Any, generator: random.Random, model: Any) -> Any:
    nodes = model.meta_graphs[0].graph_def.node
    other = generator.choice(nodes)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return generator.choice((0, 1, -1, 2, 3, 7, 9, 20, 2**31 - 1, -(2**31), 2**62, value + 1))
    if isinstance(value, float):
        return generator.choice((0.0, -1.0, float("nan"), float("inf"), value * 2))
    if isinstance(value, bytes):
        return generator.choice((b"", b"\xff" * 8, value[:-1], value + b"\0", other.name.encode(), value * 3))
    return generator.choice(
        (other.name, other.op, f"{other.name}:1", f"^{other.name}", "", "ReadFile", value + "0", "a" * 5000)
    )


def attempt(folder: Path, data: bytes) -> Any:
    """The answer, or None where the model was refused by one of the errors that a loader may raise."""
    (folder / "saved_model.pb").write_bytes(data)
    begun = time.monotonic()
    try:
        return answer(folder)
    except (ValueError, OSError, RuntimeError, gf.errors.OpError) as error:
        assert str(error) and not isinstance(error, gf.errors.InternalError | RecursionError), repr(error)
        return None
    except KeyError as error:  # raised by this test where the signature or a tensor is gone
        assert error.args
        return None
    finally:
        assert time.monotonic() - begun < 200


def test_mutated_models(tmp_path: Path, everything: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.chdir(
        tmp_path / "scratch"
    )  # where a model that was turned into one that saves puts its checkpoint
    save(tmp_path / "model")
    save(tmp_path / "other")
    whole, other = ((tmp_path / name / "saved_model.pb").read_bytes() for name in ("model", "other"))
    right = answer(tmp_path / "model")
    assert right == [[0.9375, 1.1875]]
    generator = random.Random(11)
    refused = 0
    for _ in range(1000 if everything else 40):
        given = attempt(tmp_path / "model", mutated(whole, generator, other))
        assert given in (None, right)
        refused += given is None
        attempt(tmp_path / "model", mutated(whole[:-CHECKSUM], generator, other))
        attempt(tmp_path / "model", changed_inside(whole[:-CHECKSUM], generator))
    assert refused


def test_messages_nested_too_deeply(tmp_path: Path) -> None:
    data = b""
    for _ in range(100_000):
        data = b"\x12" + bytes([len(data) % 128]) + data[:126]
    (tmp_path / "saved_model.pb").write_bytes(data)
    with pytest.raises((OSError, RuntimeError)):
        answer(tmp_path)


def test_a_graph_that_runs_python_is_refused(tmp_path: Path) -> None:
    """What a model holds is data: a py_func in it names a function of a program that is gone, and never runs."""
    model = protos.saved_model_pb2.SavedModel(saved_model_schema_version=1)
    meta_graph = model.meta_graphs.add()
    meta_graph.meta_info_def.tags.append("serve")
    node = meta_graph.graph_def.node.add(name="evil", op="PyFunc")
    node.attr["token"].s = b"pyfunc_0"
    node.attr["Tin"].list.SetInParent()
    node.attr["Tout"].list.type.append(1)
    meta_graph.collection_def["saved_model_main_op"].node_list.value.append("evil")
    (tmp_path / "saved_model.pb").write_bytes(model.SerializeToString())
    raised = pytest.raises((ValueError, gf.errors.OpError), match="PyFunc")
    with gf.Graph().as_default(), gf.Session() as session, raised:
        sm.load(session, ["serve"], tmp_path)
