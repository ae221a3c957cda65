"""Parts of graphs copied, and rerouted: names and results are what TensorFlow 1.15.5 gave."""

from __future__ import annotations

import pytest

import graphflow as gf

edit = gf.contrib.graph_editor


def _built() -> tuple[gf.Tensor, ...]:
    a = gf.constant(1.0, name="a")
    b = gf.constant(2.0, name="b")
    c = gf.add(a, b, name="c")
    return a, b, c, gf.square(c, name="d")


def test_copies_take_what_replaces_their_inputs() -> None:
    with gf.Graph().as_default() as graph, gf.Session() as session:
        a, _, c, d = _built()
        view, info = edit.copy_with_input_replacements([c.op, d.op], {a: gf.constant(5.0, name="n")})
        assert [op.name for op in view.ops] == ["c_1", "d_1"]
        assert info.transformed(d).name == "d_1:0" and info.original(info.transformed(c.op)) is c.op
        assert session.run([info.transformed(d), d]) == [49.0, 9.0]
        view, _ = edit.copy_with_input_replacements(edit.sgv([c.op, d.op]), {}, dst_scope="w")
        assert [op.name for op in view.ops] == ["w/c", "w/d"]
        view, _ = edit.copy([c.op, d.op], dst_scope="w")
        assert [op.name for op in view.ops] == ["w_1/c", "w_1/d"]
        other = gf.Graph()
        view, info = edit.copy([c.op, d.op], other, "q")
        assert [op.name for op in other.get_operations()] == ["q/geph__a_0", "q/geph__b_0", "q/c", "q/d"]
        assert [tensor.name for tensor in view.outputs] == ["q/d:0"] and view.graph is other
        assert info.transformed(a) is None
    with gf.Session(graph=other) as session:
        assert session.run("q/d:0", {"q/geph__a_0:0": 3.0, "q/geph__b_0:0": 4.0}) == 49.0
    assert graph.get_operation_by_name("w/c").control_inputs == []


def test_a_copy_waits_and_is_collected_as_what_it_copies() -> None:
    with gf.Graph().as_default() as graph:
        a, b, _, _ = _built()
        before = gf.no_op(name="before")
        with gf.control_dependencies([before, b]):
            late = gf.negative(a, name="late")
        gf.add_to_collection("own", late)
        gf.add_to_collection(gf.GraphKeys.LOSSES, late)
        _, info = edit.copy_with_input_replacements([b.op, late.op], {}, dst_scope="w")
        assert info.transformed(late.op).control_inputs == [before, info.transformed(b.op)]
        assert graph.get_collection("w/own") == [info.transformed(late)]
        assert graph.get_collection(gf.GraphKeys.LOSSES) == [late, info.transformed(late)]
        assert edit.ControlOutputs(graph).get(before) == [late.op, info.transformed(late.op)]


def test_targets_are_computed_from_others() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        a, b, c, d = _built()
        found = edit.graph_replace({"d": d, "lists": [c, a]}, {a: b}, dst_scope="z")
        assert found["d"].name == "z/d:0" and found["lists"][1] is a
        assert session.run(found["d"]) == 16.0 and session.run(found["lists"][0]) == 4.0
        with pytest.raises(ValueError, match="not connected"):
            edit.graph_replace(a, {d: b})
        branch = gf.cond(a > 0.0, lambda: a + b, lambda: b)
        with pytest.raises(ValueError, match="branch or a loop"):
            edit.graph_replace(branch, {b: c})


def test_inputs_are_rerouted_and_swapped() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        a, b, c, d = _built()
        assert session.run([c, d]) == [3.0, 9.0]
        late = gf.constant(10.0, name="late")
        assert edit.reroute_ts(late, a) == 1 and edit.reroute_ts(a, a) == 0
        assert session.run([c, d]) == [12.0, 144.0]
        e = gf.subtract(late, b)
        assert edit.swap_ts(late, b, can_modify=[e.op]) == 2
        assert session.run([e, c]) == [-8.0, 12.0]
        assert edit.reroute_ts([late], [b], cannot_modify=[c.op, e.op]) == 0
        with pytest.raises(ValueError, match="Dtypes"):
            edit.reroute_ts(gf.constant(1), b)
        with pytest.raises(ValueError, match="Shapes"):
            edit.reroute_ts(gf.constant([1.0, 2.0]), b)
        with pytest.raises(ValueError, match="different sizes"):
            edit.reroute_ts([a, b], [b])
        edit.reroute.add_control_inputs(d.op, [a.op, late.op])
        with pytest.raises(ValueError, match="already a control_input"):
            edit.add_control_inputs(d.op, a.op)
        edit.remove_control_inputs(d.op, a.op)
        assert d.op.control_inputs == [late.op]
        with pytest.raises(ValueError, match="is not a control_input"):
            edit.remove_control_inputs(d.op, a.op)
        assert session.run(d) == 144.0


def test_elements_are_selected() -> None:
    with gf.Graph().as_default() as graph:
        a, b, c, d = _built()
        assert edit.select_ops("^[ab]$", graph=graph) == [a.op, b.op]
        assert edit.select_ops(c.op, [d.op, c.op], d) == [c.op, d.op]
        assert edit.select_ts("(?#ts)^d:", d.op, c, graph=graph) == [d, c]
        assert edit.select_ops_and_ts("^a$", "(?#ts)^b", graph=graph) == ([a.op], [b])
        assert edit.sgv("^[cd]$", graph=graph).inputs == [a, b]
        with pytest.raises(ValueError, match="graph"):
            edit.select_ops("^a$")
        with pytest.raises(TypeError, match="pattern"):
            edit.select_ops([3])


def test_a_part_is_left_out_and_what_took_it_takes_its_inputs() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        a = gf.constant(1.0, name="a")
        b = gf.add(a, 2.0, name="b")
        d = gf.multiply(b, 3.0, name="d")
        view, placeholders = edit.bypass(edit.sgv(b.op).remap_inputs([0]))
        assert session.run(d) == 3.0
        assert [tensor.name for tensor in placeholders] == ["geph__a_0:0"] == [t.name for t in view.inputs]
        assert [tensor.name for tensor in d.op.inputs] == ["a:0", "d/y:0"]


def test_a_part_is_detached_on_both_sides() -> None:
    with gf.Graph().as_default() as graph:
        a = gf.constant(1.0, name="s/a")
        b = gf.add(a, 2.0, name="s/b")
        d = gf.multiply(b, 3.0, name="d")
        with gf.control_dependencies([b.op]):
            after = gf.no_op()
        waiting = edit.ControlOutputs(graph)
        view, inputs, outputs = edit.detach(edit.sgv(b.op), control_ios=waiting)
        assert [tensor.name for tensor in inputs] == ["s/geph__a_0:0", "s/b/geph__y_0:0"]
        assert [tensor.name for tensor in outputs] == ["s/geph__b_0:0"]
        assert [tensor.name for tensor in view.outputs] == ["s/b:0"]
        assert [tensor.name for tensor in d.op.inputs] == ["s/geph__b_0:0", "d/y:0"]
        assert list(b.op.inputs) == inputs and after.control_inputs == []
        with pytest.raises(ValueError, match="control_ios"):
            edit.detach(edit.sgv(b.op), True, control_ios=waiting)


def test_parts_are_connected_and_exchanged() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        a = gf.constant([1.0], name="a")
        b = gf.add(a, 2.0, name="b")
        d = gf.multiply(gf.placeholder(gf.float32, [1], name="p"), 3.0, name="d")
        giver, taker = edit.connect(edit.sgv(b.op), edit.sgv(d.op).remap_inputs([0]))
        assert session.run(d) == [9.0]
        assert [t.name for t in giver.outputs] == ["b:0"] == [t.name for t in taker.inputs]
        e = gf.placeholder(gf.float32, [1], name="e")
        f = gf.identity(e, name="f")
        edit.reroute_inputs([a], [e])
        assert f.op.inputs[0] is a
        edit.swap_outputs(edit.sgv(b.op), edit.sgv(f.op))
        assert d.op.inputs[0] is f
        edit.swap_inputs([a], [e])
        assert session.run(f, {e: [5.0]}) == [5.0]


def test_views_choose_their_inputs_and_outputs() -> None:
    with gf.Graph().as_default():
        a, b, c, d = _built()
        view = edit.sgv(c.op)
        assert view.remap_inputs([1]).inputs == [b] and view.remap([b, a]).inputs == [b, a]
        assert view.remap_outputs([0, 0]).outputs == [c, c]
        assert view.remap_outputs([0, 0]).remap_outputs_make_unique().outputs == [c]
        assert view.remap([1], []).remap_default().inputs == [a, b]
        assert view.remap_outputs_to_consumers().outputs == [c]
        assert view.input_index(b) == 1 and view.output_index(c) == 0
        assert view.connected_inputs == [a, b] and edit.sgv(d.op).connected_outputs == []
        through = edit.sgv([c.op, d.op, gf.constant(1.0)])
        assert len(through.passthroughs) == 1 and through.is_passthrough(through.passthroughs[0])
        for wrong in ([2], [0, 0], [d]):
            with pytest.raises(ValueError):
                view.remap_inputs(wrong)
        with pytest.raises(ValueError, match="not an output"):
            view.output_index(a)
