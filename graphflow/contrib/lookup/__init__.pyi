"""Tables of keys and values, and functions that make them of vocabularies (tf.contrib.lookup)."""

from graphflow._core.ops.io.hashers import FastHashSpec as FastHashSpec
from graphflow._core.ops.io.hashers import HasherSpec as HasherSpec
from graphflow._core.ops.io.hashers import StrongHashSpec as StrongHashSpec
from graphflow._core.ops.io.lookup import IdTableWithHashBuckets as IdTableWithHashBuckets
from graphflow._core.ops.io.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from graphflow._core.ops.io.lookup import LookupInterface as LookupInterface
from graphflow._core.ops.io.lookup import StaticHashTable as _HashTable
from graphflow._core.ops.io.lookup import TableInitializerBase as TableInitializerBase
from graphflow._core.ops.io.lookup import TextFileIdTableInitializer as TextFileIdTableInitializer
from graphflow._core.ops.io.lookup import TextFileIndex as TextFileIndex
from graphflow._core.ops.io.lookup import TextFileInitializer as TextFileInitializer
from graphflow._core.ops.io.lookup import TextFileStringTableInitializer as TextFileStringTableInitializer
from graphflow._core.ops.io.vocabularies import index_table_from_file as index_table_from_file
from graphflow._core.ops.io.vocabularies import index_table_from_tensor as index_table_from_tensor
from graphflow._core.ops.io.vocabularies import index_to_string_table_from_file as index_to_string_table_from_file
from graphflow._core.ops.io.vocabularies import index_to_string_table_from_tensor as index_to_string_table_from_tensor
from graphflow._core.ops.io.vocabularies import index_to_string as index_to_string
from graphflow._core.ops.io.vocabularies import string_to_index as string_to_index
from graphflow.lookup.mutable_tables import DenseHashTable as _MutableDenseHashTable
from graphflow.lookup.mutable_tables import MutableHashTable as MutableHashTable

HashTable = _HashTable
MutableDenseHashTable = _MutableDenseHashTable
