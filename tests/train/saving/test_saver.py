"""Protects Saver: what it saves, under which names, how it refuses, how it restores.

Names of ops and texts of errors are TensorFlow 1.15's where programs look at them. Promise 14 is here too: another
partitioning gets the same bits.
"""

from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

import graphflow as gf

DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "bool", "complex64", "complex128")  # fmt: skip


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def saved(path: Path, *variables: Any, **options: Any) -> str:
    """Initializes everything in a session and saves it."""
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        return str(
            gf.train.Saver(*variables, **options).save(session, str(path / "model"), write_meta_graph=False)
        )


def drawn(dtype: str, shape: tuple[int, ...]) -> Any:
    random = np.random.default_rng(7)
    return (
        (random.normal(size=shape) * 50).astype(dtype)
        if dtype != "complex64"
        else random.normal(size=shape).astype(dtype)
    )


# ---- what is saved --------------------------------------------------------------------------------------------------


def test_ops_are_named_as_in_tensorflow() -> None:
    gf.get_variable("w", initializer=[1.0, 2.0])
    gf.get_variable("p", shape=[4, 2], partitioner=gf.fixed_size_partitioner(2))
    saver = gf.train.Saver()
    names = {
        op.name: op.type for op in gf.get_default_graph().get_operations() if op.name.startswith("save/")
    }
    assert names["save/Const"] == names["save/filename"] == "PlaceholderWithDefault"
    assert names["save/SaveV2"] == "SaveV2" and names["save/RestoreV2"] == "RestoreV2"
    assert names["save/control_dependency"] == "Identity" and names["save/restore_all"] == "NoOp"
    assert {"save/Assign", "save/Assign_1", "save/Assign_2"} <= set(names)
    assert saver.saver_def.filename_tensor_name == "save/Const:0"
    assert saver.saver_def.save_tensor_name == "save/control_dependency:0"
    assert saver.saver_def.restore_op_name == "save/restore_all"
    op = gf.get_default_graph().get_operation_by_name("save/SaveV2")
    assert op.inputs[2].op.attrs["value"].tolist() == [b"4 2 0,2:0,2", b"4 2 2,2:0,2", b"", b""]


def test_every_dtype_and_shape_comes_back_bit_for_bit(tmp_path: Path) -> None:
    values = {f"{d}_{len(s)}_{s[:1]}": drawn(d, s) for d in DTYPES for s in ((), (3,), (2, 0), (2, 3, 5))}
    texts = np.empty((2, 2), object)
    texts[...] = [[b"", b"\xff\x00"], [b"abc" * 1000, b"z"]]
    variables = {n: gf.Variable(v, name="v", dtype=gf.as_dtype(v.dtype)) for n, v in values.items()}
    variables["texts"] = gf.Variable(texts)
    variables["one text"] = gf.Variable(b"word")
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        saver = gf.train.Saver(variables)
        prefix = saver.save(session, str(tmp_path / "model"), write_meta_graph=False)
    with gf.Session() as session:
        saver.restore(session, prefix)
        restored = {name: session.run(variable) for name, variable in variables.items()}
    for name, value in values.items():
        assert restored[name].dtype == value.dtype and restored[name].tobytes() == value.tobytes(), name
    assert restored["texts"].tolist() == texts.tolist() and restored["one text"] == b"word"
    reader = gf.train.NewCheckpointReader(prefix)
    assert reader.get_variable_to_dtype_map()["complex128_1_(3,)"] is gf.complex128
    assert reader.get_tensor("texts").tolist() == texts.tolist()


def test_the_safetensors_library_reads_it(tmp_path: Path) -> None:
    gf.get_variable("w", initializer=[[1.0, 2.0]])
    gf.get_variable("flag", initializer=True)
    gf.get_variable(
        "p", shape=[4, 2], partitioner=gf.fixed_size_partitioner(2), initializer=gf.ones_initializer()
    )
    prefix = saved(tmp_path)
    with safe_open(prefix + ".safetensors", "np") as file:
        assert {"w", "flag", "p[0,2:0,2]", "p[2,2:0,2]"} <= set(file.keys())
        np.testing.assert_array_equal(file.get_tensor("w"), [[1.0, 2.0]])
        assert file.metadata()["format"] == "graphflow.checkpoint"


def test_names_of_a_dictionary_and_of_lists(tmp_path: Path) -> None:
    w = gf.get_variable("w", initializer=[1.0, 2.0])
    p = gf.get_variable("p", shape=[5, 2], partitioner=gf.fixed_size_partitioner(2))
    gf.get_variable("other", initializer=0)
    prefix = saved(tmp_path, {"there": w, "whole": p})
    assert gf.train.list_variables(prefix) == [("there", [2]), ("whole", [5, 2])]
    prefix = saved(tmp_path, [w, p])
    assert gf.train.list_variables(prefix) == [("p", [5, 2]), ("w", [2])]
    prefix = saved(tmp_path, {"parts": list(p)})
    assert gf.train.list_variables(prefix) == [("parts", [5, 2])]
    prefix = saved(tmp_path, list(p)[1:])
    assert gf.train.list_variables(prefix) == [("p", [5, 2])]
    with pytest.raises(gf.errors.NotFoundError, match="only parts of 'p'"):
        gf.train.load_variable(prefix, "p")


def test_var_lists_that_cannot_be() -> None:
    w, v = gf.get_variable("w", initializer=1.0), gf.get_variable("v", initializer=1.0)
    with pytest.raises(ValueError, match="At least two variables have the same name: w"):
        gf.train.Saver([w, w])
    with pytest.raises(ValueError, match="The same saveable will be restored with two names"):
        gf.train.Saver({"a": w, "b": w})
    with pytest.raises(TypeError, match="saves variables"):
        gf.train.Saver([gf.constant(1)])
    with pytest.raises(TypeError, match="must map names to variables"):
        gf.train.Saver({"a": 3})
    with pytest.raises(ValueError, match="Slices must all be Slices"):
        gf.train.Saver({"a": [w, v]})
    with pytest.raises(ValueError, match="No variables to save"):
        gf.train.Saver([])
    with pytest.raises(ValueError, match="takes no builder"):
        gf.train.Saver(builder=object())
    with pytest.raises(ValueError, match="build cannot be deferred"):
        gf.train.Saver([w], defer_build=True)


def test_an_object_of_the_users_is_saved(tmp_path: Path) -> None:
    class Halved(gf.train.SaveableObject):
        """A variable that is kept at half its value."""

        def __init__(self, variable: Any) -> None:
            super().__init__(variable, [gf.train.SaveSpec(variable / 2.0, "", "half")], "halved")

        def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
            return self.op.assign(restored_tensors[0] * 2.0)

    w = gf.Variable([2.0, 4.0], collections=[gf.GraphKeys.LOCAL_VARIABLES])
    gf.add_to_collection(gf.GraphKeys.SAVEABLE_OBJECTS, Halved(w))
    saver = gf.train.Saver()
    with gf.Session() as session:
        session.run(w.initializer)
        prefix = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
        session.run(w.assign([0.0, 0.0]))
        saver.restore(session, prefix)
        assert session.run(w).tolist() == [2.0, 4.0]
    assert gf.train.load_variable(prefix, "half").tolist() == [1.0, 2.0]


def test_averages_restore_under_the_variables_names(tmp_path: Path) -> None:
    w = gf.get_variable("w", initializer=[1.0])
    average = gf.train.ExponentialMovingAverage(0.5)
    update = average.apply([w])
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        session.run(w.assign([3.0]))
        session.run(update)
        prefix = gf.train.Saver().save(session, str(tmp_path / "m"), write_meta_graph=False)
        gf.train.Saver(average.variables_to_restore()).restore(session, prefix)
        assert session.run(w).tolist() == [2.0]


def test_works_in_a_finalized_graph_and_without_initialization(tmp_path: Path) -> None:
    w = gf.get_variable("w", initializer=[1.0, 2.0])
    saver = gf.train.Saver()
    gf.get_default_graph().finalize()
    with gf.Session() as session:
        session.run(w.initializer)
        prefix = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
    with gf.Session() as session:
        saver.restore(session, prefix)
        assert session.run(w).tolist() == [1.0, 2.0]


# ---- state that is no variable --------------------------------------------------------------------------------------


def test_random_states_go_on_where_they_were(tmp_path: Path) -> None:
    gf.get_variable("w", initializer=1.0)
    draw = gf.random_normal([4], seed=3)
    saver, only = gf.train.Saver(), gf.train.Saver(gf.global_variables())
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        session.run(draw)
        prefix = saver.save(session, str(tmp_path / "all"), write_meta_graph=False)
        expected = [session.run(draw) for _ in range(3)]
        saver.restore(session, prefix)
        np.testing.assert_array_equal([session.run(draw) for _ in range(3)], expected)
    with gf.Session() as session:
        saver.restore(session, prefix)
        np.testing.assert_array_equal([session.run(draw) for _ in range(3)], expected)
        without = only.save(session, str(tmp_path / "variables"), write_meta_graph=False)
        after = session.run(draw)
        saver.restore(session, without)  # No state in it: everything goes on.
        assert (session.run(draw) != after).any()
    assert gf.train.list_variables(prefix) == [("w", [])]


def test_state_that_does_not_fit_is_refused_and_nothing_is_restored(tmp_path: Path) -> None:
    w = gf.get_variable("w", initializer=1.0)
    saver = gf.train.Saver()

    class Odd:
        def get_state(self) -> dict[str, Any]:
            return {"values": np.zeros(self.length)}

        def set_state(self, state: Any) -> None:
            if len(state["values"]) != self.length:
                raise ValueError(f"It has {self.length} elements.")

        length = 2

    with gf.Session() as session:
        session.run(w.initializer)
        odd = session.store.other("odd", Odd)
        prefix = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
        session.run(w.assign(5.0))
        odd.length = 3
        with pytest.raises(
            gf.errors.InvalidArgumentError, match="does not fit this program: It has 3 elements"
        ):
            saver.restore(session, prefix)
        assert session.run(w) == 5.0


# ---- restoring ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [1, 2, 3, 7])
@pytest.mark.parametrize("after", [1, 2, 5])
@pytest.mark.parametrize("axis", [0, 1])
def test_promise_14_any_partitioning_restores_to_any_other(
    tmp_path: Path, before: int, after: int, axis: int
) -> None:
    def embedding(parts: int) -> Any:
        partitioner = gf.fixed_size_partitioner(parts, axis=axis) if parts > 1 else None
        return gf.get_variable(
            "e", [7, 8], gf.float32, gf.random_normal_initializer(seed=1), partitioner=partitioner
        )

    variable = embedding(before)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        expected = session.run(gf.convert_to_tensor(variable))
        prefix = gf.train.Saver().save(session, str(tmp_path / "m"), write_meta_graph=False)
    with gf.Graph().as_default(), gf.Session() as session:
        variable = embedding(after)
        gf.train.Saver().restore(session, prefix)
        assert session.run(gf.convert_to_tensor(variable)).tobytes() == expected.tobytes()
    assert gf.train.load_variable(prefix, "e").tobytes() == expected.tobytes()


def test_what_is_missing_is_named_with_what_is_near(tmp_path: Path) -> None:
    gf.get_variable("dense/kernel", initializer=[1.0])
    prefix = saved(tmp_path)
    with gf.Graph().as_default(), gf.Session() as session:
        kept = gf.get_variable("dense/kernel", initializer=[5.0])
        gf.get_variable("dense_1/kernel", initializer=[1.0])
        gf.get_variable("zzz", initializer=[1.0])
        session.run(kept.initializer)
        with pytest.raises(gf.errors.NotFoundError) as error:
            gf.train.Saver().restore(session, prefix)
        text = str(error.value)
        assert "'dense_1/kernel' (near: dense/kernel)" in text and "'zzz'" in text and prefix in text
        assert re.search(r"zzz was built at .*test_saver\.py:\d+", text)
        assert session.run(kept).tolist() == [5.0]


def test_other_shapes_and_dtypes_are_refused_before_anything_is_assigned(tmp_path: Path) -> None:
    gf.get_variable("a", initializer=[1.0, 2.0])
    gf.get_variable("b", initializer=[1.0, 2.0, 3.0])
    gf.get_variable("c", initializer=[1, 2])
    prefix = saved(tmp_path)
    with gf.Graph().as_default(), gf.Session() as session:
        a = gf.get_variable("a", initializer=[7.0, 7.0])
        gf.get_variable("b", shape=[4])
        gf.get_variable("c", shape=[2], dtype=gf.float32)
        session.run(a.initializer)
        with pytest.raises(gf.errors.InvalidArgumentError) as error:
            gf.train.Saver().restore(session, prefix)
        text = str(error.value)
        assert "tensor 'b' has shape (3,) there, (4,) is expected" in text
        assert "tensor 'c' has dtype int32 there, float32 is expected" in text
        assert re.search(r"b was built at .*test_saver\.py:\d+; c was built", text)
        assert session.run(a).tolist() == [7.0, 7.0]
    with gf.Graph().as_default(), gf.Session() as session:
        b = gf.get_variable("b", shape=[3, 1])
        gf.train.Saver(reshape=True).restore(session, prefix)
        assert session.run(b).tolist() == [[1.0], [2.0], [3.0]]
    with gf.Graph().as_default(), gf.Session() as session:
        b = gf.Variable([1.0], name="b", validate_shape=False)
        gf.train.Saver().restore(session, prefix)
        assert session.run(b).tolist() == [1.0, 2.0, 3.0]


def test_a_damaged_tensor_is_named_and_nothing_is_assigned(tmp_path: Path) -> None:
    w = gf.get_variable("w", initializer=np.arange(1000, dtype=np.float32))
    n = gf.get_variable("n", initializer=3)
    saver = gf.train.Saver()
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        prefix = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
        path = Path(prefix + ".safetensors")
        data = bytearray(path.read_bytes())
        place = bytes(data).index(np.arange(900, 1000, dtype=np.float32).tobytes())
        data[place] ^= 1
        path.write_bytes(data)
        session.run(n.assign(4))
        with pytest.raises(
            gf.errors.DataLossError, match=r"tensor 'w': expected checksum \w{32}, found \w{32}"
        ):
            saver.restore(session, prefix)
        assert session.run(n) == 4
        gf.train.Saver([n]).restore(session, prefix)  # What is not read is not in the way.
        assert session.run([n, w[999]]) == [3, 999.0]


def test_arguments_that_cannot_be(tmp_path: Path) -> None:
    gf.get_variable("w", initializer=1.0)
    saver = gf.train.Saver()
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        with pytest.raises(ValueError, match="The passed save_path is not a valid checkpoint"):
            saver.restore(session, str(tmp_path / "none"))
        with pytest.raises(ValueError, match="Can't load save_path when it is None"):
            saver.restore(session, None)
        with pytest.raises(TypeError, match="must be a Session"):
            saver.save(3, str(tmp_path / "m"))
        with pytest.raises(ValueError, match="must not contain path components"):
            saver.save(session, str(tmp_path / "m"), latest_filename="a/b")
        with pytest.raises(ValueError, match="collides"):
            saver.save(session, str(tmp_path / "checkpoint"))
        (tmp_path / "file").write_text("")
        with pytest.raises(ValueError, match=r"Parent directory of .* doesn't exist"):
            saver.save(session, str(tmp_path / "file" / "m"))
        assert saver.save(session, str(tmp_path / "new" / "folder" / "m"), write_meta_graph=False)
    with gf.Session() as session, pytest.raises(gf.errors.FailedPreconditionError, match="w"):
        saver.save(session, str(tmp_path / "m"))
    with pytest.raises(RuntimeError, match="should be called before save"):
        gf.train.Saver(defer_build=True).save(session, str(tmp_path / "m"))


def test_a_closed_session_frees_its_variables_at_once(tmp_path: Path) -> None:
    """Restoring into one session after the other must not gather the values of all until Python collects cycles."""
    w = gf.get_variable("w", shape=[1000])
    prefix = saved(tmp_path)
    saver = gf.train.Saver()
    gc.collect()
    gc.disable()
    try:
        with gf.Session() as session:
            saver.restore(session, prefix)
            (value,) = [weakref.ref(c.value) for c in session.store.variables() if c.name == w.op.name]
            assert value() is not None
        assert value() is None
    finally:
        gc.enable()


# ---- starting from a checkpoint -------------------------------------------------------------------------------------


def test_init_from_checkpoint(tmp_path: Path) -> None:
    with gf.variable_scope("old"):
        gf.get_variable("w", initializer=[1.0, 2.0])
        gf.get_variable("p", [4], partitioner=gf.fixed_size_partitioner(2), initializer=gf.ones_initializer())
    prefix = saved(tmp_path)
    with gf.Graph().as_default(), gf.Session() as session:
        with gf.variable_scope("new"):
            w = gf.get_variable("w", shape=[2])
            p = gf.get_variable("p", shape=[4], partitioner=gf.fixed_size_partitioner(3))
        gf.train.init_from_checkpoint(prefix, {"old/": "new/"})
        session.run(gf.global_variables_initializer())
        assert (
            session.run(w).tolist() == [1.0, 2.0]
            and session.run(gf.convert_to_tensor(p)).tolist() == [1.0] * 4
        )
    with gf.Graph().as_default(), gf.Session() as session:
        a, b = gf.get_variable("a", shape=[2]), gf.get_variable("b", shape=[2])
        gf.train.init_from_checkpoint(str(tmp_path), {"old/w": "a"})
        gf.train.init_from_checkpoint(prefix, [("old/w", b)])
        session.run(gf.global_variables_initializer())
        assert session.run([a[1], b[0]]) == [2.0, 1.0]
        with pytest.raises(ValueError, match="Tensor old/q is not found"):
            gf.train.init_from_checkpoint(prefix, {"old/q": a})
        with pytest.raises(ValueError, match="doesn't match with shape of tensor old/p"):
            gf.train.init_from_checkpoint(prefix, {"old/p": a})
        with pytest.raises(ValueError, match="which is not in the graph"):
            gf.train.init_from_checkpoint(prefix, {"old/w": "zzz"})
        with pytest.raises(ValueError, match="should map to scope only"):
            gf.train.init_from_checkpoint(prefix, {"old/": "a"})


def test_a_reader_tells_dtypes_by_the_names_of_messages_and_what_is_not_there(tmp_path: Path) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        gf.get_variable("a", initializer=np.zeros([2, 3], np.float32))
        gf.get_variable("b", initializer=np.zeros([], np.int64))
        gf.get_variable("c", initializer=np.zeros([1], np.float16))
        session.run(gf.global_variables_initializer())
        prefix = gf.train.Saver().save(session, str(tmp_path / "model"))
    text = gf.train.NewCheckpointReader(prefix).debug_string().decode()
    assert text.splitlines() == ["a (DT_FLOAT) [2,3]", "b (DT_INT64) []", "c (DT_HALF) [1]"]
    with pytest.raises(
        gf.errors.NotFoundError, match=r"Unsuccessful TensorSliceReader .* nothing: Cannot read"
    ):
        gf.train.NewCheckpointReader("nothing")


def test_the_tensor_of_a_variable_stands_for_it(tmp_path: Path) -> None:
    """As of a graph that was read from a file, which has no gf.Variable."""
    w = gf.get_variable("w", initializer=[1.0, 2.0])
    tensor = gf.get_default_graph().get_tensor_by_name("w:0")
    with gf.Session() as session:
        session.run(w.initializer)
        for number, var_list in enumerate(({"other": tensor}, [tensor])):
            saver = gf.train.Saver(var_list)
            prefix = saver.save(session, str(tmp_path / "m"), number, write_meta_graph=False)
            session.run(w.assign([0.0, 0.0]))
            saver.restore(session, prefix)
            assert session.run(w).tolist() == [1.0, 2.0]
            assert gf.train.list_variables(prefix) == [("w" if number else "other", [2])]
    with pytest.raises(TypeError, match="is mapped to"):
        gf.train.Saver({"w": gf.identity(w)})
