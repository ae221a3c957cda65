"""tf.contrib.rnn, .opt, .seq2seq and .legacy_seq2seq: numbers, gradients, names of variables."""

import numpy as np
from harness import Family

FAMILY = Family("contrib_rnn")


def _unrolled(make):
    def build(tf, t):
        x = t.ph(t.f(2, 3, 4), [None, 3, 4])
        with tf.variable_scope("net", initializer=tf.random_uniform_initializer(-1, 1, seed=3)):
            cell = make(tf, tf.contrib.rnn)
            outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
        names = sorted(v.name for v in tf.trainable_variables())
        random = np.random.RandomState(1)
        ordered = sorted(tf.trainable_variables(), key=lambda v: v.name)
        values = [random.uniform(-1, 1, v.shape.as_list()).astype("float32") for v in ordered]
        assigned = [v.assign(value) for v, value in zip(ordered, values)]
        gradients = tf.gradients(outputs, ordered + [x])
        t.initialize()
        t.run([a.op for a in assigned])
        return names, t.run([outputs, state, gradients]), len(tf.get_collection(tf.GraphKeys.MODEL_VARIABLES))

    return build


for _label, _make in {
    "LSTMBlockCell": lambda tf, rnn: rnn.LSTMBlockCell(5),
    "LSTMBlockCell with peepholes": lambda tf, rnn: rnn.LSTMBlockCell(5, forget_bias=0.5, use_peephole=True),
    "LSTMBlockCell with a clip": lambda tf, rnn: rnn.LSTMBlockCell(5, cell_clip=0.2),
    "LayerNormBasicLSTMCell": lambda tf, rnn: rnn.LayerNormBasicLSTMCell(5),
    "LayerNormBasicLSTMCell, plain": lambda tf, rnn: rnn.LayerNormBasicLSTMCell(
        5, 0.5, layer_norm=False, activation=tf.nn.relu
    ),
    "InputProjectionWrapper": lambda tf, rnn: rnn.InputProjectionWrapper(
        rnn.BasicRNNCell(5), 2, activation=tf.nn.relu
    ),
    "OutputProjectionWrapper": lambda tf, rnn: rnn.OutputProjectionWrapper(rnn.BasicLSTMCell(5), 2),
    "DeviceWrapper": lambda tf, rnn: rnn.DeviceWrapper(rnn.BasicLSTMCell(5), "/cpu:0"),
    "AttentionCellWrapper": lambda tf, rnn: rnn.AttentionCellWrapper(rnn.BasicLSTMCell(5), 3),
    "AttentionCellWrapper of other sizes": lambda tf, rnn: rnn.AttentionCellWrapper(
        rnn.GRUCell(5), 2, attn_size=4, attn_vec_size=3, input_size=6, state_is_tuple=False
    ),
    "a stack": lambda tf, rnn: rnn.MultiRNNCell(
        [rnn.LSTMBlockCell(3), rnn.OutputProjectionWrapper(rnn.GRUCell(5), 2, activation=tf.tanh)]
    ),
}.items():
    FAMILY.generated("dynamic_rnn of %s" % _label, _unrolled(_make), _label, tolerance=(1e-4, 1e-5))


@FAMILY.case(tolerance=(1e-4, 1e-5), names="none")
def gains_of_a_normalised_cell(tf, t):
    cell = tf.contrib.rnn.LayerNormBasicLSTMCell(3, norm_gain=0.5, norm_shift=0.25, dropout_keep_prob=1.0)
    with tf.variable_scope("net", initializer=tf.constant_initializer(0.1)):
        output, _ = cell(t.ph(t.f(2, 3)), cell.zero_state(2, tf.float32))
        again, _ = cell(t.ph(t.f(2, 3)), cell.zero_state(2, tf.float32))
    return output, again, [v.name for v in tf.global_variables()], cell.state_size, cell.output_size


@FAMILY.case(tolerance=(1e-4, 1e-5))
def layers_of_both_directions(tf, t):
    rnn = tf.contrib.rnn
    half = tf.constant_initializer(0.3)
    with tf.variable_scope("net", initializer=half):
        outputs, forward, backward = rnn.stack_bidirectional_dynamic_rnn(
            [rnn.BasicRNNCell(2), rnn.BasicLSTMCell(3)],
            [rnn.BasicRNNCell(2), rnn.BasicLSTMCell(3)],
            t.ph(t.f(2, 3, 4), [None, 3, 4]),
            dtype=tf.float32,
            sequence_length=[3, 2],
        )
    cell = rnn.BasicRNNCell(2)
    errors = [
        t.error(lambda: rnn.stack_bidirectional_dynamic_rnn([], [cell], t.f(1, 2, 2), dtype=tf.float32)),
        t.error(lambda: rnn.stack_bidirectional_dynamic_rnn([cell], [], t.f(1, 2, 2), dtype=tf.float32)),
        t.error(
            lambda: rnn.stack_bidirectional_dynamic_rnn((cell,), (cell,), t.f(1, 2, 2), dtype=tf.float32)
        ),
        t.error(lambda: rnn.OutputProjectionWrapper(cell, 0)),
        t.error(lambda: rnn.AttentionCellWrapper(cell, 0)),
        t.error(lambda: rnn.AttentionCellWrapper(rnn.BasicLSTMCell(2), 3, state_is_tuple=False)),
    ]
    return outputs, forward, backward, [v.name for v in tf.global_variables()], errors


class _Counter:
    """A cell whose output has another dtype than its state, as those of tf.contrib.crf."""

    state_size = output_size = 3
    trainable_variables = variables = ()

    def __init__(self, tf):
        self._tf = tf

    def zero_state(self, batch_size, dtype):
        return self._tf.zeros([batch_size, 3], dtype)

    def __call__(self, inputs, state, scope=None):
        following = state + self._tf.cast(inputs, state.dtype)
        return self._tf.cast(following, self._tf.int32), following


@FAMILY.case(names="none")
def dtype_of_outputs(tf, t):
    """dtype is that of the outputs, also beside an initial state of another dtype."""
    x, lengths, state = t.ph(t.n(5, 2, 3, 3), [None, 3, 3]), t.ph(np.array([3, 1])), t.ph(t.f(2, 3))
    cell = _Counter(tf)
    given = tf.nn.dynamic_rnn(cell, x, initial_state=state, dtype=tf.int32)
    ended = tf.nn.dynamic_rnn(cell, x, lengths, initial_state=state, dtype=tf.int32)
    alone = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.int32)
    several = t.error(
        lambda: tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(3)] * 2),
            tf.cast(x, tf.float32),
            initial_state=(state, tf.cast(state, tf.float64)),
        )
    )
    return given, ended, alone, several


def _lazily(rate, rows):
    def build(tf, t):
        table = tf.get_variable("table", initializer=t.f(5, 2))
        dense = tf.get_variable("dense", initializer=t.f(2))
        picked = tf.gather(table, rows)
        loss = tf.reduce_sum(tf.square(picked * dense))
        train = tf.contrib.opt.LazyAdamOptimizer(rate, beta1=0.8).minimize(loss)
        t.initialize()
        losses = [t.run([loss, train])[0] for _ in range(3)]
        return losses, t.run([table, dense]), sorted(v.name for v in tf.global_variables())

    return build


FAMILY.generated("LazyAdamOptimizer", _lazily(0.1, [0, 3]), "lazy", tolerance=(1e-4, 1e-5))
FAMILY.generated("LazyAdamOptimizer, rows twice", _lazily(0.05, [1, 3, 1]), "twice", tolerance=(1e-4, 1e-5))

_LISTS = "[ph(f(2, 4)), ph(f(2, 4))], [ph(n(4, 2)), ph(n(4, 2))], [ph(pos(2)), ph(pos(2))]"
_TENSORS = "ph(f(2, 3, 4), [None, 3, 4]), ph(n(4, 2, 3), [None, 3]), ph(pos(2, 3) * b(2, 3), [None, 3])"

FAMILY.differentiable(
    "\n".join(
        "tf.contrib.%s" % call
        for call in (
            "legacy_seq2seq.sequence_loss_by_example(%s)" % _LISTS,
            "legacy_seq2seq.sequence_loss_by_example(%s, average_across_timesteps=False)" % _LISTS,
            "legacy_seq2seq.sequence_loss(%s)" % _LISTS,
            "legacy_seq2seq.sequence_loss(%s, average_across_batch=False)" % _LISTS,
            "legacy_seq2seq.sequence_loss(%s, softmax_loss_function=lambda labels, logits: logits[:, 0])"
            % _LISTS,
            "seq2seq.sequence_loss(%s)" % _TENSORS,
            "seq2seq.sequence_loss(%s, average_across_timesteps=False)" % _TENSORS,
            "seq2seq.sequence_loss(%s, average_across_batch=False)" % _TENSORS,
            "seq2seq.sequence_loss(%s, False, False)" % _TENSORS,
            "seq2seq.sequence_loss(%s, False, False, True, True)" % _TENSORS,
            "seq2seq.sequence_loss(%s, False, False, True, False)" % _TENSORS,
            "seq2seq.sequence_loss(%s, False, False, sum_over_batch=True)" % _TENSORS,
        )
    ),
    names="none",
    tolerance=(1e-5, 1e-6),
)

FAMILY.errors(
    """
    tf.contrib.legacy_seq2seq.sequence_loss_by_example([f(2, 4)], [n(4, 2)], [])
    tf.contrib.seq2seq.sequence_loss(ph(f(2, 4)), ph(n(4, 2, 3)), ph(f(2, 3)))
    tf.contrib.seq2seq.sequence_loss(ph(f(2, 3, 4)), ph(n(4, 2)), ph(f(2, 3)))
    tf.contrib.seq2seq.sequence_loss(ph(f(2, 3, 4)), ph(n(4, 2, 3)), ph(f(2)))
    tf.contrib.seq2seq.sequence_loss(ph(f(2, 3, 4)), ph(n(4, 2, 3)), ph(f(2, 3)), sum_over_batch=True)
    """
)


@FAMILY.case(tolerance=(1e-4, 1e-5))
def a_decoder_feeds_itself(tf, t):
    with tf.variable_scope("net", initializer=tf.constant_initializer(0.3)):
        cell = tf.contrib.rnn.BasicRNNCell(3)
        inputs = [t.ph(t.f(2, 3)) for _ in range(3)]
        start = cell.zero_state(2, tf.float32)
        plain = tf.contrib.legacy_seq2seq.rnn_decoder(inputs, start, cell)
        fed = tf.contrib.legacy_seq2seq.rnn_decoder(
            inputs, start, tf.contrib.rnn.BasicRNNCell(3), lambda previous, step: previous * step, scope="fed"
        )
    return plain, fed, [v.name for v in tf.global_variables()]
