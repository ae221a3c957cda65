"""Tables, buckets by fingerprint, crosses, and look-ups of rows that may have no ids: what feature columns need."""

import os
import tempfile

import numpy as np
from harness import Family

FAMILY = Family("lookup")

FAMILY.expressions(
    """
    tf.strings.to_hash_bucket_fast(ph([b"", b"a", b"emerson", b"a string of 20 bytes"]), 1000)
    tf.string_to_hash_bucket_fast([[b"0123456789" * 4, b"0123456789" * 9], [b"-1", b"x"]], num_buckets=10)
    tf.strings.to_hash_bucket_fast(ph([b"a", b"b"], [None]), 3).name
    tf.strings.to_hash_bucket(ph([b"", b"a", b"emerson\\xff", b"0123456789abcdef", b"\\xe9" * 21]), 1000003)
    tf.string_to_hash_bucket([["a"]], num_buckets=10)
    tf.strings.to_hash_bucket_strong([b"", b"a", b"emerson\\xff", b"0123456789abcdef", b"\\xe9" * 21], 1000003, [3, -1])
    tf.string_to_hash_bucket_strong([["a"]], 10, key=[98765, 132]).name
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


def _sorted(t, table, *unused):
    """What a table holds, by the keys.

    A dense table of TensorFlow's gives its buckets, [buckets, 1] of scalars, also those that are free.
    """
    keys, values = (part.reshape(len(part), -1).tolist() for part in t.run(table.export()))
    return sorted([key, value] for key, value in zip(keys, values) if key not in [list(u) for u in unused])


@FAMILY.case()
def mutable_table(tf, t):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    found = table.lookup(tf.constant([["b", "x"], ["a", "b"]]))
    t.run(table.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)))
    first = t.run([found, table.size()])
    t.run(table.insert(["b", "c", "c"], [20, 3, 4]))
    t.run(table.remove(tf.constant(["a", "nowhere"])))
    return first, t.run([found, table.size()]), _sorted(t, table), found, table.size(), table.name


@FAMILY.case()
def mutable_table_of_vectors(tf, t):
    table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, [-1.0, -2.0], name="rows")
    found = table.lookup(t.ph(np.int64([[3], [5]]), [None, 1]))
    t.run(table.insert(tf.constant([[5, 6]], tf.int64), tf.constant([[[1.0, 2.0], [3.0, 4.0]]])))
    return found, t.run(table.size()), _sorted(t, table), table.name


@FAMILY.case()
def words_of_a_mutable_table(tf, t):
    table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.string, "?")
    t.run(table.insert([5, 6], ["five", "six"]))
    return t.run(table.lookup([6, 7])), _sorted(t, table)


@FAMILY.case()
def mutable_table_that_is_wrong(tf, t):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    return (
        t.error(lambda: t.run(table.insert(["a", "b"], [1]))),
        t.error(lambda: table.insert(tf.constant([1]), [1])),
        t.error(lambda: table.insert(["a"], ["b"])),
        t.error(lambda: table.lookup(tf.constant([1]))),
        t.error(lambda: table.remove(tf.constant([1]))),
    )


@FAMILY.case()
def dense_table(tf, t):
    table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-9)
    t.run(table.insert(tf.constant([11, 12, 13], tf.int64), tf.constant([0, 1, 2], tf.int64)))
    t.run(table.remove(tf.constant([12, 15], tf.int64)))
    found = table.lookup(tf.constant([11, 12, 15], tf.int64))
    return found, t.run(table.size()), _sorted(t, table, [0], [-9]), table.name


@FAMILY.case()
def dense_table_of_vectors(tf, t):
    table = tf.lookup.experimental.DenseHashTable(
        tf.int64,
        tf.float32,
        [0.5, 0.5],
        empty_key=[0, 0],
        deleted_key=[-1, -1],
        initial_num_buckets=8,
        name="pairs",
    )
    keys = tf.constant([[1, 2], [3, 4], [0, 1]], tf.int64)
    t.run(table.insert_or_assign(keys, tf.reshape(tf.range(6.0), [3, 2])))
    t.run(table.erase(tf.constant([[3, 4]], tf.int64)))
    found = table.lookup(tf.constant([[0, 1], [3, 4], [9, 9]], tf.int64))
    return t.run(found), t.run(table.size()), _sorted(t, table, [0, 0], [-1, -1]), table.name


@FAMILY.case()
def dense_table_that_is_wrong(tf, t):
    def table(empty=0, deleted=-1, **more):
        return tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, empty, deleted, **more)

    good = table()
    return (
        t.error(lambda: t.run(good.insert([0], [1]))),
        t.error(lambda: t.run(good.lookup([-1]))),
        t.error(lambda: t.run(good.remove(tf.constant([0], tf.int64)))),
        t.error(lambda: t.run(good.insert([1, 2], [1]))),
        t.error(lambda: t.run(table(3, 3).size())),
        t.error(lambda: t.run(table(initial_num_buckets=12).size())),
        t.error(lambda: t.run(table([1, 2], [3]).size())),
    )


@FAMILY.case()
def buckets_of_a_dense_table(tf, t):
    def whole(*numbers):
        return tf.constant(numbers, tf.int64)

    table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, 0, -9, initial_num_buckets=8)
    t.run(table.insert(whole(11, 12, 13, 19, 27), whole(1, 2, 3, 4, 5)))
    t.run(table.remove(whole(12, 99)))
    before = t.run(table.export())
    t.run(table.insert(whole(100, -3, 14, 19), whole(1, 2, 3, 4)))
    words = tf.contrib.lookup.MutableDenseHashTable(
        tf.string, tf.float32, [0, 1], "", "x", initial_num_buckets=4
    )
    t.run(words.insert(["a", "bcd", "emerson and"], [[1, 2], [3, 4], [5, 6]]))
    pairs = tf.contrib.lookup.MutableDenseHashTable(
        tf.int64, tf.int64, -5, [0, 0], [-1, -1], initial_num_buckets=8
    )
    t.run(pairs.insert(tf.constant([[1, 2], [-3, 4], [2**40, 1]], tf.int64), whole(1, 2, 3)))
    wrong = t.error(lambda: t.run(table.lookup(tf.constant([[1, 2], [3, 4]], tf.int64))))
    return before, t.run(table.export()), t.run(words.export()), t.run(pairs.export()), wrong


@FAMILY.case()
def tables_in_a_checkpoint(tf, t):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="words")
    pairs = tf.contrib.lookup.MutableDenseHashTable(
        tf.int64, tf.float32, [0.0], empty_key=0, deleted_key=-1, initial_num_buckets=8, name="pairs"
    )
    tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="not_kept", checkpoint=False)
    t.run([table.insert(["a", "b"], [1, 2]), pairs.insert([5, 6], [[0.5], [0.25]])])
    saver = tf.train.Saver()
    path = saver.save(t.session(), os.path.join(tempfile.mkdtemp(), "model"), write_meta_graph=False)
    t.run([table.insert(["c"], [3]), pairs.insert([7], [[1.0]])])
    t.run(table.remove(tf.constant(["a"])))
    saver.restore(t.session(), path)
    kept = sorted(
        name for name, _ in tf.train.list_variables(path) if name.partition("-")[0] in ("words", "pairs")
    )
    return _sorted(t, table), _sorted(t, pairs, [0], [-1]), kept


@FAMILY.case()
def keys_of_a_table_that_is_filled_once(tf, t):
    table = tf.contrib.lookup.index_table_from_tensor(["emerson", "lake"])
    t.run(tf.tables_initializer())
    return _sorted(t, table)


@FAMILY.case()
def words_and_positions(tf, t):
    words = tf.constant(["emerson", "lake", "palmer"])
    ids = tf.contrib.lookup.string_to_index(tf.constant(["lake", "x"]), words, default_value=-5)
    back = tf.contrib.lookup.index_to_string(tf.constant([2, 7], tf.int64), words, default_value="?")
    t.run(tf.tables_initializer())
    return ids, back, t.run([ids, back])


@FAMILY.case()
def dealt_out_by_a_key(tf, t):
    lookup = tf.contrib.lookup
    table = lookup.index_table_from_tensor(
        tf.constant(["a"]), num_oov_buckets=9, hasher_spec=lookup.StrongHashSpec([3, 5])
    )
    other = lookup.IdTableWithHashBuckets(None, 9, lookup.HasherSpec("legacy", None), key_dtype=tf.int32)
    t.run(tf.tables_initializer())
    return t.run([table.lookup(tf.constant(["a", "b", "c", "d"])), other.lookup(tf.constant([1, 2, 30]))])


@FAMILY.case()
def tables_that_cannot_be(tf, t):
    lookup = tf.contrib.lookup
    numbers = lookup.HashTable(lookup.KeyValueTensorInitializer([1], [2], tf.int64, tf.int64), -1)
    words = lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], ["b"]), "?")
    unknown = lookup.IdTableWithHashBuckets(None, 2, lookup.HasherSpec("other", None))
    return (
        t.error(lambda: lookup.IdTableWithHashBuckets(None, 2, hasher_spec=1)),
        t.error(lambda: lookup.IdTableWithHashBuckets(None, 2, key_dtype=tf.float64)),
        t.error(lambda: lookup.IdTableWithHashBuckets(numbers, 2, key_dtype=tf.string)),
        t.error(lambda: lookup.IdTableWithHashBuckets(words, 2)),
        t.error(lambda: unknown.lookup(tf.constant(["a"]))),
        t.error(lambda: lookup.StrongHashSpec([1])),
        t.error(lambda: lookup.StrongHashSpec([1.5, 2])),
        t.error(
            lambda: lookup.HashTable(
                lookup.KeyValueTensorInitializer(["a"], tf.constant([1, 2], tf.int64)), -1
            )
        ),
        t.error(lambda: t.run(lookup.MutableHashTable(tf.string, tf.int64, [[1, 2]]).size())),
    )


@FAMILY.case()
def a_saver_of_one_table(tf, t):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="words")
    tf.Variable(1.0)
    saver = tf.train.Saver([table])
    with tempfile.TemporaryDirectory() as folder:
        t.run(table.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)))
        path = saver.save(t.session(), os.path.join(folder, "saved"))
        t.run(table.remove(tf.constant(["a"])))
        saver.restore(t.session(), path)
        return sorted(tf.train.load_checkpoint(path).get_variable_to_shape_map()), _sorted(t, table)
