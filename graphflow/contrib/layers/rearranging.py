"""Functions of tf.contrib.layers that rearrange, pick or scale what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import CollectionNames, IntsLike, TensorLike
from graphflow._core.ops.array.array import gather_nd, reshape, shape, transpose, where
from graphflow._core.ops.control_flow.custom_gradient import custom_gradient
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.math.math import minimum, multiply, not_equal, rsqrt, square
from graphflow._core.ops.math.reductions import reduce_max, reduce_sum
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.layers.arg_scope import add_arg_scope
from graphflow.layers.contrib_scope import layout
from graphflow.layers.named_outputs import collect_named_outputs

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import VariableScope


@add_arg_scope
def maxout(
    inputs: TensorLike, num_units: int, axis: int = -1, scope: str | VariableScope | None = None
) -> Tensor:
    """The largest of each group of channels (Goodfellow et al., 2013; tf.contrib.layers.maxout).

    Args:
        inputs: A tensor of known rank.
        num_units: How many groups there are.
        axis: The axis of the channels, whose size must be known.
        scope: A variable scope for the operations.

    Returns:
        The inputs with `num_units` channels.

    Raises:
        ValueError: If the number of channels is no multiple of `num_units`.

    Examples:
        >>> with gf.Session() as session:
        ...     print(session.run(gf.contrib.layers.maxout([[1.0, 3.0, 2.0, 0.0]], 2)))
        [[3. 2.]]
    """
    with variable_scope(scope, "MaxOut", [inputs]):
        given = convert_to_tensor(inputs)
        sizes: list[Any] = list(given.shape.as_list())
        channels = sizes[axis]
        if channels is None or channels % num_units:
            raise ValueError(f"number of features({channels}) is not a multiple of num_units({num_units})")
        sizes[axis] = num_units
        sizes = [shape(given)[place] if size is None else size for place, size in enumerate(sizes)]
        return reduce_max(reshape(given, [*sizes, channels // num_units]), -1)


def poincare_normalize(
    x: TensorLike, axis: IntsLike = 1, epsilon: float = 1e-5, name: str | None = None
) -> Tensor:
    """Vectors that are not inside of the unit ball, scaled to lie in it (TensorFlow's poincare_normalize).

    Args:
        x: A tensor of floats.
        axis: The axis of a vector.
        epsilon: How far inside of the ball they lie.
        name: A name for the operation.

    Returns:
        A tensor like `x`.
    """
    with op_scope(name, "poincare_normalize", [x]) as scope:
        given = convert_to_tensor(x, name="x")
        factor = rsqrt(reduce_sum(square(given), axis, keepdims=True))
        return multiply(given, minimum((1.0 - epsilon) * factor, 1.0), name=scope)


def scale_gradient(inputs: TensorLike, gradient_multiplier: TensorLike) -> Tensor:
    """The inputs, through which gradients go multiplied (tf.contrib.layers.scale_gradient).

    Args:
        inputs: A tensor.
        gradient_multiplier: The factor.

    Returns:
        The inputs.

    Examples:
        >>> x = gf.constant(3.0)
        >>> (slope,) = gf.gradients(gf.contrib.layers.scale_gradient(x, 0.5), x)
        >>> with gf.Session() as session:
        ...     print(session.run(slope))
        0.5
    """

    @custom_gradient
    def scaled(values: Tensor) -> Any:
        return values + 0, lambda gradient: multiply(gradient, gradient_multiplier)

    result: Tensor = scaled(convert_to_tensor(inputs))
    return result


@add_arg_scope
def dense_to_sparse(
    tensor: TensorLike,
    eos_token: Any = 0,
    outputs_collections: CollectionNames | None = None,
    scope: str | VariableScope | None = None,
) -> SparseTensor:
    """The elements that are not `eos_token` (tf.contrib.layers.dense_to_sparse).

    Args:
        tensor: A tensor.
        eos_token: The value that is left out.
        outputs_collections: Collections that the outputs are added to.
        scope: A variable scope for the operations.

    Returns:
        A SparseTensor.
    """
    with variable_scope(scope, "dense_to_sparse", [tensor]) as opened:
        given = convert_to_tensor(tensor)
        indices = where(not_equal(given, constant(eos_token, given.dtype)))
        found = SparseTensor(indices, gather_nd(given, indices), shape(given, out_type=dtypes.int64))
        result: SparseTensor = collect_named_outputs(outputs_collections, opened.name, found)
        return result


@add_arg_scope
def images_to_sequence(
    inputs: TensorLike,
    data_format: str = "NHWC",
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
) -> Tensor:
    """The columns of images as steps, the rows of all images as examples (tf.contrib.layers.images_to_sequence).

    Args:
        inputs: [batch, height, width, channels], of known width and channels.
        data_format: "NHWC" or "NCHW".
        outputs_collections: Collections that the outputs are added to.
        scope: A name scope for the operations.

    Returns:
        [width, batch * height, channels].

    Raises:
        ValueError: If `data_format` is not known.
    """
    first = layout(data_format) == "channels_first"
    with op_scope(scope, "ImagesToSequence", [inputs]) as opened:
        given = convert_to_tensor(inputs)
        images = transpose(given, [0, 2, 3, 1]) if first else given
        _, _, width, depth = images.shape.as_list()
        sizes = shape(images)
        steps = transpose(images, [2, 0, 1, 3])
        outputs = reshape(steps, [width, sizes[0] * sizes[1], depth])
        result: Tensor = collect_named_outputs(outputs_collections, opened, outputs)
        return result


@add_arg_scope
def sequence_to_images(
    inputs: TensorLike,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
) -> Tensor:
    """Images of which images_to_sequence made steps (tf.contrib.layers.sequence_to_images).

    Args:
        inputs: [width, batch * height, channels], of known width and channels.
        height: The number of rows of an image.
        output_data_format: "channels_last" or "channels_first".
        outputs_collections: Collections that the outputs are added to.
        scope: A name scope for the operations.

    Returns:
        The images, [batch, height, width, channels].
    """
    with op_scope(scope, "SequenceToImages", [inputs]) as opened:
        given = convert_to_tensor(inputs)
        width, rows, depth = given.shape.as_list()
        images = reshape(given, [width, -1 if rows is None else rows // height, height, depth])
        order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
        result: Tensor = collect_named_outputs(outputs_collections, opened, transpose(images, order))
        return result
