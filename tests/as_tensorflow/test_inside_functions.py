"""Protects functions of TensorFlow's inside, and of its structures and summaries, by which programs build graphs.

What they give is what TensorFlow 1.15.5 gave for the same calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import graphflow as gf
from graphflow import nest
from graphflow.as_tensorflow.age import ArgSpec
from graphflow.as_tensorflow.finder import member

OPS = "tensorflow.python.framework.ops"
CELLS = "tensorflow.python.ops.rnn_cell_impl"


def test_scopes_are_taken_from_names_and_put_before_them() -> None:
    strip, prepend = member(OPS, "strip_name_scope"), member(OPS, "prepend_name_scope")
    stripped = [
        strip(*pair)
        for pair in (("a/b", "a"), ("^a/b", "a/"), ("loc:@a/b", "a"), ("x/a/b", "a"), ("a", None))
    ]
    assert stripped == ["b", "^b", "loc:@b", "x/a/b", "a"]
    assert [prepend(*pair) for pair in (("b", "a"), ("^b", "a/"), ("loc:@b", "a"))] == [
        "a/b",
        "^a/b",
        "loc:@a/b",
    ]
    uid = member(OPS, "uid")
    assert uid() < uid()


def test_lengths_behind_windows() -> None:
    length = member("tensorflow.python.layers.utils", "conv_output_length")
    cases = (
        (10, 3, "same", 2),
        (10, 3, "valid", 2),
        (10, 3, "full", 2),
        (None, 3, "same", 1),
        (10, 3, "valid", 1, 2),
    )
    assert [length(*case) for case in cases] == [5, 4, 6, None, 6]


def test_shapes_are_put_together() -> None:
    join = member(CELLS, "_concat")
    x, y = gf.placeholder(gf.int32, []), gf.placeholder(gf.int32, [2])
    assert join(3, 4, static=True) == [3, 4] and join(x, 4, static=True) is None
    assert join(gf.TensorShape([2, None]), 5, static=True) == [2, None, 5]
    assert join(gf.constant(2), 5, static=True) == [2, 5] and join(y, [4], static=True) is None
    assert join(gf.TensorShape(None), 5, static=True) is None
    with gf.Session() as session:
        found = session.run([join(3, 4), join(x, 4), join(y, [4, 5])], {x: 1, y: [2, 3]})
    assert [one.tolist() for one in found] == [[3, 4], [1, 4], [2, 3, 4, 5]]
    with pytest.raises(ValueError, match="prefix tensor must be either a scalar or vector"):
        join(gf.zeros([1, 1]), 2)
    with pytest.raises(ValueError, match="None"):
        join(gf.TensorShape([None]), 2)


def test_confusions_are_summed() -> None:
    streaming = member("tensorflow.python.ops.metrics_impl", "_streaming_confusion_matrix")
    total, update = streaming([0, 1, 1], [1, 1, 1], 2, weights=gf.constant([1.0, 2.0, 3.0]))
    with gf.Session() as session:
        session.run(gf.local_variables_initializer())
        assert session.run(update).tolist() == session.run(total).tolist() == [[0.0, 1.0], [0.0, 5.0]]


def test_tensors_are_made_of_the_hinted_type() -> None:
    convert = member(OPS, "convert_to_tensor_v2")
    assert convert([1, 2], dtype_hint=gf.float32).dtype is gf.float32
    assert convert([1, 2], dtype=gf.int64).dtype is gf.int64
    assert convert("a", dtype_hint=gf.float32).dtype is gf.string


def test_arguments_of_a_function() -> None:
    spec = member("tensorflow.python.util.tf_inspect", "getargspec")

    def function(a: Any, b: int = 1, *c: Any, d: int = 2, **e: Any) -> None: ...

    assert spec(function) == ArgSpec(["a", "b"], "c", "e", (1,))


def test_functions_for_messages_are_registered() -> None:
    register = member(OPS, "register_proto_function")
    register("mine", proto_type=int, to_proto=str, from_proto=int)
    with pytest.raises(TypeError, match="to_proto must be callable"):
        register("mine", to_proto=3)


def test_structures_are_flattened_up_to_others() -> None:
    assert nest.flatten_up_to([[1, 2], 3], [[4, [5, 6]], (7, 8)]) == [4, [5, 6], (7, 8)]
    assert nest.flatten_up_to([1], (3,), check_types=False) == [3]
    found = nest.map_structure_up_to(
        {"a": 1, "b": (1, 2)},
        lambda *parts: sum(map(len, parts)),
        {"a": [1, 2], "b": ("xy", "z")},
        {"a": [1], "b": ("x", "")},
    )
    assert found == {"a": 3, "b": (3, 1)}
    assert nest.flatten_dict_items({(1, (2, "k")): (3, (4, "f")), "a": 1}) == {1: 3, 2: 4, "k": "f", "a": 1}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nest.flatten_up_to([1], 3), TypeError, "input must also be a sequence"),
        (lambda: nest.flatten_up_to([1], (3,)), TypeError, "don't have the same sequence type"),
        (lambda: nest.flatten_up_to([1, 2], [3]), ValueError, "don't have the same sequence length"),
        (lambda: nest.flatten_up_to({"a": 1}, {"b": 1}), ValueError, "not a subset of the input_tree's keys"),
        (lambda: nest.flatten_dict_items(3), TypeError, "input must be a dictionary"),  # type: ignore[arg-type]
        (lambda: nest.flatten_dict_items({(1, 2): 3}), ValueError, "Key had 2 elements, but value had 1"),
        (lambda: nest.flatten_dict_items({(1, 2): (3, 4), 1: 2}), ValueError, "not unique"),
        (lambda: nest.map_structure_up_to([1], lambda a: a), ValueError, "Cannot map over no sequences"),
    ],
)
def test_structures_that_do_not_fit_are_refused(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def test_outputs_of_layers_are_summarised() -> None:
    summaries = import_module("graphflow.contrib.layers.summaries")
    shown = member("tensorflow.contrib.layers.summaries", "summarize_tensor")
    assert shown is summaries.summarize_tensor is gf.contrib.layers.summarize_tensor
    w = gf.Variable([1.0, 2.0], name="w")
    bounded, scalar = gf.nn.relu6(w, name="r"), gf.constant(2.0, name="sc")
    gf.add_to_collection(gf.GraphKeys.ACTIVATIONS, bounded)
    made = [
        summaries.summarize_tensor(w),
        summaries.summarize_tensor(scalar),
        summaries.summarize_tensor(scalar, "tag"),
        summaries.summarize_activation(gf.nn.softplus(w, name="sp")),
        *gf.contrib.layers.summarize_activations(),
        *gf.contrib.layers.summarize_collection("variables", "w"),
        *gf.contrib.layers.summarize_tensors([scalar]),
    ]
    assert [one.op.name for one in made] == [
        "w_summary", "sc_summary", "tag", "sp/activation", "r/activation", "w_summary_1", "sc_summary_1",
    ]  # fmt: skip
    assert sorted(one.op.name for one in gf.get_collection(gf.GraphKeys.SUMMARIES)) == [
        "r/activation", "r/sixes", "r/zeros", "sc_summary", "sc_summary_1", "sp/activation", "sp/zeros", "tag",
        "w_summary", "w_summary_1",
    ]  # fmt: skip


def test_a_package_keeps_what_it_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("package", "Functions.\n\n@@shown\n@@missing\n")
    vars(package).update(shown=1, listed=2, hidden=3, _own=4)
    monkeypatch.setitem(sys.modules, "package", package)
    names = import_module("graphflow.as_tensorflow.inside.undocumented")
    assert member("tensorflow.python.util.all_util", "make_all")("package") == ["shown"]
    names.remove_undocumented("package", ["listed"])
    assert [name for name in dir(package) if not name.startswith("__")] == ["_own", "listed", "shown"]
    names.reveal_undocumented("package.hidden")
    assert vars(package)["hidden"] == 3
    with pytest.raises(LookupError, match="not a hidden symbol"):
        names.reveal_undocumented("package.nothing")
