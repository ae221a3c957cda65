"""Tables that may change yet (tf.lookup.experimental)."""

from graphflow.lookup.mutable_tables import DenseHashTable as DenseHashTable
