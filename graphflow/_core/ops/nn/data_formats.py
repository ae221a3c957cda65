"""What numbers of axes and lists of sizes become if images have their axes in another order.

Programs that TensorFlow has optimised for a device hold such operations.
"""

from __future__ import annotations

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, op_def
from graphflow._core.graph.types import IntTensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import same_as_input

DIM_MAP = op_def("DataFormatDimMap", ("x: T=index(int32)",), infer=same_as_input, gradient=NOT_DIFFERENTIABLE)
VECTOR_PERMUTE = op_def(
    "DataFormatVecPermute", ("x: T=index(int32)",), infer=same_as_input, gradient=NOT_DIFFERENTIABLE
)


def data_format_dim_map(
    x: IntTensorLike, src_format: str = "NHWC", dst_format: str = "NCHW", name: str | None = None
) -> Tensor:
    """The axes in one order that axes in another are (tf.raw_ops.DataFormatDimMap).

    Args:
        x: Numbers of axes, from the end if negative: int32 or int64 of any shape.
        src_format: The order that they count in, four or five letters.
        dst_format: The same letters in the order that the results count in.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.
    """
    return apply(DIM_MAP, (x,), {"src_format": src_format, "dst_format": dst_format}, name).outputs[0]


def data_format_vec_permute(
    x: IntTensorLike, src_format: str = "NHWC", dst_format: str = "NCHW", name: str | None = None
) -> Tensor:
    """One number, or pair, for each axis in another order (tf.raw_ops.DataFormatVecPermute).

    Args:
        x: int32 or int64, [axes] or [axes, 2].
        src_format: The order that they are in, four or five letters.
        dst_format: The same letters in the order of the result.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.
    """
    return apply(VECTOR_PERMUTE, (x,), {"src_format": src_format, "dst_format": dst_format}, name).outputs[0]
