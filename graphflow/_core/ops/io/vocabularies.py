"""Tables of the words of a vocabulary: from each to its number, or back (tf.contrib.lookup's functions)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array.creation import range_
from graphflow._core.ops.array.extents import size
from graphflow._core.ops.core import constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.io.hashers import FastHashSpec, HasherSpec
from graphflow._core.ops.io.lookup import (
    IdTableWithHashBuckets,
    KeyValueTensorInitializer,
    StaticHashTable,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from graphflow._core.ops.math.casting import cast


def _checked_key(num_oov_buckets: int, dtype: DTypeLike) -> DType:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    found = as_dtype(dtype)
    if not found.is_integer and found is not dtypes.string:
        raise TypeError("Only integer and string keys are supported.")
    return found


def _with_buckets(
    table: StaticHashTable, buckets: int, hasher: HasherSpec, key_dtype: DType
) -> StaticHashTable | IdTableWithHashBuckets:
    return IdTableWithHashBuckets(table, buckets, hasher, key_dtype=key_dtype) if buckets else table


def index_table_from_tensor(
    mapping: TensorLike | None = None, num_oov_buckets: int = 0, default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec, dtype: DTypeLike = dtypes.string, name: str | None = None,
    vocabulary_list: TensorLike | None = None,
) -> StaticHashTable | IdTableWithHashBuckets:  # fmt: skip
    """A table of each word's position in a vocabulary (tf.contrib.lookup.index_table_from_tensor).

    Args:
        mapping: The vocabulary, a vector of strings or integers.
        num_oov_buckets: How many more numbers there are for other words.
        default_value: The number of another word, if there is no bucket.
        hasher_spec: How others are dealt out.
        dtype: Of what is looked up.
        name: A name for the operations.
        vocabulary_list: Another name of mapping.

    Returns:
        A table, which gf.tables_initializer() fills.

    Raises:
        ValueError: If there is no vocabulary, or it is of another dtype.
        TypeError: If the dtype is neither string nor an integer.
    """
    words = vocabulary_list if mapping is None else mapping
    if words is None:
        raise ValueError("vocabulary_list must be specified.")
    wanted = _checked_key(num_oov_buckets, dtype)
    with op_scope(name, "string_to_index", []):
        keys = convert_to_tensor(words)
        if keys.dtype.is_integer != wanted.is_integer or not (wanted.is_integer or keys.dtype is wanted):
            raise ValueError(
                f"Expected {'integer' if wanted.is_integer else wanted.name}, got {keys.dtype.name}."
            )
        values = cast(range_(size(keys)), dtypes.int64)
        with op_scope(None, "hash_table", []):
            keys = cast(keys, dtypes.int64) if wanted.is_integer else keys
            source = KeyValueTensorInitializer(keys, values, name="table_init")
            table = StaticHashTable(source, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, wanted)


def index_table_from_file(
    vocabulary_file: TensorLike | None = None, num_oov_buckets: int = 0, vocab_size: int | None = None,
    default_value: int = -1, hasher_spec: HasherSpec = FastHashSpec, key_dtype: DTypeLike = dtypes.string,
    name: str | None = None, key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER, delimiter: str = "\t",
) -> StaticHashTable | IdTableWithHashBuckets:  # fmt: skip
    """A table of the number of the line that each word has in a file (tf.contrib.lookup.index_table_from_file).

    Args:
        vocabulary_file: The file, a word a line.
        num_oov_buckets: How many more numbers there are for other words.
        vocab_size: How many lines count; None for all.
        default_value: The number of another word, if there is no bucket.
        hasher_spec: How others are dealt out.
        key_dtype: Of what is looked up.
        name: A name for the operations.
        key_column_index: Where keys stand: a column, or one of TextFileIndex.
        value_column_index: Where values stand.
        delimiter: Between columns.

    Returns:
        A table, which gf.tables_initializer() fills.

    Raises:
        ValueError: If there is no file, or a number is negative.
        TypeError: If the dtype is neither string nor an integer.
    """
    if vocabulary_file is None or isinstance(vocabulary_file, str) and not vocabulary_file:
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        known = constant_value(vocabulary_file) if isinstance(vocabulary_file, Tensor) else vocabulary_file
        shown = vocabulary_file if known is None else known
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file: {shown!r}")
    wanted = _checked_key(num_oov_buckets, key_dtype)
    with op_scope(name, "string_to_index", []):
        with op_scope(None, "hash_table", []):
            source = TextFileIdTableInitializer(
                vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init",
                dtypes.int64 if wanted.is_integer else wanted,
            )  # fmt: skip
            table = StaticHashTable(source, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, wanted)


def index_to_string_table_from_tensor(
    mapping: TensorLike | None = None, default_value: TensorLike = "UNK", name: str | None = None,
    vocabulary_list: TensorLike | None = None,
) -> StaticHashTable:  # fmt: skip
    """A table of the word at each position of a vocabulary (tf.contrib.lookup.index_to_string_table_from_tensor).

    Args:
        mapping: The vocabulary, a vector of strings.
        default_value: The word of a number that is not there.
        name: A name for the operations.
        vocabulary_list: Another name of mapping.

    Returns:
        A table of int64 keys, which gf.tables_initializer() fills.

    Raises:
        ValueError: If there is no vocabulary.
    """
    words = vocabulary_list if mapping is None else mapping
    if words is None:
        raise ValueError("vocabulary_list must be specified.")
    with op_scope(name, "index_to_string", []):
        values = convert_to_tensor(words, dtypes.string)
        keys = cast(range_(size(values)), dtypes.int64)
        return StaticHashTable(KeyValueTensorInitializer(keys, values, name="table_init"), default_value)


def index_to_string_table_from_file(
    vocabulary_file: TensorLike, vocab_size: int | None = None, default_value: TensorLike = "UNK",
    name: str | None = None, key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE, delimiter: str = "\t",
) -> StaticHashTable:  # fmt: skip
    """A table of the words of a file by their lines' numbers (tf.contrib.lookup.index_to_string_table_from_file).

    Args:
        vocabulary_file: The file, a word a line.
        vocab_size: How many lines count; None for all.
        default_value: The word of a number that is not there.
        name: A name for the operations.
        key_column_index: Where keys stand: a column, or one of TextFileIndex.
        value_column_index: Where values stand.
        delimiter: Between columns.

    Returns:
        A table of int64 keys, which gf.tables_initializer() fills.

    Raises:
        ValueError: If there is no file.
    """
    if vocabulary_file is None or isinstance(vocabulary_file, str) and not vocabulary_file:
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    with op_scope(name, "index_to_string", []):
        source = TextFileStringTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init"
        )
        return StaticHashTable(source, default_value)


def string_to_index(
    tensor: TensorLike, mapping: TensorLike, default_value: int = -1, name: str | None = None
) -> Any:
    """The position of each string in a vocabulary (tf.contrib.lookup.string_to_index).

    Args:
        tensor: Strings, a tensor or SparseTensor.
        mapping: The vocabulary, a vector of strings.
        default_value: The number of a string that is not there.
        name: A name for the operations.

    Returns:
        Their numbers, int64, once gf.tables_initializer() has run.
    """
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(
    tensor: TensorLike, mapping: TensorLike, default_value: TensorLike = "UNK", name: str | None = None
) -> Any:
    """The strings of a vocabulary at some positions (tf.contrib.lookup.index_to_string).

    Args:
        tensor: Positions, int64, a tensor or SparseTensor.
        mapping: The vocabulary, a vector of strings.
        default_value: The string of a number that is not there.
        name: A name for the operations.

    Returns:
        The strings, once gf.tables_initializer() has run.
    """
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
