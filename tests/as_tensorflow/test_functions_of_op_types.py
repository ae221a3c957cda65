"""Protects the functions that make one operation of a type: those of gen_*_ops and of tf.raw_ops."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.graph.op_def import lookup
from graphflow._core.interop.op_table import tensorflow_ops
from graphflow.as_tensorflow.finder import member
from graphflow.as_tensorflow.inside.generated import by_snake_case, function_of, snake_case


def test_names_are_those_that_tensorflow_makes_of_the_types() -> None:
    made = {
        "MaxPoolGradV2": "max_pool_grad_v2",
        "Conv2DBackpropInput": "conv2d_backprop_input",
        "LRN": "lrn",
        "RFFT2D": "rfft2d",
        "FIFOQueueV2": "fifo_queue_v2",
        "L2Loss": "l2_loss",
        "CTCLoss": "ctc_loss",
        "DepthwiseConv2dNative": "depthwise_conv2d_native",
        "AdjustContrastv2": "adjust_contrastv2",
        "Relu6Grad": "relu6_grad",
    }
    assert {name: snake_case(name) for name in made} == made


def test_arguments_are_inputs_then_attributes_without_defaults_then_the_others() -> None:
    assert list(signature(function_of("MaxPoolGrad")).parameters) == [
        "orig_input", "orig_output", "grad", "ksize", "strides", "padding", "data_format", "name",
    ]  # fmt: skip
    assert list(signature(function_of("Pack")).parameters) == ["values", "axis", "name"]
    assert list(signature(by_snake_case("_sigmoid_grad")).parameters) == ["y", "dy", "name"]


def test_every_type_that_graphflow_has_as_tensorflow_does_has_a_function() -> None:
    count = 0
    for op_type in tensorflow_ops():
        try:
            function = function_of(op_type)
        except AttributeError:
            continue
        assert by_snake_case(snake_case(op_type)) is function
        assert lookup(op_type).name == op_type
        count += 1
    assert count > 450


def test_what_they_make_computes_what_the_public_functions_do() -> None:
    gen = "tensorflow.python.ops.gen_nn_ops"
    loss, backprop = member(gen, "softmax_cross_entropy_with_logits")([[1.0, 2.0]], [[0.0, 1.0]], name="loss")
    assert (loss.op.type, loss.name) == ("SoftmaxCrossEntropyWithLogits", "loss:0")
    x = gf.constant([[[[1.0], [3.0]], [[2.0], [0.0]]]])
    pooled = member(gen, "max_pool")(x, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    chosen = member(gen, "max_pool_grad")(x, pooled, pooled, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    packed = member("tensorflow.python.ops.gen_array_ops", "pack")([1.0, 2.0], axis=0)
    shape = member("tensorflow.python.ops.gen_array_ops", "shape")(x, out_type=gf.int64)
    with gf.Session() as session:
        found = session.run([loss, backprop, pooled, chosen, packed, shape])
    np.testing.assert_allclose(found[0], [0.31326166], rtol=1e-6)
    np.testing.assert_allclose(found[1], [[0.26894143, -0.26894143]], rtol=1e-6)
    assert found[2].tolist() == [[[[3.0]]]]
    assert found[3].ravel().tolist() == [0.0, 3.0, 0.0, 0.0]
    assert found[4].tolist() == [1.0, 2.0]
    assert found[5].tolist() == [1, 2, 2, 1] and shape.dtype is gf.int64
    assert isinstance(member("tensorflow.python.ops.gen_control_flow_ops", "no_op")(), gf.Operation)


def test_raw_ops_take_arguments_by_name() -> None:
    raw = member("tensorflow", "raw_ops")
    add = member(raw.module, "AddV2")
    with gf.Session() as session:
        assert session.run(add(x=1, y=2)) == 3
    with pytest.raises(TypeError):
        add(1, 2)
    with pytest.raises(AttributeError):
        member(raw.module, "NoSuchOperation")


def test_what_does_not_fit_is_refused_where_it_is_called() -> None:
    max_pool = function_of("MaxPool")
    with pytest.raises(TypeError, match="Expected list for 'ksize' argument to 'max_pool' Op, not 2"):
        max_pool(np.ones([1, 2, 2, 1], np.float32), 2, [1, 1, 1, 1], "SAME")
    with pytest.raises(TypeError, match="missing a required argument: 'padding'"):
        max_pool(np.ones([1, 2, 2, 1], np.float32), [1, 2, 2, 1], [1, 1, 1, 1])
    with pytest.raises(ValueError, match="explicit_paddings"):
        function_of("Conv2D")(
            np.ones([1, 2, 2, 1], np.float32), np.ones([1, 1, 1, 1], np.float32), [1, 1, 1, 1], "EXPLICIT",
            explicit_paddings=[0, 0, 1, 1, 0, 0, 0, 0],
        )  # fmt: skip
