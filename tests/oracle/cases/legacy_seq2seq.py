"""tf.contrib.legacy_seq2seq's decoders and models: names of variables, outputs, states, losses."""

import numpy as np
from harness import Family

FAMILY = Family("legacy_seq2seq")


def _waves(tf):
    def initializer(shape, dtype=None, partition_info=None):
        count = int(np.prod(shape))
        return tf.constant(np.sin(1.7 * np.arange(1, count + 1)).reshape(shape), dtype=dtype or tf.float32)

    return initializer


def _model(tf, t, name, feed_previous, **kwargs):
    s2s = tf.contrib.legacy_seq2seq
    encoder = [tf.constant(t.n(5, 2)) for _ in range(3)]
    decoder = [tf.constant(t.n(4, 2)) for _ in range(2)]
    with tf.variable_scope("m", initializer=_waves(tf)):
        cell = tf.nn.rnn_cell.GRUCell(3)
        outputs, state = getattr(s2s, name)(
            encoder, decoder, cell, 5, 4, 2, feed_previous=feed_previous, **kwargs
        )
    t.initialize()
    return t.run([outputs, state]), sorted((v.name, v.shape.as_list()) for v in tf.global_variables())


def _declare(name, label, feed_previous, **kwargs):
    def build(tf, t):
        feed = tf.constant(True) if feed_previous == "tensor" else feed_previous
        given = dict(kwargs)
        if given.pop("projected", False):
            weights = tf.constant(np.cos(np.arange(12.0)).reshape(3, 4).astype(np.float32))
            given["output_projection"] = (weights, tf.constant([0.1, 0.2, 0.3, 0.4]))
        return _model(tf, t, name, feed, **given)

    source = "%s(feed_previous=%s, %s)" % (name, feed_previous, kwargs)
    FAMILY.generated("%s %s" % (name, label), build, source)


for _name in ("embedding_rnn_seq2seq", "embedding_attention_seq2seq"):
    _declare(_name, "trained", False)
    _declare(_name, "fed by itself", True)
    _declare(_name, "fed by a tensor", "tensor")
    _declare(_name, "with a projection", True, projected=True)
_declare("embedding_attention_seq2seq", "with two heads", False, num_heads=2)
_declare("embedding_attention_seq2seq", "that looks first", False, initial_state_attention=True)


@FAMILY.case()
def buckets_share_variables(tf, t):
    s2s = tf.contrib.legacy_seq2seq
    encoder = [tf.constant(t.n(5, 2)) for _ in range(3)]
    decoder = [tf.constant(t.n(4, 2)) for _ in range(3)]
    weights = [tf.constant(t.unit(2)) for _ in range(3)]
    with tf.variable_scope("m", initializer=_waves(tf)):
        outputs, losses = s2s.model_with_buckets(
            encoder, decoder, decoder, weights, [(1, 2), (3, 3)],
            lambda x, y: s2s.embedding_rnn_seq2seq(x, y, tf.nn.rnn_cell.BasicLSTMCell(3), 5, 4, 2),
        )  # fmt: skip
    gradient = tf.gradients(losses[1], tf.trainable_variables())
    t.initialize()
    return t.run([outputs, losses, [tf.convert_to_tensor(each) for each in gradient]])


@FAMILY.case()
def states_of_one_cell_go_on(tf, t):
    cell = tf.nn.rnn_cell.LSTMCell(3)
    with tf.variable_scope("m", initializer=_waves(tf)):
        found = tf.contrib.legacy_seq2seq.basic_rnn_seq2seq(
            [tf.constant(t.f(2, 3)) for _ in range(2)], [tf.constant(t.f(2, 3)) for _ in range(2)], cell
        )
    t.initialize()
    return t.run(found), sorted(v.name for v in tf.global_variables())


def _symbols(tf, t, count):
    return [tf.constant(t.n(4, 2)) for _ in range(count)]


def _with_gradients(tf, t, found):
    outputs, state = found
    gradient = tf.gradients(outputs, tf.trainable_variables())
    t.initialize()
    names = sorted(v.name for v in tf.global_variables())
    return t.run([outputs, state, [tf.convert_to_tensor(each) for each in gradient]]), names


@FAMILY.case()
def one_cell_reads_and_writes(tf, t):
    with tf.variable_scope("m", initializer=_waves(tf)):
        found = tf.contrib.legacy_seq2seq.tied_rnn_seq2seq(
            [tf.constant(t.f(2, 3)) for _ in range(2)], [tf.constant(t.f(2, 3)) for _ in range(2)],
            tf.nn.rnn_cell.GRUCell(3), lambda output, number: output * number,
        )  # fmt: skip
    return _with_gradients(tf, t, found)


def _tied(tf, t, feeds, **kwargs):
    with tf.variable_scope("m", initializer=_waves(tf)):
        found = tf.contrib.legacy_seq2seq.embedding_tied_rnn_seq2seq(
            _symbols(tf, t, 2),
            _symbols(tf, t, 3),
            tf.nn.rnn_cell.BasicLSTMCell(3),
            4,
            2,
            feed_previous=feeds,
            **kwargs,
        )
    return _with_gradients(tf, t, found)


@FAMILY.case()
def one_cell_of_symbols(tf, t):
    return _tied(tf, t, False, num_decoder_symbols=3)


@FAMILY.case()
def one_cell_of_symbols_that_feeds_itself(tf, t):
    weights = tf.constant(np.cos(np.arange(12.0)).reshape(3, 4).astype(np.float32))
    return _tied(tf, t, True, output_projection=(weights, tf.constant([0.1, 0.2, 0.3, 0.4])))


@FAMILY.case()
def one_cell_of_symbols_fed_by_a_tensor(tf, t):
    return _tied(tf, t, tf.constant(True))


def _many(tf, t, feeds):
    cell = tf.nn.rnn_cell.GRUCell
    with tf.variable_scope("m", initializer=_waves(tf)):
        outputs, states = tf.contrib.legacy_seq2seq.one2many_rnn_seq2seq(
            _symbols(tf, t, 2), {"a": _symbols(tf, t, 2), "b": _symbols(tf, t, 3)}, cell(3),
            {"a": cell(3), "b": cell(3)}, 4, {"a": 5, "b": 4}, 2, feed_previous=feeds,
        )  # fmt: skip
    found = [*outputs["a"], *outputs["b"]], [states["a"], states["b"]]
    return _with_gradients(tf, t, found)


@FAMILY.case()
def one_reader_for_two_writers(tf, t):
    return _many(tf, t, False)


@FAMILY.case()
def one_reader_for_two_writers_fed_by_a_tensor(tf, t):
    return _many(tf, t, tf.constant(True))


FAMILY.errors(
    """
    tf.contrib.legacy_seq2seq.attention_decoder([], None, ph(f(2, 3, 4)), tf.nn.rnn_cell.GRUCell(3))
    tf.contrib.legacy_seq2seq.attention_decoder(
        [ph(f(2, 3))], None, ph(f(2, 3, 4)), tf.nn.rnn_cell.GRUCell(3), num_heads=0)
    tf.contrib.legacy_seq2seq.attention_decoder(
        [ph(f(2, 3))], None, ph(f(2, 3, 4), [2, 3, None]), tf.nn.rnn_cell.GRUCell(3))
    tf.contrib.legacy_seq2seq.one2many_rnn_seq2seq([], {}, None, {}, 3, {}, 2)
    tf.contrib.legacy_seq2seq.one2many_rnn_seq2seq([], {"a": []}, tf.nn.rnn_cell.GRUCell(3), {}, 3, {}, 2)
    tf.contrib.legacy_seq2seq.model_with_buckets([], [], [], [], [(1, 1)], None)
    """
)
