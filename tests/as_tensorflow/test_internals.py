"""Protects small functions and classes of tensorflow.python that tests and programs import."""

from __future__ import annotations

import io
import sys
import unittest
from functools import partial
from operator import methodcaller
from typing import Any, ClassVar

import numpy as np
import pytest

import graphflow as gf
from graphflow.as_tensorflow import age, test_util
from graphflow.as_tensorflow.finder import defined, member, place_of, sources_of
from graphflow.as_tensorflow.inside import gradients, small, weights

OLD = "tensorflow.python.feature_column.feature_column"


def test_names_of_the_inside_are_ours() -> None:
    """Those of the package of estimators among them."""
    assert member("tensorflow_estimator.python.estimator.estimator", "Estimator") is gf.estimator.Estimator
    assert member("tensorflow_estimator.python.estimator.run_config", "TaskType").PS == "ps"
    assert member("tensorflow.python.ops.sort_ops", "argsort") is gf.argsort
    assert member("tensorflow.python.keras.optimizer_v2.adam", "Adam") is gf.keras.optimizers.Adam
    assert member(OLD, "_numeric_column") is gf.feature_column.numeric_column
    assert (
        member("tensorflow_estimator.python.estimator.canned.metric_keys", "MetricKeys").LOSS_MEAN
        == "average_loss"
    )


def test_public_names_are_served_from_the_modules_that_define_them() -> None:
    """Each name of which TensorFlow 1.15.5 says in which module it lies, if it is here; others are not."""
    served = 0
    for place, names in defined().items():
        module = f"tensorflow.{place}"
        assert place_of(module) == place and sources_of(place) is not None
        for name, path in names.items():
            public = gf
            for part in path.split("."):
                public = getattr(public, part, None)
            if public is not None:
                member(module, name)
                served += 1
    assert served > 1200
    exports = "tensorflow.contrib.learn.python.learn.utils.saved_model_export_utils"
    assert member(exports, "make_export_strategy") is gf.contrib.learn.make_export_strategy
    assert member("tensorflow.python.framework.constant_op", "constant_v1") is gf.constant
    with pytest.raises(AttributeError, match=r"normal has no attribute 'Norml'.*Normal"):
        member("tensorflow.python.ops.distributions.normal", "Norml")
    assert (
        member("tensorflow.contrib.layers.python.layers.utils", "smart_cond")
        is gf.contrib.framework.smart_cond
    )


def test_shapes_that_are_constants_or_computed() -> None:
    """The functions beneath shape, size and rank, which say whether what is known is a constant."""
    x = gf.zeros([2, 3])
    inside = [
        member("tensorflow.python.ops.array_ops", f"{what}_internal") for what in ("shape", "size", "rank")
    ]
    assert [known(x).op.type for known in inside] == ["Const"] * 3
    computed = [what(x, optimize=False) for what in inside]
    assert [tensor.op.type for tensor in computed] == ["Shape", "Size", "Rank"]
    assert inside[0](x, "of_x", False, gf.int64).dtype == gf.int64
    with gf.Session() as session:
        assert [value.tolist() for value in session.run(computed)] == [[2, 3], 6, 2]
        sparse = gf.SparseTensor([[0, 1]], [1], [3, 4])
        assert [value.tolist() for value in session.run([of(sparse, optimize=False) for of in inside])] == [
            [3, 4],
            12,
            2,
        ]


def test_a_session_that_calls_hooks() -> None:
    """What hooks ask for is fed and fetched, and the session stops if one asks for that."""
    session_of = member("tensorflow.python.training.monitored_session", "_HookedSession")
    x = gf.placeholder(gf.float32, [])
    seen = []

    class Feeds(gf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> Any:
            return gf.train.SessionRunArgs({"double": 2 * x}, {x: 3.0}, gf.RunOptions(trace_level=1))

        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append((run_values.results["double"], run_values.options.trace_level))

    class Stops(gf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            assert run_values.results is None
            run_context.request_stop()

    y = x + 1
    with gf.Session() as session:
        watched = session_of(session, [Feeds()])
        assert watched.run(y) == 4 and seen == [(6, 1)] and not watched.should_stop()
        assert watched.graph is session.graph and watched.sess_str == session.sess_str
        with pytest.raises(RuntimeError, match="by a hook and by the run itself"):
            watched.run(y, {x: 1.0})
        outer = session_of(watched, [Stops()])
        assert outer.run(y) == 4 and outer.should_stop() and not watched.should_stop()
        with pytest.raises(RuntimeError, match="should_stop"):
            outer.run(y)
        watched.close()
        watched.close()
        assert watched.should_stop()


def test_the_linear_map_of_older_cells() -> None:
    """Its variables have the names that checkpoints have, and their gradients."""
    linear = member("tensorflow.contrib.rnn.python.ops.core_rnn_cell", "_linear")
    x = gf.placeholder(gf.float32, [None, 3])
    with gf.variable_scope("cell"):
        both = linear([x, gf.ones([2, 1])], 2, True, kernel_initializer=gf.ones_initializer())
    with gf.variable_scope("cell", reuse=True):
        assert linear(gf.ones([5, 4]), 2, False).shape.as_list() == [5, 2]
    variables = gf.trainable_variables("cell")
    assert [v.op.name for v in variables] == ["cell/kernel", "cell/bias"]
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        value, kernel, bias = session.run([both, *gf.gradients(both, variables)], {x: np.ones((2, 3))})
    assert (value == 4).all() and kernel.tolist() == [[2, 2]] * 4 and bias.tolist() == [2, 2]
    for wrong in ([], gf.ones([2]), gf.placeholder(gf.float32), gf.placeholder(gf.float32, [2, None])):
        with pytest.raises(ValueError, match="_linear takes tensors"):
            linear(wrong, 2, True)


def test_the_linear_model_takes_the_arguments_that_it_had_first() -> None:
    """By position, as TensorFlow's own tests give them."""
    model = member("tensorflow.python.feature_column.feature_column", "_LinearModel")
    columns = [gf.feature_column.numeric_column("x")]
    made = model(columns, 2, "sum", None, True, name="linear")
    sums = made({"x": np.ones((3, 1), np.float32)})
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        assert session.run(sums).tolist() == [[0, 0]] * 3
        session.run(made.bias.assign([1.0, 2.0]))
        assert session.run(sums).tolist() == [[1, 2]] * 3


def test_messages_hold_what_tests_look_for() -> None:
    """TensorFlow's phrases, by which its own tests and programs tell errors."""
    with pytest.raises(
        ValueError, match=r"Cannot reshape a tensor with 2 elements to shape \[2,2\] \(4 elements\)"
    ):
        gf.reshape([1, 2], [2, 2])
    with pytest.raises(
        ValueError, match=r"The channel dimension of the inputs should be defined\. Found `None`\."
    ):
        gf.layers.conv2d(gf.placeholder(gf.float32, [5, 7, 9, None]), 32, 3)
    with pytest.raises(ValueError, match=r"Invalid permutation .*dims.*"):
        gf.keras.layers.Permute((1, 4, 2))
    with pytest.raises(ValueError, match="max_value of Relu layer cannot be negative value: -10"):
        gf.keras.layers.ReLU(max_value=-10)
    with pytest.raises(ValueError, match="negative_slope of Relu layer cannot be negative value: -2"):
        gf.keras.layers.ReLU(negative_slope=-2)


def test_what_a_function_takes() -> None:
    """Only what may be given by position, and what a partial function or a method has not got yet."""

    class Model:
        def build(self, x: int, y: int = 1) -> None:
            pass

        def __call__(self, z: int, *more: int, c: int = 3, **words: int) -> None:
            pass

    fn_args = member("tensorflow_estimator.python.estimator.util", "fn_args")
    assert fn_args is member("tensorflow.python.util.function_utils", "fn_args")
    assert (fn_args(Model().build), fn_args(Model())) == (("x", "y"), ("z",))
    assert (fn_args(partial(Model.build, 1)), fn_args(partial(Model.build, y=2))) == (
        ("x", "y"),
        ("self", "x"),
    )


def test_a_session_takes_the_options_of_the_messages_module() -> None:
    """tensorflow.core.protobuf.config_pb2 has the classes that sessions know, and a graph says what tests ask it."""
    config_pb2 = "tensorflow.core.protobuf.config_pb2"
    rewriter = member("tensorflow.core.protobuf.rewriter_config_pb2", "RewriterConfig")
    options = member(config_pb2, "GraphOptions")(rewrite_options=rewriter(disable_model_pruning=True))
    metadata = member(config_pb2, "RunMetadata")()
    with gf.Session(config=member(config_pb2, "ConfigProto")(graph_options=options)) as session:
        traced = member(config_pb2, "RunOptions")(trace_level=3)
        assert session.run(gf.constant(1), options=traced, run_metadata=metadata) == 1
    assert metadata.step_stats.nodes()
    assert not gf.get_default_graph().building_function
    assert small.is_sparse(gf.SparseTensor([[0]], [1], [1])) and not small.is_sparse(1)


def test_what_switches_tensorflows_own_parts_switches_nothing() -> None:
    """Control flow is that of TensorFlow 1, on any day."""
    assert member("tensorflow.python.ops.control_flow_util", "ENABLE_CONTROL_FLOW_V2") is False
    horizon = member("tensorflow.python.compat.compat", "forward_compatibility_horizon")
    with horizon(2019, 9, 1):
        assert member("tensorflow.python.training.tracking.util", "Checkpoint") is gf.train.Checkpoint
    assert member("tensorflow.python.ops.data_flow_ops", "StagingArea") is gf.contrib.staging.StagingArea


def test_dependencies_and_the_step() -> None:
    """A value that waits, and a step that is counted."""
    v = gf.Variable(1.0)
    with_dependencies = member("tensorflow.python.ops.control_flow_ops", "with_dependencies")
    waits = with_dependencies([v.assign(2.0)], gf.constant(3.0), name="waits")
    step = gf.train.get_or_create_global_step()
    more = small.increment_global_step(5)
    slices = with_dependencies([more], gf.IndexedSlices(gf.constant([1.0]), gf.constant([0])))
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        assert session.run([waits, slices.values])[0] == 3
        assert session.run([v.read_value(), step.read_value()]) == [2, 5]
    with gf.Graph().as_default(), pytest.raises(ValueError, match="no global step"):
        small.increment_global_step(1)


def test_weights_are_repeated() -> None:
    """And squeezed, and refused where they do not fit."""
    values = gf.zeros([2, 3])
    unknown = gf.placeholder(gf.float32)
    spread = weights.broadcast_weights(unknown, values)
    with gf.Session() as session:
        assert session.run(spread, {unknown: [[1], [2]]}).tolist() == [[1, 1, 1], [2, 2, 2]]
        with pytest.raises(gf.errors.InvalidArgumentError):
            session.run(spread, {unknown: [1, 2, 3]})
    assert weights.broadcast_weights(values, gf.ones([2, 3])) is values
    with pytest.raises(ValueError, match="can not be broadcast"):
        weights.assert_broadcastable(gf.zeros([3]), values)
    labels, predictions = weights.remove_squeezable_dimensions(gf.zeros([2, 1]), gf.zeros([2]))
    assert (labels.shape, predictions.shape) == ([2], [2])


def test_a_function_has_the_gradient_of_its_differences() -> None:
    """By arguments; an array has no more axes than it needs."""
    with gf.Session():
        found = gradients.compute_gradient(
            lambda x, y: gf.reduce_sum(x * y, axis=1), [np.ones([2, 3]), gf.constant([[2.0]], gf.float64)]
        )
        assert [one.shape for one in found[0]] == [(6, 2), (1, 2)]
        assert gradients.max_error(*found) < 1e-6
        with pytest.raises(ValueError, match="list"):
            gradients.compute_gradient(gf.sin, gf.constant(1.0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="default session"):
        gradients.compute_gradient(gf.sin, [1.0])


def test_combinations_have_names() -> None:
    """As absl's named parameters want them."""
    found = test_util.generate_combinations_with_testcase_name(size=[1, 2], mode="a-b")
    assert found == [{"mode": "a-b", "size": n, "testcase_name": f"_test_mode_ab_size_{n}"} for n in (1, 2)]


def test_arrays_of_floats() -> None:
    """np.asfarray, which is gone."""
    assert age.asfarray([1, 2]).dtype == np.float64
    assert age.asfarray([1, 2], np.float32).dtype == np.float32
    assert age.asfarray([1, 2], np.int32).dtype == np.float64


def test_names_that_numpy_had() -> None:
    """What TensorFlow 1's time had of NumPy, as tensorpack asks for np.sctypes; what they gave is NumPy 1.18's."""
    had = age._NUMPY
    assert [scalar.__name__ for scalar in had["sctypes"]["int"]] == ["int8", "int16", "int32", "int64"]
    assert [scalar.__name__ for scalar in had["sctypes"]["float"]][:3] == ["float16", "float32", "float64"]
    assert had["cast"]["i4"]([1.5]).tolist() == [1] and had["cast"][np.float32](2).dtype == np.float32
    common = had["find_common_type"]
    assert common([np.float32], [np.int64, np.float64]) == np.float32
    assert common([np.int64], [np.float32]) == np.float64
    assert (common([], ["i4"]), common(["i4", "f4"], [])) == (np.int32, np.float64)
    assert (common(["f4"], ["c16"]), common(["i4"], ["u8"]), common(["?"], ["i4"])) == (
        np.complex128,
        np.int32,
        np.int32,
    )
    assert (had["obj2sctype"]("f4"), had["sctype2char"]("f8")) == (np.float32, "d")
    assert had["msort"](np.array([[2, 1], [1, 2]])).tolist() == [[1, 1], [2, 2]] and had["alen"](3) == 1


def test_columns_of_before_work_among_others() -> None:
    """A column with a class of its own that defines the names with underscores."""
    Dense, Categorical = member(OLD, "_DenseColumn"), member(OLD, "_CategoricalColumn")

    class Twice(Dense):  # type: ignore[misc, valid-type]
        name = "twice"
        _variable_shape = gf.TensorShape([1])
        _parse_example_spec: ClassVar[dict[str, Any]] = {}

        def _transform_feature(self, inputs: Any) -> Any:
            return inputs.get("x") * 2.0

        def _get_dense_tensor(
            self, inputs: Any, weight_collections: Any = None, trainable: Any = None
        ) -> Any:
            return inputs.get(self)

    class Ids(Categorical):  # type: ignore[misc, valid-type]
        name = "ids"
        _num_buckets = 4

        def _transform_feature(self, inputs: Any) -> Any:
            return inputs.get("i")

        def _get_sparse_tensors(
            self, inputs: Any, weight_collections: Any = None, trainable: Any = None
        ) -> Any:
            return Categorical.IdWeightPair(inputs.get(self), None)

    number = gf.feature_column.numeric_column("x")
    ids = gf.SparseTensor([[0, 0], [1, 0]], gf.constant([3, 1], gf.int64), [2, 1])
    features = {"x": [[1.0], [2.0]], "i": ids}
    both = gf.feature_column.input_layer(features, [Twice(), number])
    sums = gf.feature_column.linear_model(features, [Ids(), Twice()])
    transformed = member(OLD, "_transform_features")(features, [number, Twice()])
    builder = member(OLD, "_LazyBuilder")(features)
    assert number._variable_shape == [1] and number._parse_example_spec == number.parse_example_spec
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        assert session.run(both).tolist() == [[2, 1], [4, 2]]
        assert session.run(sums).tolist() == [[0], [0]]
        assert session.run(transformed[number]).tolist() == [[1], [2]]
        assert session.run(number._get_dense_tensor(builder)).tolist() == [[1], [2]]
    with pytest.raises(NotImplementedError, match="defines neither variable_shape nor _variable_shape"):
        Dense().variable_shape  # noqa: B018


def test_features_of_unknown_rank_become_matrices() -> None:
    """When the graph runs."""
    x = gf.placeholder(gf.float32)
    found = gf.feature_column.input_layer({"x": x}, [gf.feature_column.numeric_column("x")])
    with gf.Session() as session:
        assert session.run(found, {x: [1, 2]}).tolist() == [[1], [2]]
        assert session.run(found, {x: [[1], [2]]}).tolist() == [[1], [2]]
        with pytest.raises(gf.errors.InvalidArgumentError, match="cannot have rank 0"):
            session.run(found, {x: 1})


def test_what_is_written_to_a_file_of_the_process_is_kept() -> None:
    """Also what is printed by an operation; afterwards the file is as it was."""

    class Case(gf.test.TestCase):
        def runTest(self) -> None:
            with self.captureWritesToStream(sys.stderr) as printed, gf.Session() as session:
                session.run(gf.print("seen:", gf.constant(3)))
                self.assertIn("seen: 3", printed.contents())
                print("more", file=sys.stderr)
            sizes = methodcaller("_shape_as_list")
            self.assertEqual(sizes(gf.zeros([2, 3])), [2, 3])
            self.assertIsNone(sizes(gf.placeholder(gf.float32)))

    assert unittest.TextTestRunner(stream=io.StringIO()).run(Case()).wasSuccessful()


def test_a_variable_as_its_operation_makes_it() -> None:
    """It has no initializer: an assignment gives it its value, and its shape if the graph does not know it."""
    variable_op = member("tensorflow.python.ops.state_ops", "variable_op")
    known, unknown = variable_op([2], gf.float32), variable_op([2], gf.float32, set_shape=False)
    assert known.shape.as_list() == [2] and unknown.shape.ndims is None
    with gf.Session() as session:
        for variable in (known, unknown):
            with pytest.raises(gf.errors.FailedPreconditionError):
                session.run(variable + 1.0)
            session.run(gf.assign(variable, [1.0, 2.0]))
            assert session.run(variable + 1.0).tolist() == [2.0, 3.0]
