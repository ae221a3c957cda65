"""Items made of the features of an Example: images, boxes, tensors of a shape (tf.contrib.slim.tfexample_decoder)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import graphflow._core.graph.elements as elements
import graphflow.image as images
import graphflow.io as io
import graphflow.sparse as sparse
from graphflow._core.graph import dtypes
from graphflow._core.graph.slices import SparseTensor as Sparse
from graphflow._core.graph.types import DTypeLike, ShapeLike
from graphflow._core.ops.array.array import concat, expand_dims, identity, reshape, stack, transpose
from graphflow._core.ops.array.array import shape as shape_of
from graphflow._core.ops.control_flow.control_flow import case, cond
from graphflow._core.ops.control_flow.functional import map_fn
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import equal
from graphflow._core.ops.math.math import logical_or
from graphflow._core.ops.math.reductions import reduce_prod
from graphflow.contrib.slim.data.data_decoder import DataDecoder

__all__ = [
    "BackupHandler", "BoundingBox", "Image", "ItemHandler", "ItemHandlerCallback", "LookupTensor", "SparseTensor",
    "TFExampleDecoder", "Tensor",
]  # fmt: skip


class ItemHandler(ABC):
    """Makes an item of some features (tf.contrib.slim.tfexample_decoder.ItemHandler).

    Args:
        keys: The names of the features.
    """

    def __init__(self, keys: str | Sequence[str]) -> None:
        self._keys: list[str] = [keys] if isinstance(keys, str) else list(keys)

    @property
    def keys(self) -> list[str]:
        """The names of the features."""
        return self._keys

    @abstractmethod
    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The item.

        Args:
            keys_to_tensors: The features by name: tensors and SparseTensors.

        Returns:
            A tensor or SparseTensor.
        """


class ItemHandlerCallback(ItemHandler):
    """An item that a function makes (tf.contrib.slim.tfexample_decoder.ItemHandlerCallback).

    Args:
        keys: The names of the features.
        func: A function of a dictionary of them.
    """

    def __init__(self, keys: str | Sequence[str], func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """What the function makes of them.

        Args:
            keys_to_tensors: The features by name.

        Returns:
            The item.
        """
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes, one a row: top, left, bottom, right (tf.contrib.slim.tfexample_decoder.BoundingBox).

    Args:
        keys: The names of the four features, in this order.
        prefix: What stands before each of them.

    Raises:
        ValueError: If there are not four.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        names = ("ymin", "xmin", "ymax", "xmax") if keys is None else tuple(keys)
        if len(names) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(names)}")
        super().__init__([prefix + name for name in names])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The boxes.

        Args:
            keys_to_tensors: The features by name.

        Returns:
            [boxes, 4].
        """
        sides = [keys_to_tensors[key] for key in self.keys]
        rows = [expand_dims(side.values if isinstance(side, Sparse) else side, 0) for side in sides]
        return transpose(concat(rows, 0))


class Tensor(ItemHandler):
    """A feature as a dense tensor, in a shape (tf.contrib.slim.tfexample_decoder.Tensor).

    Args:
        tensor_key: The name of the feature.
        shape_keys: The names of the features that hold its shape.
        shape: Its shape, if it is known.
        default_value: What stands where a sparse feature has nothing.

    Raises:
        ValueError: If both shape and shape_keys are given.
    """

    def __init__(
        self,
        tensor_key: str,
        shape_keys: str | Sequence[str] | None = None,
        shape: ShapeLike = None,
        default_value: Any = 0,
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        self._sizes = [shape_keys] if isinstance(shape_keys, str) else list(shape_keys or ())
        self._tensor_key, self._shape, self._default = tensor_key, shape, default_value
        super().__init__([tensor_key, *self._sizes])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The tensor.

        Args:
            keys_to_tensors: The features by name.

        Returns:
            A dense tensor.
        """
        found = keys_to_tensors[self._tensor_key]
        shape: Any = self._shape
        if self._sizes:
            shape = reshape(stack([_dense(keys_to_tensors[key]) for key in self._sizes]), [-1])
        if isinstance(found, Sparse):
            found = found if shape is None else sparse.reshape(found, shape)
            return _dense(found, self._default)
        return found if shape is None else reshape(found, shape)


class LookupTensor(Tensor):
    """A feature whose values are looked up (tf.contrib.slim.tfexample_decoder.LookupTensor).

    Args:
        tensor_key: The name of the feature.
        table: A table of gf.lookup.
        shape_keys: The names of the features that hold its shape.
        shape: Its shape, if it is known.
        default_value: What stands where a sparse feature has nothing.
    """

    def __init__(
        self,
        tensor_key: str,
        table: Any,
        shape_keys: str | Sequence[str] | None = None,
        shape: ShapeLike = None,
        default_value: Any = "",
    ) -> None:
        super().__init__(tensor_key, shape_keys, shape, default_value)
        self._table = table

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """What the table has for them.

        Args:
            keys_to_tensors: The features by name.

        Returns:
            A dense tensor.
        """
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """An item, or another where it has no elements (tf.contrib.slim.tfexample_decoder.BackupHandler).

    Args:
        handler: Makes the one.
        backup: Makes the other.

    Raises:
        ValueError: If one is no ItemHandler.
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for what, one in (("Primary", handler), ("Backup", backup)):
            if not isinstance(one, ItemHandler):
                raise ValueError(f"{what} handler is of type {type(one)} instead of ItemHandler")
        super().__init__([*handler.keys, *backup.keys])
        self._handler, self._backup = handler, backup

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The one or the other.

        Args:
            keys_to_tensors: The features by name.

        Returns:
            The item.
        """
        item = self._handler.tensors_to_item(keys_to_tensors)
        return cond(
            equal(reduce_prod(shape_of(item)), 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: item,
        )


class SparseTensor(ItemHandler):
    """A sparse matrix of two features (tf.contrib.slim.tfexample_decoder.SparseTensor).

    Args:
        indices_key: The name of the feature that holds the columns; "indices" by default.
        values_key: The name of the feature that holds the values; "values" by default.
        shape_key: The name of the feature that holds the shape.
        shape: The shape, if it is known.
        densify: Whether it becomes a dense tensor.
        default_value: What stands there where it has nothing.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._indices, self._values, self._size = indices_key or "indices", values_key or "values", shape_key
        self._shape, self._densify, self._default = shape, densify, default_value
        super().__init__([self._indices, self._values, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The matrix.

        Args:
            keys_to_tensors: The features by name.

        Returns:
            A SparseTensor, or a dense tensor.
        """
        indices, values = keys_to_tensors[self._indices], keys_to_tensors[self._values]
        shape = self._shape or indices.dense_shape
        if self._size:
            shape = _dense(keys_to_tensors[self._size])
        columns = reshape(cast(indices.values, dtypes.int64), [-1, 1])
        rank = shape_of(indices.indices)[1]
        found = Sparse(concat([indices.indices[:, : rank - 1], columns], 1), values.values, shape)
        return _dense(found, self._default) if self._densify else found


class Image(ItemHandler):
    """An image of a file's bytes, or of its pixels (tf.contrib.slim.tfexample_decoder.Image).

    Args:
        image_key: The name of the feature that holds it; "image/encoded" by default.
        format_key: The name of the feature that says "raw" for pixels; "image/format" by default.
        shape: [height, width, channels], if all have the same.
        channels: How many there are.
        dtype: Of the result.
        repeated: Whether there are several images.
        dct_method: Has no effect.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: ShapeLike = None,
        channels: int = 3,
        dtype: DTypeLike = dtypes.uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        self._image, self._format = image_key or "image/encoded", format_key or "image/format"
        super().__init__([self._image, self._format])
        self._shape, self._channels, self._dtype, self._repeated = shape, channels, dtype, repeated

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The image, or images.

        Args:
            keys_to_tensors: The features by name.

        Returns:
            [height, width, channels], with one size more before if there are several.
        """
        data, kind = keys_to_tensors[self._image], keys_to_tensors[self._format]
        if self._repeated:
            return map_fn(lambda one: self._decoded(one, kind), data, dtype=self._dtype)
        return self._decoded(data, kind)

    def _decoded(self, data: elements.Tensor, kind: elements.Tensor) -> Any:
        raw = logical_or(equal(kind, "raw"), equal(kind, "RAW"))
        image = case(
            [(raw, lambda: io.decode_raw(data, self._dtype))],
            default=lambda: cast(images.decode_image(data, channels=self._channels), self._dtype),
            exclusive=True,
        )
        shape: Any = self._shape
        if shape is not None:
            return reshape(image, shape)
        found = identity(image)  # Of pixels only the reshaped image has the rank.
        found.set_shape([None, None, self._channels])
        return found


class TFExampleDecoder(DataDecoder):
    """Makes items of an Example (tf.contrib.slim.tfexample_decoder.TFExampleDecoder).

    Args:
        keys_to_features: FixedLenFeature and VarLenFeature by name.
        items_to_handlers: An ItemHandler for each item.
    """

    def __init__(
        self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]
    ) -> None:
        self._features, self._handlers = keys_to_features, items_to_handlers

    def list_items(self) -> list[str]:
        """The names of the items that there are."""
        return list(self._handlers)

    def decode(self, serialized_example: Any, items: Sequence[str] | None = None) -> list[Any]:
        """The items of an Example.

        Args:
            serialized_example: A scalar string.
            items: The names of those that are wanted; all by default.

        Returns:
            A list of tensors.
        """
        found = io.parse_single_example(serialized_example, self._features)
        for key, feature in sorted(self._features.items()):
            if isinstance(feature, io.FixedLenFeature):
                found[key] = reshape(found[key], feature.shape)
        chosen = [self._handlers[item] for item in items or self._handlers]
        return [handler.tensors_to_item({key: found[key] for key in handler.keys}) for handler in chosen]


def _dense(value: Any, default: Any = 0) -> Any:
    return sparse.to_dense(value, default) if isinstance(value, Sparse) else value
