"""Tables of keys and values (tf.lookup)."""

from graphflow._core.ops.io.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from graphflow._core.ops.io.lookup import StaticHashTable as StaticHashTable
from graphflow._core.ops.io.lookup import StaticVocabularyTable as StaticVocabularyTable
from graphflow._core.ops.io.lookup import TextFileIndex as TextFileIndex
from graphflow._core.ops.io.lookup import TextFileInitializer as TextFileInitializer
from . import experimental as experimental
