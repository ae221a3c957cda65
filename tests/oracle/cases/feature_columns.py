"""tf.feature_column: what each column gives, the names of its variables, what Examples need, and errors."""

import os
import tempfile

from harness import Family

FAMILY = Family("feature_columns")

WORDS = ["a", "b", "c"]


def _features(tf):
    sparse = tf.SparseTensor
    return {
        "age": tf.constant([3.5, 20.0, 61.0, 40.0]),
        "pair": tf.constant([[1, 2], [3, 4], [5, 6], [7, 8]]),
        "word": tf.constant([["b"], ["zz"], [""], ["a"]]),
        "words": sparse([[0, 0], [0, 1], [2, 0], [3, 2]], tf.constant(["a", "c", "a", "q"]), [4, 3]),
        "weights": sparse([[0, 0], [0, 1], [2, 0], [3, 2]], [0.5, 2.0, -1.0, 3.0], [4, 3]),
        "id": tf.constant([2, 0, -1, 1]),
        "far": tf.constant([[2], [7], [-4], [1]], tf.int64),
        "steps": sparse([[0, 0], [0, 1], [2, 0], [3, 0]], [0.5, 2.0, -1.0, 3.0], [4, 2]),
    }


def _columns(tf):
    fc = tf.feature_column
    age = fc.numeric_column("age")
    words = fc.categorical_column_with_vocabulary_list("words", WORDS)
    return {
        "age": age,
        "normalised": fc.numeric_column("age", normalizer_fn=lambda x: (x - 30.0) / 10.0),
        "pair": fc.numeric_column("pair", shape=(2,), dtype=tf.int32),
        "bucketized": fc.bucketized_column(age, [0.0, 20.0, 40.0]),
        "bucketized_pair": fc.bucketized_column(fc.numeric_column("pair", shape=2), [2, 5]),
        "words": words,
        "words_with_buckets": fc.categorical_column_with_vocabulary_list("words", WORDS, num_oov_buckets=2),
        "words_default": fc.categorical_column_with_vocabulary_list("word", WORDS, default_value=1),
        "numbers": fc.categorical_column_with_vocabulary_list("id", [2, 1], num_oov_buckets=1),
        "hashed": fc.categorical_column_with_hash_bucket("words", 5),
        "hashed_numbers": fc.categorical_column_with_hash_bucket("pair", 7, tf.int32),
        "identity": fc.categorical_column_with_identity("id", 3),
        "identity_default": fc.categorical_column_with_identity("far", 3, default_value=0),
        "weighted": fc.weighted_categorical_column(words, "weights"),
        "crossed": fc.crossed_column(["words", "word"], 11),
        "crossed_buckets": fc.crossed_column([fc.bucketized_column(age, [0.0, 30.0]), words, "word"], 13),
        "crossed_crosses": fc.crossed_column([fc.crossed_column(["word", "words"], 3), "id"], 9, hash_key=5),
    }


DENSE = ["age", "normalised", "pair", "bucketized", "bucketized_pair"]
IDS = [
    "words", "words_with_buckets", "words_default", "numbers", "hashed", "hashed_numbers", "identity",
    "identity_default", "weighted", "crossed", "crossed_buckets", "crossed_crosses", "bucketized", "bucketized_pair",
]  # fmt: skip


def _started(tf, t, fetched):
    t.run([tf.global_variables_initializer(), tf.tables_initializer()])
    return t.run(fetched)


def _filled(tf, t):
    """Every variable with numbers of its own, so that order and place count."""
    changes = []
    for number, variable in enumerate(sorted(tf.global_variables(), key=lambda v: v.name)):
        size = 1
        for extent in variable.shape.as_list():
            size *= extent
        values = tf.reshape(tf.range(size, dtype=tf.float32), variable.shape)
        changes.append(tf.assign(variable, tf.sin(values + 0.7 * number)))
    t.run([tf.global_variables_initializer(), tf.tables_initializer()])
    t.run(changes)


def _names(tf):
    return [(v.name, v.shape.as_list()) for v in sorted(tf.global_variables(), key=lambda v: v.name)]


def _input_layer(tf, t, columns):
    """Without the static size of the batch: TensorFlow computes it if all features are constants, as here."""
    found = tf.feature_column.input_layer(_features(tf), columns)
    _filled(tf, t)
    return found.shape.as_list()[1:], t.run(found), _names(tf)


def _add(function, *names):
    for name in names:

        def build(tf, t, name=name):
            return function(tf, t, _columns(tf)[name])

        called = "%s of %s" % (function.__name__.strip("_"), name)
        FAMILY.generated(called, build, called, names="none")


def _dense(tf, t, column):
    return _input_layer(tf, t, [column])


def _indicator(tf, t, column):
    return _input_layer(tf, t, [tf.feature_column.indicator_column(column)])


def _embedding(tf, t, column):
    return _input_layer(tf, t, [tf.feature_column.embedding_column(column, 2, combiner="sqrtn")])


def _linear(tf, t, column):
    variables = {}
    found = tf.feature_column.linear_model(_features(tf), [column], units=2, cols_to_vars=variables)
    _filled(tf, t)
    kept = sorted(v.name for made in variables.values() for v in made)
    return found.shape.as_list()[1:], t.run(found), _names(tf), kept


def _facts(tf, t, column):
    spec = tf.feature_column.make_parse_example_spec([column])
    parts = [(key, type(value).__name__, value.dtype.name) for key, value in sorted(spec.items())]
    shape = column.variable_shape.as_list() if hasattr(column, "variable_shape") else column.num_buckets
    return column.name, shape, parts


_add(_dense, *DENSE)
_add(_indicator, *[name for name in IDS if not name.startswith("bucketized")])
_add(_embedding, *IDS)
_add(_linear, *(DENSE + [name for name in IDS if name not in DENSE]))
_add(_facts, *(DENSE + [name for name in IDS if name not in DENSE]))


@FAMILY.case()
def many_columns(tf, t):
    fc, columns = tf.feature_column, _columns(tf)
    dense = [columns[name] for name in ("pair", "age", "bucketized")]
    dense += [fc.embedding_column(columns["hashed"], 3), fc.indicator_column(columns["identity"])]
    variables, outputs = {}, {}
    found = fc.input_layer(_features(tf), dense, cols_to_vars=variables, cols_to_output_tensors=outputs)
    second = fc.linear_model(
        _features(tf), dense + [columns["crossed"], columns["weighted"]], sparse_combiner="mean"
    )
    _filled(tf, t)
    return (
        t.run(found),
        t.run(second),
        _names(tf),
        sorted(len(v) for v in variables.values()),
        sorted(o.shape.as_list()[1] for o in outputs.values()),
        len(tf.model_variables()),
        len(tf.trainable_variables()),
    )


@FAMILY.case()
def shared_tables(tf, t):
    fc = tf.feature_column
    both = [fc.categorical_column_with_vocabulary_list(key, WORDS) for key in ("words", "word")]
    found = fc.input_layer(_features(tf), fc.shared_embedding_columns(both, 2, combiner="sum"))
    _filled(tf, t)
    return t.run(found), _names(tf)


@FAMILY.case()
def table_that_stays(tf, t):
    fc = tf.feature_column
    column = fc.embedding_column(_columns(tf)["words"], 2, trainable=False, max_norm=0.5)
    found = fc.input_layer(_features(tf), [column])
    _filled(tf, t)
    return t.run(found), len(tf.trainable_variables())


@FAMILY.case()
def vocabulary_file(tf, t):
    path = os.path.join(tempfile.mkdtemp(), "words.txt")
    with open(path, "w") as file:
        file.write("a\nb\nc\n")
    fc = tf.feature_column
    column = fc.categorical_column_with_vocabulary_file("words", path, num_oov_buckets=1)
    return _input_layer(tf, t, [fc.indicator_column(column)]), column.vocabulary_size


@FAMILY.case()
def gradients_of_a_linear_model(tf, t):
    columns = _columns(tf)
    found = tf.feature_column.linear_model(
        _features(tf), [columns["age"], columns["words"], columns["weighted"]]
    )
    slopes = tf.gradients(found, sorted(tf.trainable_variables(), key=lambda v: v.name))
    return _started(tf, t, [tf.convert_to_tensor(slope) for slope in slopes])


@FAMILY.case()
def weights_in_other_places(tf, t):
    fc = tf.feature_column
    column = fc.weighted_categorical_column(_columns(tf)["words"], "amounts")
    features = dict(_features(tf), amounts=tf.constant([[0.5, 2.0, -1.0, 3.0]]))
    found = tf.feature_column.linear_model(features, [column])
    _filled(tf, t)
    return t.run(found)


@FAMILY.case()
def sparse_of_the_same_shape(tf, t):
    """Indices are taken as they are, even those outside of the shape."""
    same = tf.sparse_reshape(tf.SparseTensor([[0, 0, 2], [1, 0, 0]], [5, 7], [2, 2, 2]), [2, 2, 2])
    return t.run([same.indices, same.values, same.dense_shape])


@FAMILY.case()
def lists_of_tensors_of_another_dtype(tf, t):
    mixed = [[tf.constant(1), 2], [tf.constant(3), tf.constant(4)]]
    return tf.convert_to_tensor(mixed, tf.int64), tf.convert_to_tensor([tf.constant(-1.5), 2], tf.int32)


@FAMILY.case()
def examples(tf, t):
    columns = _columns(tf)
    spec = tf.feature_column.make_parse_example_spec(
        [columns["age"], columns["weighted"], columns["crossed"]]
    )
    example = tf.train.Example()
    example.features.feature["age"].float_list.value.append(4.0)
    for key, texts in (("words", [b"a", b"c"]), ("word", [b"b"])):
        example.features.feature[key].bytes_list.value.extend(texts)
    example.features.feature["weights"].float_list.value.extend([1.0, 2.0])
    found = tf.parse_example([example.SerializeToString()], spec)
    sums = tf.feature_column.linear_model(found, [columns["age"], columns["weighted"], columns["crossed"]])
    _filled(tf, t)
    return t.run(sums)


@FAMILY.case()
def sequences(tf, t):
    fc = tf.feature_column
    columns = [
        fc.sequence_numeric_column("steps"),
        fc.embedding_column(fc.sequence_categorical_column_with_hash_bucket("words", 4), 2),
        fc.indicator_column(
            fc.sequence_categorical_column_with_vocabulary_list("words", WORDS, num_oov_buckets=1)
        ),
        fc.indicator_column(fc.sequence_categorical_column_with_identity("id", 3, default_value=0)),
    ]
    return [column.name for column in columns], [column.variable_shape.as_list() for column in columns]


@FAMILY.case()
def sequence_input(tf, t):
    fc, contrib = tf.feature_column, tf.contrib.feature_column
    columns = [
        contrib.sequence_numeric_column("weights", default_value=-7.0),
        fc.embedding_column(contrib.sequence_categorical_column_with_hash_bucket("words", 4), 2),
        fc.indicator_column(
            contrib.sequence_categorical_column_with_vocabulary_list("words", WORDS, num_oov_buckets=1)
        ),
    ]
    found, lengths = contrib.sequence_input_layer(_features(tf), columns)
    _filled(tf, t)
    return t.run(found), t.run(lengths), _names(tf)


FAMILY.errors(
    """
    tf.feature_column.numeric_column("x", shape=(0,))
    tf.feature_column.numeric_column("x", shape=("a",))
    tf.feature_column.numeric_column("x", dtype=tf.string)
    tf.feature_column.numeric_column("x", shape=(2,), default_value=[1.0])
    tf.feature_column.numeric_column("x", default_value=[1.5], dtype=tf.int32)
    tf.feature_column.numeric_column("x", normalizer_fn=3)
    tf.feature_column.numeric_column(3)
    tf.feature_column.bucketized_column(tf.feature_column.numeric_column("x"), [2, 1])
    tf.feature_column.bucketized_column(tf.feature_column.numeric_column("x"), [])
    tf.feature_column.bucketized_column(tf.feature_column.numeric_column("x", (2, 2)), [1])
    tf.feature_column.categorical_column_with_hash_bucket("x", 0)
    tf.feature_column.categorical_column_with_hash_bucket("x", 2, tf.float32)
    tf.feature_column.categorical_column_with_vocabulary_list("x", [])
    tf.feature_column.categorical_column_with_vocabulary_list("x", ["a", "a"])
    tf.feature_column.categorical_column_with_vocabulary_list("x", ["a"], default_value=2, num_oov_buckets=2)
    tf.feature_column.categorical_column_with_vocabulary_list("x", ["a"], dtype=tf.int64)
    tf.feature_column.categorical_column_with_vocabulary_file("x", "/nowhere/words.txt")
    tf.feature_column.categorical_column_with_identity("x", 0)
    tf.feature_column.categorical_column_with_identity("x", 2, default_value=2)
    tf.feature_column.crossed_column(["a"], 3)
    tf.feature_column.crossed_column(["a", tf.feature_column.categorical_column_with_hash_bucket("x", 3)], 3)
    tf.feature_column.embedding_column(tf.feature_column.categorical_column_with_identity("x", 2), 0)
    tf.feature_column.embedding_column(
        tf.feature_column.categorical_column_with_identity("x", 2), 2, ckpt_to_load_from="c")
    tf.feature_column.weighted_categorical_column(
        tf.feature_column.categorical_column_with_identity("x", 2), "w", dtype=tf.string)
    tf.feature_column.input_layer({"x": ph(f(2))}, [tf.feature_column.categorical_column_with_identity("x", 2)])
    tf.feature_column.input_layer({"y": ph(f(2))}, [tf.feature_column.numeric_column("x")])
    tf.feature_column.input_layer({"x": ph(f(2))}, [])
    tf.feature_column.input_layer({"x": ph(f(2))}, [tf.feature_column.numeric_column("x")] * 2)
    tf.feature_column.input_layer({"x": tf.constant(1.0)}, [tf.feature_column.numeric_column("x")])
    tf.feature_column.input_layer(
        {"x": ph(f(2)), "y": ph(f(3))}, [tf.feature_column.numeric_column("x"), tf.feature_column.numeric_column("y")])
    tf.feature_column.linear_model({"x": ph([5])}, [tf.feature_column.categorical_column_with_identity("x", 2)])
    tf.feature_column.make_parse_example_spec(["x"])
    """
)
