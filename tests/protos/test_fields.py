"""Protects messages built from their fields: they read and write the very bytes that TensorFlow's do."""

from __future__ import annotations

import pytest

from graphflow import protos
from graphflow.protos.fields import messages

MADE = messages(
    "for_a_test",
    {
        "enum Kind": ("PLAIN = 0", "SPECIAL = 7"),
        "Outer": (
            "Kind kind = 1",
            "repeated int64 sizes = 2",
            "map<string, Outer.Inner> by_name = 3",
            "oneof content string text = 4",
            "oneof content TensorShapeProto shape = 5",
        ),
        "Outer.Inner": ("bytes data = 1",),
    },
    imports=(protos.tensor_shape_pb2,),
)


def test_every_kind_of_field_survives_a_round_trip() -> None:
    made = MADE["Outer"](kind=MADE["SPECIAL"], sizes=[1, -2, 3])
    made.by_name["a"].data = b"\0\1"
    made.shape.dim.add(size=5)
    copy = MADE["Outer"].FromString(made.SerializeToString())
    assert copy == made and copy.by_name["a"].data == b"\0\1" and copy.shape.dim[0].size == 5
    copy.text = "instead"
    assert copy.WhichOneof("content") == "text" and MADE["Kind"].Name(copy.kind) == "SPECIAL"


def test_the_bytes_are_those_of_the_wire_format() -> None:
    assert (
        MADE["Outer"](kind=7, sizes=[1, 300], text="hi").SerializeToString()
        == b"\x08\x07\x12\x03\x01\xac\x02\x22\x02hi"
    )


def test_a_field_that_cannot_be_read_is_told() -> None:
    with pytest.raises(ValueError, match="'int64 size' is not written"):
        messages("unwritten", {"M": ("int64 size",)})


def test_saved_model_has_the_numbers_of_tensorflow() -> None:
    model = protos.saved_model_pb2.SavedModel(saved_model_schema_version=1)
    model.meta_graphs.add().meta_info_def.tags.append("serve")
    assert model.SerializeToString() == b"\x08\x01\x12\x09\x0a\x07\x22\x05serve"
    assert protos.saved_model_pb2.SavedModel is protos.saved_model_pb2.SavedModel
