"""Tables: keys that stand for values, filled once from tensors or a text file (tf.lookup, tf.contrib.lookup).

The contents are no part of the graph: a table lives in the session's store, under its shared name or the name of its
op, and gf.tables_initializer() fills all of a graph. What a table is filled from adds itself to TABLE_INITIALIZERS; a
file also to ASSET_FILEPATHS, so that a SavedModel takes it along.
"""

from __future__ import annotations

import os
from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array.indexing import where_v2
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.io.hashers import FastHashSpec, HasherSpec, dealt_out
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import not_equal
from graphflow._core.ops.rules import require_rank, scalar_of
from graphflow._core.ops.strings import as_string


def _of_one(handle: Tensor) -> tuple[Dims, Dims]:
    """The shapes of one key and of one value of a table, as far as what makes its handle says them."""
    maker = handle.op
    # The first input of a table whose keys may be vectors is one of them.
    key = maker.inputs[0].dims if maker.inputs and "value_shape" in maker.attrs else ()
    return key, shapes.as_dims(maker.attrs.get("value_shape", ()))


def _find_infer(op: Operation) -> Signature:
    handle, keys, default = op.inputs
    key, _ = _of_one(handle)
    if keys.dims is None or key is None or default.dims is None:
        return [(default.dtype, None)]
    return [(default.dtype, (*keys.dims[: len(keys.dims) - len(key)], *default.dims))]


def _export_infer(op: Operation) -> Signature:
    dtypes_of = (op.attrs["Tkeys"], op.attrs["Tvalues"])
    # A table that shows its buckets shows single keys and values as vectors of one.
    single = (1,) if "initial_num_buckets" in op.inputs[0].op.attrs else ()
    parts = (None if dims is None else (None, *(dims or single)) for dims in _of_one(op.inputs[0]))
    return list(zip(dtypes_of, parts, strict=True))


def _filled_infer(op: Operation) -> Signature:
    keys, values = (
        require_rank(tensor.dims, 1, what)
        for tensor, what in zip(op.inputs[1:], ("keys", "values"), strict=True)
    )
    if not shapes.compatible(keys, values):
        raise ValueError(
            f"There must be a value for each key, got {shapes.text(keys)} and {shapes.text(values)}."
        )
    return []


def _file_infer(op: Operation) -> Signature:
    require_rank(op.inputs[1].dims, 0, "filename")
    return []


HASH_TABLE = op_def(
    "HashTableV2", (), infer=scalar_of(dtypes.resource), gradient=NOT_DIFFERENTIABLE, stateful=True,
    outputs=("table_handle",),
)  # fmt: skip
INITIALIZE = op_def(
    "InitializeTableV2", ("table_handle: resource", "keys: Tkey=any", "values: Tval=any"), infer=_filled_infer,
    gradient=NOT_DIFFERENTIABLE, stateful=True,
)  # fmt: skip
INITIALIZE_FROM_FILE = op_def(
    "InitializeTableFromTextFileV2", ("table_handle: resource", "filename: string"), infer=_file_infer,
    gradient=NOT_DIFFERENTIABLE, stateful=True,
)  # fmt: skip
FIND = op_def(
    "LookupTableFindV2", ("table_handle: resource", "keys: Tin=any", "default_value: Tout=any"), infer=_find_infer,
    gradient=NOT_DIFFERENTIABLE, stateful=True, outputs=("values",),
)  # fmt: skip
SIZE = op_def(
    "LookupTableSizeV2", ("table_handle: resource",), infer=scalar_of(dtypes.int64), gradient=NOT_DIFFERENTIABLE,
    stateful=True, outputs=("size",),
)  # fmt: skip

EXPORT = op_def(
    "LookupTableExportV2", ("table_handle: resource",), infer=_export_infer, gradient=NOT_DIFFERENTIABLE,
    stateful=True, dynamic_shape=True, outputs=("keys", "values"),
)  # fmt: skip


class TextFileIndex:
    """What else than a column's number may be a key or a value of a text file (tf.lookup.TextFileIndex)."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TableInitializerBase:
    """What a table is filled from.

    Args:
        key_dtype: Of the keys.
        value_dtype: Of the values.
    """

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    @property
    def _shared_name(self) -> str:
        """The name under which tables of the same contents are one; "" if each is its own."""
        return ""

    def initialize(self, table: Any) -> Operation:
        """The operation that fills a table.

        Args:
            table: The table.
        """
        raise NotImplementedError


class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table from two vectors (tf.lookup.KeyValueTensorInitializer).

    Args:
        keys: A vector.
        values: A vector of as many.
        key_dtype: By default that of the keys.
        value_dtype: By default that of the values.
        name: A name for the operation.
    """

    def __init__(
        self, keys: TensorLike, values: TensorLike, key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        with op_scope(name, "key_value_init", [keys, values]) as scope:
            self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
            self._name = scope
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> Operation:
        """The operation that fills a table; it is added to TABLE_INITIALIZERS.

        Args:
            table: The table.
        """
        _check_types(table, self)
        done = apply(INITIALIZE, (table.resource_handle, self._keys, self._values), name=self._name)
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, done)
        return done


class TextFileInitializer(TableInitializerBase):
    """Fills a table from the lines of a text file (tf.lookup.TextFileInitializer).

    Args:
        filename: The file, a string or a tensor.
        key_dtype: Of the keys.
        key_index: A column, or one of TextFileIndex.
        value_dtype: Of the values.
        value_index: A column, or one of TextFileIndex.
        vocab_size: How many lines count; None for all.
        delimiter: Between columns.
        name: A name for the operation.

    Raises:
        ValueError: If there is no name of a file, or an index does not go with its dtype.
    """

    def __init__(
        self, filename: TensorLike, key_dtype: DTypeLike, key_index: int, value_dtype: DTypeLike, value_index: int,
        vocab_size: int | None = None, delimiter: str = "\t", name: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError(f"Filename required for {name}.")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        super().__init__(key_dtype, value_dtype)
        for what, dtype, index in (
            ("key", self.key_dtype, key_index),
            ("value", self.value_dtype, value_index),
        ):
            if index < TextFileIndex.WHOLE_LINE:
                raise ValueError(f"Invalid {what} index {index}.")
            is_key = what == "key" and dtype.is_integer
            if index == TextFileIndex.LINE_NUMBER and dtype is not dtypes.int64:
                raise ValueError(
                    f"Signature mismatch. {what.title()}s must be dtype int64, got {dtype.name}."
                )
            if index == TextFileIndex.WHOLE_LINE and dtype is not dtypes.string and not is_key:
                raise ValueError(
                    f"Signature mismatch. {what.title()}s must be dtype string, got {dtype.name}."
                )
        self._filename = filename if isinstance(filename, Tensor) else os.fsdecode(filename)  # type: ignore[arg-type]
        self._indices = (key_index, value_index)
        self._vocab_size, self._delimiter, self._name = vocab_size, delimiter, name

    @property
    def _shared_name(self) -> str:
        """The name under which tables of the same file are one."""
        count = () if self._vocab_size is None else (self._vocab_size,)
        file = self._filename.name if isinstance(self._filename, Tensor) else self._filename
        return "_".join(map(str, ("hash_table", file, *count, *self._indices)))

    def initialize(self, table: Any) -> Operation:
        """The operation that fills a table; it is added to TABLE_INITIALIZERS, a known name to ASSET_FILEPATHS.

        Args:
            table: The table.
        """
        _check_types(table, self)
        with op_scope(self._name, "text_file_init", [table.resource_handle]):
            filename = convert_to_tensor(self._filename, dtypes.string, name="asset_filepath")
            attrs = {
                "key_index": self._indices[0], "value_index": self._indices[1],
                "vocab_size": -1 if self._vocab_size is None else self._vocab_size, "delimiter": self._delimiter,
            }  # fmt: skip
            done = apply(INITIALIZE_FROM_FILE, (table.resource_handle, filename), attrs)
        graph = get_default_graph()
        graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, done)
        if constant_value(filename) is not None:
            graph.add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return done


class TextFileIdTableInitializer(TextFileInitializer):
    """Fills a table of numbers of lines by their texts.

    Args:
        filename: The file.
        key_column_index: Which column has the keys.
        value_column_index: Which column has the values.
        vocab_size: How many lines there are, if it is known.
        delimiter: What stands between columns.
        name: A name for the operation.
        key_dtype: Of the keys.
    """

    def __init__(
        self, filename: TensorLike, key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER, vocab_size: int | None = None, delimiter: str = "\t",
        name: str | None = "text_file_id_table_init", key_dtype: DTypeLike = dtypes.string,
    ) -> None:  # fmt: skip
        super().__init__(
            filename,
            key_dtype,
            key_column_index,
            dtypes.int64,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


class TextFileStringTableInitializer(TextFileInitializer):
    """Fills a table of texts of lines by their numbers.

    Args:
        filename: The file.
        key_column_index: Which column has the keys.
        value_column_index: Which column has the values.
        vocab_size: How many lines there are, if it is known.
        delimiter: What stands between columns.
        name: A name for the operation.
    """

    def __init__(
        self, filename: TensorLike, key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE, vocab_size: int | None = None, delimiter: str = "\t",
        name: str | None = "text_file_string_table_init",
    ) -> None:  # fmt: skip
        super().__init__(
            filename,
            dtypes.int64,
            key_column_index,
            dtypes.string,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


def _check_types(table: Any, source: TableInitializerBase) -> None:
    for what in ("key_dtype", "value_dtype"):
        wanted, found = getattr(table, what), getattr(source, what)
        if wanted is not found:
            raise TypeError(f"Invalid {what}, expected {wanted.name} but got {found.name}.")


class LookupInterface:
    """A table, whatever it is made of.

    Args:
        key_dtype: Of the keys.
        value_dtype: Of the values.
    """

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys: a SparseTensor for a sparse one, otherwise a tensor.

        Args:
            keys: A tensor or SparseTensor of keys.
            name: A name for the operation.

        Returns:
            Their values.

        Raises:
            TypeError: For another dtype.
        """
        found = SparseTensor.from_value(keys) if _is_sparse(keys) else convert_to_tensor(keys)
        if found.dtype is not self._key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self._key_dtype.name}, got {found.dtype.name}."
            )
        if isinstance(found, SparseTensor):
            return SparseTensor(found.indices, self._find(found.values, name), found.dense_shape)
        return self._find(found, name)

    def _find(self, keys: Tensor, name: str | None) -> Tensor:
        raise NotImplementedError


def _is_sparse(keys: object) -> bool:
    return hasattr(keys, "dense_shape") and hasattr(keys, "indices")


class StaticHashTable(LookupInterface):
    """A table that is filled once (tf.lookup.StaticHashTable).

    Args:
        initializer: What it is filled from.
        default_value: The value of a key that is not there.
        shared_name: Tables of one shared name are one.
        name: A name for the operation.
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: TensorLike,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._default = convert_to_tensor(default_value, dtype=self._value_dtype)
        attrs = {
            "container": "", "use_node_name_sharing": True,
            "shared_name": shared_name or initializer._shared_name, "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype,
        }  # fmt: skip
        self._handle = apply(HASH_TABLE, (), attrs, name or "hash_table").outputs[0]
        self._initializer = initializer.initialize(self)

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

    @property
    def initializer(self) -> Operation:
        """The operation that fills it."""
        return self._initializer

    init = initializer

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are, an int64 scalar.

        Args:
            name: A name for the operation.
        """
        return apply(SIZE, (self._handle,), name=name or f"{self.name}_Size").outputs[0]

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values, two vectors of one order.

        Args:
            name: A name for the operation.
        """
        keys, values = apply(
            EXPORT, (self._handle,), {"Tkeys": self._key_dtype, "Tvalues": self._value_dtype},
            name or f"{self.name}_Export",
        ).outputs  # fmt: skip
        return keys, values

    def _find(self, keys: Tensor, name: str | None) -> Tensor:
        return apply(FIND, (self._handle, keys, self._default), name=name or f"{self.name}_Lookup").outputs[0]


class IdTableWithHashBuckets(LookupInterface):
    """A table of numbers in which a key that is not there has one of some more (tf.contrib.lookup's class).

    Args:
        table: The table of those that are there; None if all are dealt out by their fingerprints.
        num_oov_buckets: How many numbers there are for others.
        hasher_spec: How others are dealt out.
        name: A name for its operations.
        key_dtype: Of the keys, by default the table's.

    Raises:
        ValueError: If there are neither a table nor buckets.
        TypeError: If keys are neither integers nor strings, the table's are others, or the hasher is no HasherSpec.
    """

    def __init__(
        self, table: StaticHashTable | None, num_oov_buckets: int, hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None, key_dtype: DTypeLike | None = None,
    ) -> None:  # fmt: skip
        if table is None and num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0 if no table is supplied.")
        default = dtypes.string if table is None else table.key_dtype
        super().__init__(default if key_dtype is None else key_dtype, dtypes.int64)
        if self._key_dtype is not dtypes.string and not self._key_dtype.is_integer:
            raise TypeError(f"Invalid key_dtype, expected integer or string, got {self._key_dtype.name}.")
        if table is not None and table.key_dtype not in (dtypes.int64, dtypes.string):
            raise TypeError(f"The table's keys must be int64 or string, got {table.key_dtype.name}.")
        if table is not None and table.key_dtype.is_integer != self._key_dtype.is_integer:
            raise TypeError(
                f"key_dtype is {self._key_dtype.name}, but the table's is {table.key_dtype.name}."
            )
        if table is not None and table.value_dtype is not dtypes.int64:
            raise TypeError(f"The table's values must be int64, got {table.value_dtype.name}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be a HasherSpec, got {hasher_spec!r}.")
        self._table, self._buckets, self._name = table, num_oov_buckets, name or "id_table"
        self._hasher = hasher_spec

    @property
    def resource_handle(self) -> Tensor | None:
        """The handle of its table."""
        return None if self._table is None else self._table.resource_handle

    @property
    def name(self) -> str:
        """The name of its operations."""
        return self._name

    @property
    def initializer(self) -> Operation:
        """The operation that fills it."""
        return no_op(name="init") if self._table is None else self._table.initializer

    init = initializer

    def size(self, name: str | None = None) -> Tensor:
        """How many numbers there are, an int64 scalar.

        Args:
            name: A name for the operation.
        """
        with op_scope(name, f"{self._name}_Size", []):
            known = convert_to_tensor(0, dtypes.int64) if self._table is None else self._table.size()
            return known + self._buckets

    def _find(self, keys: Tensor, name: str | None) -> Tensor:
        table = self._table
        if table is not None and table.key_dtype is dtypes.int64:
            keys = cast(keys, dtypes.int64)
        if table is not None and not self._buckets:
            found: Tensor = table.lookup(keys, name=name)
            return found
        with op_scope(name, f"{self._name}_Lookup", [keys]):
            texts = keys if keys.dtype is dtypes.string else as_string(keys)
            buckets = dealt_out(self._hasher, texts, self._buckets)
            if table is None:
                return buckets
            found = table.lookup(keys)
            return where_v2(not_equal(found, table.default_value), found, buckets + table.size())


class StaticVocabularyTable(IdTableWithHashBuckets):
    """A table of numbers, and some more for keys that are not there (tf.lookup.StaticVocabularyTable).

    Args:
        initializer: What it is filled from; None if all keys are dealt out by their fingerprints.
        num_oov_buckets: How many numbers there are for others, at least 1.
        lookup_key_dtype: Of the keys, by default the initializer's.
        name: A name for its operations.

    Raises:
        ValueError: If there is no bucket.
    """

    def __init__(
        self, initializer: TableInitializerBase | None, num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        table = None if initializer is None else StaticHashTable(initializer, -1)
        super().__init__(table, num_oov_buckets, FastHashSpec, name, lookup_key_dtype)
