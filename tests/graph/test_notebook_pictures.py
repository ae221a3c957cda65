"""Protects what notebooks show of graphs and of what is in them: whole, small, escaped, and with nothing computed."""

from __future__ import annotations

import time
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.common.shown.graphs import facts_html, graph_html
from tests.checked_page import HOSTILE, Checked


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def test_a_graph_shows_scopes_that_open_devices_and_arrows(graph: gf.Graph) -> None:
    x = gf.placeholder(gf.float32, [None, 4], name="x")
    with gf.device("/cpu:1"), gf.name_scope("tower"), gf.name_scope("inner"):
        y = gf.tanh(x, name="y")
    gf.reduce_sum(y, name="loss")
    checked = Checked(graph._repr_html_())
    assert checked.counts["details"] == 2, "tower and inner; x and loss are no scopes"
    assert checked.counts["path"] == 3 and "x to tower: 1 tensor" in checked.titles
    assert "y = Tanh(x:0)" in checked.text and "float32(?, 4)" in checked.text
    assert "/device:CPU:1" in checked.text and "1 operation" in checked.text


def test_an_empty_graph_and_one_with_loops_are_shown(graph: gf.Graph) -> None:
    assert "0 operations" in Checked(graph._repr_html_()).text
    gf.while_loop(lambda i: i < 3, lambda i: i + 1, [gf.constant(0)])
    assert "while" in Checked(graph._repr_html_()).text


def test_a_large_or_deep_graph_is_cut(graph: gf.Graph) -> None:
    value = gf.constant(1.0)
    for k in range(3000):
        with gf.name_scope(f"scope{k % 1500}"):
            value = gf.negative(value)
    with gf.name_scope("/".join("deep" for _ in range(2000))):
        gf.negative(value)
    shown = graph._repr_html_()
    assert len(shown) < 400_000 and "3002 operations" in Checked(shown).text


def test_what_is_in_a_graph_is_a_small_box() -> None:
    x = gf.placeholder(gf.float32, [None, 4], name="x")
    v = gf.get_variable("v", [4])
    layer = gf.layers.Dense(3, name="dense")
    layer(x)
    data = gf.data.Dataset.range(3).map(lambda i: {"i": i})
    with gf.Session() as session:
        for shown, words in (
            (x, ["Tensor x:0", "float32", "(?, 4)", "Placeholder", "test_notebook_pictures.py"]),
            (v, ["Variable v:0", "float32", "(4,)"]),
            (layer, ["Layer dense (Dense)", "dense/kernel:0", "(4, 3)"]),
            (data, ["Dataset", "int64", "MapDataset"]),
            (session, ["Session", "open", "this process", "auto"]),
        ):
            text = Checked(shown._repr_html_()).text
            assert all(word in text for word in words), (text, words)
            assert len(shown._repr_html_()) < 4000
    assert "closed" in Checked(session._repr_html_()).text


def test_names_are_text_whatever_they_are() -> None:
    class Named:
        name = device = type = HOSTILE
        inputs = outputs = ()

    assert "<script>" in Checked(graph_html([Named(), Named()])).text
    assert "<script>" in Checked(facts_html(HOSTILE, [(HOSTILE, HOSTILE)])).text


def test_showing_computes_nothing_and_adds_nothing(graph: gf.Graph) -> None:
    called = []
    data = gf.data.Dataset.range(3).map(lambda i: gf.py_func(called.append, [i], gf.int64))
    v = gf.Variable(gf.py_func(called.append, [1.0], gf.float32), expected_shape=None, validate_shape=False)
    before = len(graph.get_operations())
    with gf.Session() as session:
        for one in (graph, session, v, v.initial_value, data):
            began = time.perf_counter()
            Checked(one._repr_html_())
            assert time.perf_counter() - began < 20
    assert not called and len(graph.get_operations()) == before
