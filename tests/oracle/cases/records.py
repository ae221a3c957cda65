"""Records: sequence examples in batches, and files of comma-separated values as datasets."""

import gzip
import os
import tempfile

from harness import Family

FAMILY = Family("records")


def _feature(tf, values):
    if not values:
        return tf.train.Feature()
    if isinstance(values[0], int):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def _sequence(tf, context, lists):
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={k: _feature(tf, v) for k, v in context.items()}),
        feature_lists=tf.train.FeatureLists(
            feature_list={
                k: tf.train.FeatureList(feature=[_feature(tf, row) for row in rows])
                for k, rows in lists.items()
            }
        ),
    ).SerializeToString()


def _messages(tf):
    return [
        _sequence(
            tf, {"n": [3], "x": [0.5, 1.5]}, {"tokens": [[1], [2], [3]], "pairs": [[1, 2]], "w": [[b"a"], []]}
        ),
        _sequence(tf, {"n": [4], "k": [7, 8]}, {"tokens": [[9]], "w": [[b"b", b"c"], [], [b"d"]]}),
        _sequence(tf, {"n": [5]}, {"tokens": []}),
    ]


@FAMILY.case(names="none")
def sequence_examples(tf, t):
    context, lists, lengths = tf.io.parse_sequence_example(
        tf.placeholder_with_default(tf.constant(_messages(tf)), [None]),
        {
            "n": tf.FixedLenFeature([], tf.int64),
            "k": tf.VarLenFeature(tf.int64),
            "x": tf.FixedLenFeature([2], tf.float32, [9.0, 8.0]),
        },
        {
            "tokens": tf.FixedLenSequenceFeature([], tf.int64),
            "pairs": tf.FixedLenSequenceFeature([2], tf.int64, allow_missing=True),
            "w": tf.VarLenFeature(tf.string),
        },
    )
    return context, lists, lengths


@FAMILY.case(names="none")
def one_kind_of_features(tf, t):
    messages = tf.constant(_messages(tf))
    context, none, no_lengths = tf.io.parse_sequence_example(
        messages, {"n": tf.FixedLenFeature([1], tf.int64)}
    )
    nothing, lists, lengths = tf.io.parse_sequence_example(
        messages,
        sequence_features={"tokens": tf.FixedLenSequenceFeature([1], tf.int64)},
        example_names=["a", "b", "c"],
    )
    return context, none, no_lengths, nothing, lists, lengths


@FAMILY.case()
def sequence_examples_that_are_wrong(tf, t):
    parse = tf.io.parse_sequence_example
    messages = tf.constant(_messages(tf))
    needed = {"pairs": tf.FixedLenSequenceFeature([2], tf.int64)}
    return (
        t.error(lambda: parse(messages)),
        t.error(lambda: t.run(parse(messages, None, needed)[1]["pairs"])),
        t.error(lambda: t.run(parse([b"\xff\xff"], {"n": tf.FixedLenFeature([], tf.int64)})[0]["n"])),
        t.error(lambda: t.run(parse(messages, {"x": tf.FixedLenFeature([2], tf.float32)})[0]["x"])),
        t.error(
            lambda: t.run(
                parse(messages, None, {"tokens": tf.FixedLenSequenceFeature([2], tf.int64)})[1]["tokens"]
            )
        ),
        t.error(lambda: t.run(parse(messages, {"n": tf.FixedLenFeature([], tf.float32)})[0]["n"])),
    )


def _file(text, name="a.csv"):
    path = os.path.join(tempfile.mkdtemp(), name)
    with (gzip.open if name.endswith("gz") else open)(path, "wb") as file:
        file.write(text)
    return path


def _all(t, dataset):
    """The elements of a dataset, and what its end is."""
    element = dataset.make_one_shot_iterator().get_next()
    found = []
    while len(found) < 20:
        result = t.error(lambda: t.run(element))
        if hasattr(result, "error"):
            return found + [result]
        found.append(result)
    return found


PLAIN = b'n,x,word\n1,0.5,a\n2,,"b, c"\n-3,1e2,\n'


@FAMILY.case()
def records_of_a_file(tf, t):
    dataset = tf.data.experimental.CsvDataset(
        _file(PLAIN), [tf.int32, tf.constant([7.0], tf.float32), tf.constant(["none"])], header=True
    )
    return _all(t, dataset), str(dataset.output_shapes), [d.name for d in dataset.output_types]


@FAMILY.case()
def records_of_many_kinds(tf, t):
    CsvDataset = tf.data.experimental.CsvDataset
    return (
        _all(t, CsvDataset(_file(PLAIN), [tf.string, tf.constant(["-"])], header=True, select_cols=[0, 2])),
        _all(
            t,
            CsvDataset([_file(b"1;x\n"), _file(b"2;NA\n")], [tf.int64, [""]], field_delim=";", na_value="NA"),
        ),
        _all(t, CsvDataset(_file(b'"a ""b""\nc",1\nd,2'), [tf.string, tf.int32])),
        _all(t, CsvDataset(_file(b'"a",1\r\n"b",2\r\n'), [tf.string, tf.int32])),
        _all(t, CsvDataset(_file(b'"a",1\n'), [tf.string, tf.int32], use_quote_delim=False)),
        _all(t, CsvDataset(_file(b"a,1\nb,2\n", "a.csv.gz"), [tf.string, tf.float64], "GZIP", header=True)),
        _all(t, CsvDataset(_file(b""), [tf.string], header=True)),
    )


@FAMILY.case()
def records_that_are_wrong(tf, t):
    CsvDataset = tf.data.experimental.CsvDataset
    return (
        _all(t, CsvDataset(_file(b"1,2\n3\n"), [tf.int32, tf.int32])),
        _all(t, CsvDataset(_file(b"1,2\n3,\n"), [tf.int32, tf.int32])),
        _all(t, CsvDataset(_file(b"1,2\nx,4\n"), [tf.int32, tf.int32])),
        _all(t, CsvDataset(_file(b'1,"2\n3,4\n'), [tf.int32, tf.int32])),
        _all(t, CsvDataset(_file(b'1,2"3"\n'), [tf.int32, tf.string])),
        _all(t, CsvDataset("/no/such/file", [tf.int32])),
        t.error(lambda: CsvDataset("x", [tf.uint8])),
        t.error(
            lambda: t.run(
                CsvDataset(_file(b"1,2\n"), [tf.int32], select_cols=[1, 0])
                .make_one_shot_iterator()
                .get_next()
            )
        ),
    )


@FAMILY.case()
def records_end_where_lines_do(tf, t):
    CsvDataset = tf.data.experimental.CsvDataset
    two = [tf.string, tf.constant(["-"])]
    texts = (
        b"a,1\rb,2\r",
        b"a,1\rb,2\nc,3\r\nd,4",
        b'"a\r\nb",1\r\n"c\rd",2\r\n',
        b'"a\n\nb",1\n"c\n""d""\n",2\n',
        b"a,\n\xff,2",
        b'a,""\n"""",2\n',
        b'"a","b"\r"c","d"',
        b"a,1\r\rb,2",
    )
    return [_all(t, CsvDataset(_file(text), two)) for text in texts]


@FAMILY.case()
def headers_end_where_lines_do(tf, t):
    CsvDataset = tf.data.experimental.CsvDataset
    two = [tf.string, tf.constant(["-"])]
    texts = b"a,1\rb,2\r", b'"a\r\nb",1\r\n"c\rd",2\r\n', b'"a\n\nb",1\n"c\n""d""\n",2\n'
    wrong = b"a,1\n\n", b'"a', b'"a"\n"b,\n'
    header = [_all(t, CsvDataset(_file(text), two, header=True)) for text in texts]
    loose = [_all(t, CsvDataset(_file(text), two, use_quote_delim=False)) for text in texts[:2]]
    return header, loose, [_all(t, CsvDataset(_file(text), two)) for text in wrong]


@FAMILY.case()
def wrong_quotes_end_with_their_record(tf, t):
    two = [tf.string, tf.string]
    texts = (
        b'1,2"3\na,b"\n9,8"7\ne,f\n',
        b'1,"2"3"\n"2"3",4"\na,"c"d"\ne,f\n',
        b'"a"b,1\nc,2"\ne,f\n',
        b'a"b"c,1\ne,f\n',
    )
    datasets = [tf.data.experimental.CsvDataset(_file(text), two) for text in texts]
    ignoring = [dataset.apply(tf.data.experimental.ignore_errors()) for dataset in datasets]
    return [_all(t, dataset) for dataset in datasets], [_all(t, dataset) for dataset in ignoring]


def _batches(t, dataset, count):
    element = dataset.make_one_shot_iterator().get_next()
    return [t.run(element) for _ in range(count)]


@FAMILY.case()
def batches_of_columns(tf, t):
    make = tf.data.experimental.make_csv_dataset
    path = _file(b"n,x,word,big\n1,2,a,9000000000\n2,0.5,,1\n3,,c,1\n")
    plain = make(path, 2, num_epochs=1, shuffle=False)
    labelled = make(
        path,
        2,
        label_name="word",
        num_epochs=2,
        shuffle=False,
        column_defaults=[tf.int64, [0.0], [""], [0.0]],
    )
    some = make([path], 1, select_columns=["word", 0], shuffle=False)
    named = make(path, 3, column_names=["a", "b", "c", "d"], header=False, num_epochs=1, shuffle=False)
    return (
        _batches(t, plain, 2), _batches(t, labelled, 3), _batches(t, some, 2), _batches(t, named, 2),
        {k: v.name for k, v in plain.output_types.items()}, str(labelled.output_shapes[1]),
        str(some.output_shapes["word"]),
    )  # fmt: skip


@FAMILY.case()
def shuffled_columns(tf, t):
    path = _file(b"n\n" + b"".join(b"%d\n" % n for n in range(10)))
    dataset = tf.data.experimental.make_csv_dataset(
        path, 5, shuffle_buffer_size=10, shuffle_seed=3, num_epochs=1
    )
    return sorted(n for batch in _batches(t, dataset, 2) for n in batch["n"].tolist())


@FAMILY.case()
def columns_that_are_wrong(tf, t):
    make = tf.data.experimental.make_csv_dataset
    path, other = _file(b"a,b\n1,2\n"), _file(b"a,c\n1,2\n")
    return (
        t.error(lambda: make(os.path.join(os.path.dirname(path), "*.txt"), 2)),
        t.error(lambda: make(path, 2, header=False)),
        t.error(lambda: make([path, other], 2)),
        t.error(lambda: make(path, 2, label_name="c")),
        t.error(lambda: make(path, 2, select_columns=["a", "d"])),
        t.error(lambda: make(path, 2, select_columns=[0, "a"])),
        t.error(lambda: make(path, 2, column_names=["a", "a"])),
        t.error(lambda: make(path, 2, select_columns=["a"], column_defaults=[tf.int32, tf.int32])),
        t.error(lambda: make(_file(b""), 2)),
    )
