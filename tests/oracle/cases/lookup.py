"""Tables, buckets by fingerprint, crosses, and look-ups of rows that may have no ids: what feature columns need."""

import os
import tempfile

from harness import Family

FAMILY = Family("lookup")

FAMILY.expressions(
    """
    tf.strings.to_hash_bucket_fast(ph([b"", b"a", b"emerson", b"a string of 20 bytes"]), 1000)
    tf.string_to_hash_bucket_fast([[b"0123456789" * 4, b"0123456789" * 9], [b"-1", b"x"]], num_buckets=10)
    tf.strings.to_hash_bucket_fast(ph([b"a", b"b"], [None]), 3).name
    tf.sparse.cross([tf.sparse.from_dense([[1, 0, 2], [3, 0, 0]]), ph([[b"a", b"b"], [b"c", b"d"]])]).values
    tf.sparse.cross([tf.sparse.from_dense([[1, 0, 2], [0, 0, 0]]), ph([[b"a"], [b"c"]])]).indices
    tf.sparse.cross([tf.sparse.from_dense([[1, 0, 2], [0, 0, 0]]), ph([[b"a"], [b"c"]])]).dense_shape
    tf.sparse.cross_hashed(
        [ph([[b"a", b"b"], [b"c", b"d"]]), ph([[1, 2], [3, 4]]), ph([[-5], [6]])], num_buckets=100).values
    tf.sparse.cross_hashed([ph([[b"y"], [b"z"]]), tf.sparse.from_dense([[1, 2], [0, 3]])], 7, hash_key=3).values
    tf.sparse.cross_hashed([ph([[b"a"], [b"b"]]), ph([[b"c"], [b"d"]])]).values
    """
)

FAMILY.errors(
    """
    tf.sparse.cross_hashed([[[b"a"]], [[b"c"]]], 3)
    tf.contrib.lookup.index_table_from_tensor(None)
    tf.contrib.lookup.index_table_from_tensor(["a"], num_oov_buckets=-1)
    tf.contrib.lookup.index_table_from_tensor([1, 2])
    tf.contrib.lookup.index_table_from_tensor(["a"], dtype=tf.float32)
    tf.contrib.lookup.index_table_from_file("")
    tf.contrib.lookup.index_table_from_tensor(["a"]).lookup(tf.constant([1]))
    tf.contrib.lookup.index_table_from_tensor(["a"]).lookup(tf.constant(["a"]))
    """
)


def _looked_up(t, table, keys):
    tf = t.tf
    found, size = table.lookup(keys), table.size()
    t.run(tf.tables_initializer())
    return t.run([found.values if hasattr(found, "values") else found, size])


@FAMILY.case()
def vocabulary(tf, t):
    table = tf.contrib.lookup.index_table_from_tensor(["emerson", "lake", "palmer"], default_value=-5)
    return _looked_up(t, table, tf.constant([["lake", "and"], ["palmer", "emerson"]]))


@FAMILY.case()
def vocabulary_of_numbers_with_buckets(tf, t):
    table = tf.contrib.lookup.index_table_from_tensor([10, 30, 20], num_oov_buckets=4, dtype=tf.int32)
    return _looked_up(t, table, tf.constant([20, 10, 7, 8, 9, -1]))


@FAMILY.case()
def sparse_keys(tf, t):
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=3)
    keys = tf.SparseTensor([[0, 1], [2, 0]], tf.constant(["b", "zz"]), [3, 2])
    return _looked_up(t, table, keys)


@FAMILY.case()
def words_of_numbers(tf, t):
    table = tf.contrib.lookup.index_to_string_table_from_tensor(["a", "b"], default_value="?")
    return _looked_up(t, table, tf.constant([1, 0, 5], tf.int64))


@FAMILY.case()
def file_of_words(tf, t):
    path = os.path.join(tempfile.mkdtemp(), "words.txt")
    with open(path, "w") as file:
        file.write("one\ntwo\nthree\n")
    table = tf.contrib.lookup.index_table_from_file(path, num_oov_buckets=2, vocab_size=2)
    other = tf.contrib.lookup.index_to_string_table_from_file(path)
    kept = len(tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)), table.resource_handle.op.type
    return (
        _looked_up(t, table, tf.constant(["two", "three", "one"])),
        t.run(other.lookup(tf.constant([2, 3], tf.int64))),
        kept,
    )


@FAMILY.case()
def columns_of_a_file(tf, t):
    path = os.path.join(tempfile.mkdtemp(), "pairs.txt")
    with open(path, "w") as file:
        file.write("one:1\ntwo:22\n")
    source = tf.lookup.TextFileInitializer(path, tf.string, 0, tf.int64, 1, delimiter=":")
    return _looked_up(t, tf.lookup.StaticHashTable(source, -1), tf.constant(["two", "x"]))


@FAMILY.case()
def static_vocabulary(tf, t):
    source = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    return _looked_up(t, tf.lookup.StaticVocabularyTable(source, 5), tf.constant(["b", "q", "r"]))


@FAMILY.case()
def rows_without_ids(tf, t):
    table = t.ph(t.f(4, 3))
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0], [3, 1]], tf.constant([1, -1, 3, -1], tf.int64), [5, 2])
    weights = tf.SparseTensor([[0, 0], [0, 1], [2, 0], [3, 1]], [1.0, 2.0, 0.0, -1.0], [5, 2])
    find = tf.nn.safe_embedding_lookup_sparse
    results = [find(table, ids, combiner=c) for c in ("mean", "sum", "sqrtn")]
    results += [find(table, ids, weights, c) for c in ("mean", "sum", "sqrtn")]
    results += [find(table, ids, default_id=2), find(table, ids, max_norm=0.5)]
    results += tf.gradients(results[0], table)
    return t.run([tf.convert_to_tensor(r) for r in results])


@FAMILY.case()
def ids_of_three_axes(tf, t):
    table = t.ph(t.f(4, 2))
    ids = tf.SparseTensor([[0, 0, 0], [0, 1, 1], [1, 1, 0]], tf.constant([1, 0, 3], tf.int64), [2, 3, 2])
    found = tf.nn.safe_embedding_lookup_sparse([table, table], ids, partition_strategy="mod")
    return found.shape.as_list(), t.run(found)
