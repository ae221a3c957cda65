"""Tensors as data, in the TensorInfo messages of signatures (tf.saved_model.utils)."""

from __future__ import annotations

from typing import Any

import graphflow.protos as protos
from graphflow._core.graph import defaults
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.slices import SparseTensor


def build_tensor_info(tensor: Tensor | SparseTensor) -> Any:
    """The TensorInfo message of a Tensor, variable or SparseTensor: its name, dtype and shape.

    Args:
        tensor: What the message describes.

    Returns:
        A TensorInfo message.
    """
    dims = tensor.get_shape().dims
    shape = protos.tensor_shape_pb2.TensorShapeProto(unknown_rank=dims is None)
    for dim in dims or ():
        shape.dim.add(size=-1 if dim.value is None else dim.value)
    info = protos.meta_graph_pb2.TensorInfo(dtype=as_dtype(tensor.dtype).as_datatype_enum, tensor_shape=shape)
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def build_tensor_info_from_op(op: Operation | Tensor) -> Any:
    """The TensorInfo message that names an operation, without a dtype and a shape.

    Args:
        op: The operation, or a tensor.

    Returns:
        A TensorInfo message.
    """
    info = protos.meta_graph_pb2.TensorInfo(name=op.name)
    info.tensor_shape.unknown_rank = True
    return info


def get_element_from_tensor_info(
    tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """The operation or tensor that a TensorInfo names, in `graph`, by default the default one.

    Args:
        tensor_info: A TensorInfo message.
        graph: The graph; by default the default graph.
        import_scope: A name scope that names are put under.

    Returns:
        The Operation or Tensor.

    Raises:
        KeyError: If the graph has nothing of this name.
    """
    graph = graph or defaults.get_default_graph()
    return graph.as_graph_element(under_scope(tensor_info.name, import_scope))


def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None
) -> Tensor | SparseTensor:
    """The Tensor or SparseTensor that a TensorInfo describes, in `graph`, by default the default one.

    Args:
        tensor_info: A TensorInfo message.
        graph: The graph; by default the default graph.
        import_scope: A name scope that names are put under.

    Returns:
        The tensor or SparseTensor.

    Raises:
        KeyError: If the graph has no such tensor.
        ValueError: If the message names none.
    """
    graph = graph or defaults.get_default_graph()

    def tensor(name: str) -> Tensor:
        return graph.get_tensor_by_name(under_scope(name, import_scope))

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return tensor(tensor_info.name)
    if encoding == "coo_sparse":
        sparse = tensor_info.coo_sparse
        return SparseTensor(
            tensor(sparse.indices_tensor_name),
            tensor(sparse.values_tensor_name),
            tensor(sparse.dense_shape_tensor_name),
        )
    raise ValueError(
        f"This TensorInfo names no tensor that graphflow has ({encoding or 'no encoding'}): "
        f"{str(tensor_info).strip() or 'it is empty'}."
    )


def under_scope(name: str, import_scope: str | None) -> str:
    """The name that an element of a graph has after the graph was imported under a scope.

    Args:
        name: A name for the operation.
        import_scope: A name scope that names are put under.
    """
    return f"{import_scope}/{name}" if import_scope else name
