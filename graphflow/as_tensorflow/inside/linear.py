"""The linear map that older cells are written with (tensorflow.contrib.rnn.python.ops.core_rnn_cell._linear)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.nn.nn import bias_add
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Zeros
from graphflow._core.ops.state.variable_scope import get_variable_scope, variable_scope

WEIGHTS_VARIABLE_NAME: Final = "kernel"
BIAS_VARIABLE_NAME: Final = "bias"
ASSERT_LIKE_RNNCELL_ERROR_REGEXP: Final = "is not an RNNCell"


def linear(
    args: Tensor | Sequence[Tensor],
    output_size: int,
    bias: bool,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
) -> Tensor:
    """The tensors beside one another, times the variable "kernel" of the current scope, and with "bias" added.

    Args:
        args: A tensor [batch, size], or several.
        output_size: The size of the result's last axis.
        bias: Whether to add one.
        bias_initializer: Of the bias; zeros by default.
        kernel_initializer: Of the kernel; by default the scope's.

    Returns:
        A tensor [batch, output_size].

    Raises:
        ValueError: There is no tensor, or one has not two axes, or an unknown size.
    """
    tensors = [convert_to_tensor(one) for one in ([args] if isinstance(args, Tensor) else args or ())]
    shapes = [tensor.shape.as_list() if tensor.dims is not None else None for tensor in tensors]
    if not shapes or any(shape is None or len(shape) != 2 or shape[1] is None for shape in shapes):
        raise ValueError(f"_linear takes tensors [batch, size] whose size is known, got the shapes {shapes}.")
    size = sum(shape[1] for shape in shapes if shape is not None)
    dtype = tensors[0].dtype
    kernel = get_variable("kernel", [size, output_size], dtype, kernel_initializer)
    product: Tensor = matmul(tensors[0] if len(tensors) == 1 else concat(tensors, 1), kernel)
    if not bias:
        return product
    with variable_scope(get_variable_scope()) as scope:
        scope.set_partitioner(None)
        return bias_add(product, get_variable("bias", [output_size], dtype, bias_initializer or Zeros()))
