"""Tables whose keys come and go while a program runs (tf.contrib.lookup.MutableHashTable, MutableDenseHashTable).

A table lives where its operation does: in the session's store, or in that of the task of a cluster on whose device it
was built, where its keys are then looked up. A Saver of everything saves its contents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.shapes import as_shape
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.io.lookup import EXPORT, FIND, SIZE, LookupInterface
from graphflow._core.ops.io.mutable_tables import (
    DENSE_TABLE,
    IMPORT,
    INSERT,
    MUTABLE_TABLE,
    MUTABLE_TABLE_OF_TENSORS,
    REMOVE,
)
from graphflow.train.saving.saveables import SaveableObject, SaveSpec


class _TableSaveable(SaveableObject):
    """The keys and values of a table, NAME-keys and NAME-values."""

    def __init__(self, table: ChangingTable, name: str) -> None:
        keys, values = table.export()
        super().__init__(
            table, [SaveSpec(keys, "", f"{name}-keys"), SaveSpec(values, "", f"{name}-values")], name
        )

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Operation:
        """An operation that has the table hold what was saved, and nothing else."""
        with op_scope(None, f"{self.name}_table_restore", []):
            return apply(IMPORT, (self.op.resource_handle, *restored_tensors))


class ChangingTable(LookupInterface):
    """What the tables have in common whose keys come and go.

    Args:
        key_dtype: Of the keys.
        value_dtype: Of the values.
        default_value: The value of a key that is not there; its shape is that of each value.
        name: A name for the operation, and the beginning of the names in checkpoints.
        checkpoint: Whether a Saver of everything saves the contents.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        name: str,
        checkpoint: bool,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        self._default = convert_to_tensor(default_value, dtype=self._value_dtype, name="default_value")
        self._handle = self._make(name)
        if checkpoint:
            get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _TableSaveable(self, name))

    def _make(self, name: str) -> Tensor:
        raise NotImplementedError

    def _attrs(self, shared_name: str | None) -> dict[str, Any]:
        return {
            "container": "", "shared_name": shared_name or "", "use_node_name_sharing": True,
            "key_dtype": self._key_dtype, "value_dtype": self._value_dtype,
        }  # fmt: skip

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """What a gf.train.Checkpoint holds of it besides its own contents: nothing."""
        return []

    def checkpoint_values(self) -> dict[str, Any]:
        """What a gf.train.Checkpoint holds of it: a function that makes what is saved, of its name there."""
        return {"table": lambda name: _TableSaveable(self, name)}

    @property
    def resource_handle(self) -> Tensor:
        """The handle."""
        return self._handle

    @property
    def name(self) -> str:
        """The name of its operation."""
        return self._handle.op.name.rpartition("/")[2]

    @property
    def default_value(self) -> Tensor:
        """The value of a key that is not there."""
        return self._default

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are, an int64 scalar.

        Args:
            name: A name for the operation.
        """
        with op_scope(name, f"{self.name}_Size", []):
            return apply(SIZE, (self._handle,)).outputs[0]

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys: a SparseTensor for a sparse one, otherwise a tensor.

        Args:
            keys: A tensor or SparseTensor of keys.
            name: A name for the operation.

        Returns:
            Their values.

        Raises:
            ValueError: For a tensor of another dtype.
            TypeError: For keys of another dtype.
        """
        if not hasattr(keys, "dense_shape"):
            keys = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
        return super().lookup(keys, name)

    def _find(self, keys: Tensor, name: str | None) -> Tensor:
        with op_scope(name, f"{self.name}_lookup_table_find", [keys]):
            return apply(FIND, (self._handle, keys, self._default)).outputs[0]

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """An operation that gives keys values, those that are there already other ones.

        Args:
            keys: A tensor of keys.
            values: The value of each.
            name: A name for the operation.

        Raises:
            TypeError: For other dtypes than the table's.
        """
        with op_scope(name, f"{self.name}_lookup_table_insert", [keys, values]):
            found = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            rows = convert_to_tensor(values, dtype=self._value_dtype, name="values")
            return apply(INSERT, (self._handle, found, rows))

    def remove(self, keys: TensorLike, name: str | None = None) -> Operation:
        """An operation that removes keys; one that is not there is no error.

        Args:
            keys: A tensor of keys.
            name: A name for the operation.

        Raises:
            TypeError: For another dtype than the table's.
        """
        found = (
            keys if isinstance(keys, Tensor) else convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
        )
        if found.dtype is not self._key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self._key_dtype.name}, got {found.dtype.name}."
            )
        with op_scope(name, f"{self.name}_lookup_table_remove", [found]):
            return apply(REMOVE, (self._handle, found))

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values, in one order, which may be another at each run.

        Args:
            name: A name for the operation.
        """
        with op_scope(name, f"{self.name}_lookup_table_export_values", []):
            attrs = {"Tkeys": self._key_dtype, "Tvalues": self._value_dtype}
            keys, values = apply(EXPORT, (self._handle,), attrs).outputs
        return keys, values


class MutableHashTable(ChangingTable):
    """A table whose keys come and go (tf.contrib.lookup.MutableHashTable).

    Args:
        key_dtype: Of the keys.
        value_dtype: Of the values.
        default_value: The value of a key that is not there; its shape is that of each value.
        name: A name for the operation, and the beginning of the names in checkpoints.
        checkpoint: Whether a Saver of everything saves the contents.
        shared_name: Tables of one shared name are one.

    Examples:
        >>> table = gf.contrib.lookup.MutableHashTable(gf.string, gf.int64, -1)
        >>> insert, found = table.insert(["a", "b"], [1, 2]), table.lookup(gf.constant(["b", "c"]))
        >>> with gf.Session() as session:
        ...     session.run(insert)
        ...     print(session.run(found))
        [ 2 -1]
    """

    def __init__(
        self, key_dtype: DTypeLike, value_dtype: DTypeLike, default_value: TensorLike,
        name: str = "MutableHashTable", checkpoint: bool = True, shared_name: str | None = None,
    ) -> None:  # fmt: skip
        self._shared_name = shared_name
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)

    def _make(self, name: str) -> Tensor:
        attrs, shape = self._attrs(self._shared_name), self._default.shape
        if shape.ndims == 0:
            return apply(MUTABLE_TABLE, (), attrs, name).outputs[0]
        return apply(MUTABLE_TABLE_OF_TENSORS, (), {**attrs, "value_shape": shape}, name).outputs[0]


class DenseHashTable(ChangingTable):
    """A table whose keys come and go, and may be vectors (tf.lookup.experimental.DenseHashTable).

    Args:
        key_dtype: Of the keys.
        value_dtype: Of the values.
        default_value: The value of a key that is not there; its shape is that of each value.
        empty_key: A key that is never used; its shape is that of each key.
        deleted_key: Another one.
        initial_num_buckets: A power of 2. Changes nothing.
        name: A name for the operation, and the beginning of the names in checkpoints.
        checkpoint: Whether a Saver of everything saves the contents.
        shared_name: Tables of one shared name are one.

    Raises:
        ValueError: If the two keys have different shapes.
    """

    def __init__(
        self, key_dtype: DTypeLike, value_dtype: DTypeLike, default_value: TensorLike, empty_key: TensorLike,
        deleted_key: TensorLike, initial_num_buckets: int | None = None, name: str = "MutableDenseHashTable",
        checkpoint: bool = True, shared_name: str | None = None,
    ) -> None:  # fmt: skip
        self._shared_name, self._buckets = shared_name, initial_num_buckets
        self._empty = convert_to_tensor(empty_key, dtype=key_dtype, name="empty_key")
        self._deleted = convert_to_tensor(deleted_key, dtype=key_dtype, name="deleted_key")
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)

    def _make(self, name: str) -> Tensor:
        attrs = {
            **self._attrs(self._shared_name), "value_shape": as_shape(self._default.shape),
            "initial_num_buckets": 131072 if self._buckets is None else self._buckets, "max_load_factor": 0.8,
        }  # fmt: skip
        return apply(DENSE_TABLE, (self._empty, self._deleted), attrs, name).outputs[0]

    def insert_or_assign(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """An operation that gives keys values; see insert().

        Args:
            keys: A tensor of keys.
            values: The value of each.
            name: A name for the operation.
        """
        return self.insert(keys, values, name)

    def erase(self, keys: TensorLike, name: str | None = None) -> Operation:
        """An operation that removes keys; see remove().

        Args:
            keys: A tensor of keys.
            name: A name for the operation.
        """
        return self.remove(keys, name)
