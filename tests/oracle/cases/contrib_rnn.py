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
        gradients = [g for g in tf.gradients(outputs, ordered + [x]) if g is not None]
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


for _label, _make in {
    "UGRNNCell": lambda tf, rnn: rnn.UGRNNCell(5),
    "UGRNNCell with arguments": lambda tf, rnn: rnn.UGRNNCell(
        5, tf.ones_initializer(), 0.5, activation=tf.nn.relu
    ),
    "IntersectionRNNCell": lambda tf, rnn: rnn.IntersectionRNNCell(4),
    "IntersectionRNNCell with a projection": lambda tf, rnn: rnn.IntersectionRNNCell(3, num_in_proj=3),
    "SRUCell": lambda tf, rnn: rnn.SRUCell(5),
    "IndRNNCell": lambda tf, rnn: rnn.IndRNNCell(5, tf.nn.relu),
    "IndyGRUCell": lambda tf, rnn: rnn.IndyGRUCell(5),
    "IndyLSTMCell": lambda tf, rnn: rnn.IndyLSTMCell(5, forget_bias=0.5),
    "GRUBlockCell": lambda tf, rnn: rnn.GRUBlockCell(5),
    "GRUBlockCellV2": lambda tf, rnn: rnn.GRUBlockCellV2(cell_size=5),
    "CoupledInputForgetGateLSTMCell": lambda tf, rnn: rnn.CoupledInputForgetGateLSTMCell(5),
    "CoupledInputForgetGateLSTMCell with all": lambda tf, rnn: rnn.CoupledInputForgetGateLSTMCell(
        5, True, num_proj=3, proj_clip=0.3, num_unit_shards=2, num_proj_shards=2, state_is_tuple=False
    ),
    "CoupledInputForgetGateLSTMCell, normalised": lambda tf, rnn: rnn.CoupledInputForgetGateLSTMCell(
        5, True, layer_norm=True, norm_gain=0.5, norm_shift=0.1
    ),
    "CudnnCompatibleLSTMCell": lambda tf, rnn: tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell(5),
    "CudnnCompatibleGRUCell": lambda tf, rnn: tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell(5),
    "HighwayWrapper": lambda tf, rnn: rnn.HighwayWrapper(rnn.GRUCell(4)),
    "HighwayWrapper of two gates": lambda tf, rnn: rnn.HighwayWrapper(rnn.BasicRNNCell(4), False, 0.5),
}.items():
    FAMILY.generated("dynamic_rnn of %s" % _label, _unrolled(_make), _label, tolerance=(1e-4, 1e-5))


def _phased(tf, t, cell, times):
    x = t.ph(t.f(2, 3, 4), [None, 3, 4])
    with tf.variable_scope("net", initializer=tf.random_uniform_initializer(-1, 1, seed=3)):
        outputs, state = tf.nn.dynamic_rnn(cell, (times, x), dtype=tf.float32)
    random = np.random.RandomState(1)
    ordered = sorted(tf.global_variables(), key=lambda v: v.name)
    values = {"period": [1.5, 2.0, 4.0], "phase": [0.2, 0.7, 1.3], "ratio_on": [0.4, 0.6, 0.8]}
    assigned = []
    for v in ordered:
        value = values.get(v.op.name.rpartition("/")[2])
        assigned.append(v.assign(random.uniform(-1, 1, v.shape.as_list()) if value is None else value).op)
    gradients = tf.gradients(outputs, tf.trainable_variables() + [x])
    t.initialize()
    t.run(assigned)
    return [v.name for v in ordered], len(tf.trainable_variables()), t.run([outputs, state, gradients])


@FAMILY.case(tolerance=(1e-4, 1e-5))
def phased_lstm(tf, t):
    times = t.ph(np.float32([[[0.1], [0.9], [2.3]], [[0.4], [1.6], [5.5]]]), [None, 3, 1])
    return _phased(tf, t, tf.contrib.rnn.PhasedLSTMCell(3), times)


@FAMILY.case(tolerance=(1e-4, 1e-5))
def phased_lstm_with_times_of_float64(tf, t):
    times = t.ph(np.array([[[0.1], [0.9], [2.3]], [[0.4], [1.6], [5.5]]]), [None, 3, 1])
    cell = tf.contrib.rnn.PhasedLSTMCell(3, True, leak=0.1, trainable_ratio_on=False)
    return _phased(tf, t, cell, times)


@FAMILY.case(tolerance=(1e-4, 1e-5))
def first_periods_and_phases(tf, t):
    cell = tf.contrib.rnn.PhasedLSTMCell(200, period_init_min=2.0, period_init_max=50.0)
    cell((tf.zeros([1, 1]), tf.zeros([1, 2])), cell.zero_state(1, tf.float32))
    found = {v.op.name.rpartition("/")[2]: v for v in tf.global_variables()}
    t.initialize()
    period, phase = t.run([found["period"], found["phase"]])
    logarithms = np.log(period)
    return (
        bool(2 <= period.min() < 3 and 40 < period.max() <= 50),
        bool(abs(logarithms.mean() - np.log(10)) < 0.25),
        bool((phase >= 0).all() and (phase < period).all() and phase.max() > 10),
    )


def _convolved(make, shape):
    def build(tf, t):
        x = t.ph(t.f(*shape))
        with tf.variable_scope("net", initializer=tf.random_uniform_initializer(-1, 1, seed=3)):
            outputs, state = tf.nn.dynamic_rnn(make(tf.contrib.rnn), x, dtype=tf.float32)
        random = np.random.RandomState(1)
        ordered = sorted(tf.trainable_variables(), key=lambda v: v.name)
        assigned = [v.assign(random.uniform(-1, 1, v.shape.as_list())).op for v in ordered]
        gradients = [g for g in tf.gradients(outputs, ordered + [x]) if g is not None]
        t.initialize()
        t.run(assigned)
        return [v.name for v in ordered], str(outputs.shape), t.run([outputs, state, gradients])

    return build


for _label, _make, _shape in (
    (
        "Conv1DLSTMCell",
        lambda rnn: rnn.Conv1DLSTMCell(input_shape=[4, 2], output_channels=2, kernel_shape=[3]),
        (2, 2, 4, 2),
    ),
    (
        "Conv2DLSTMCell",
        lambda rnn: rnn.Conv2DLSTMCell(
            input_shape=[3, 4, 1], output_channels=2, kernel_shape=[3, 2], use_bias=False, forget_bias=0.5
        ),
        (1, 2, 3, 4, 1),
    ),
    (
        "Conv3DLSTMCell",
        lambda rnn: rnn.Conv3DLSTMCell(input_shape=[2, 2, 3, 1], output_channels=1, kernel_shape=[2, 2, 2]),
        (1, 2, 2, 2, 3, 1),
    ),
    (
        "ConvLSTMCell",
        lambda rnn: rnn.ConvLSTMCell(1, input_shape=[4, 2], output_channels=3, kernel_shape=[2]),
        (2, 2, 4, 2),
    ),
):
    FAMILY.generated("dynamic_rnn of %s" % _label, _convolved(_make, _shape), _label, tolerance=(1e-4, 1e-5))


@FAMILY.case(tolerance=(1e-4, 1e-5), names="none")
def a_step_with_the_inputs_beside_the_output(tf, t):
    cell = tf.contrib.rnn.ConvLSTMCell(
        1, input_shape=[4, 2], output_channels=3, kernel_shape=[2], skip_connection=True
    )
    with tf.variable_scope("net", initializer=tf.constant_initializer(0.1)):
        output, state = cell(t.ph(t.f(2, 4, 2)), cell.zero_state(2, tf.float32))
    return output, state, str(cell.output_size), str(cell.state_size.c)


FAMILY.errors(
    """
    tf.contrib.rnn.GRUBlockCell(3, cell_size=3)
    tf.contrib.rnn.GRUBlockCell()
    tf.contrib.rnn.ConvLSTMCell(2, [3, 1], 2, [3])
    tf.contrib.rnn.IntersectionRNNCell(4)(tf.zeros([2, 3]), tf.zeros([2, 4]))
    tf.contrib.rnn.CoupledInputForgetGateLSTMCell(1, num_unit_shards=9)(tf.zeros([1, 2]), (tf.zeros([1, 1]),) * 2)
    tf.nn.raw_rnn(3, lambda time, output, state, kept: None)
    tf.nn.raw_rnn(tf.nn.rnn_cell.GRUCell(3), 3)
    """
)


def _raw(tf, t, emits, keeps):
    x = t.ph(t.f(4, 3, 2))
    lengths = t.ph(np.int32([2, 4, 0]))
    inputs = tf.TensorArray(tf.float32, 4).unstack(x)
    cell = tf.nn.rnn_cell.LSTMCell(2, initializer=tf.constant_initializer(0.3))

    def step(time, output, state, kept):
        if output is None:
            following, emit, kept = cell.zero_state(3, tf.float32), None, tf.constant(0) if keeps else None
            if emits:
                emit = (tf.zeros([2]), tf.zeros([], tf.int32))
        else:
            following, emit, kept = state, output, kept + 1 if keeps else None
            if emits:
                emit = (output * 2.0, tf.tile([time], [3]))
        done = time >= lengths
        read = tf.cond(tf.reduce_all(done), lambda: tf.zeros([3, 2]), lambda: inputs.read(time))
        return done, read, following, emit, kept

    written, state, kept = tf.nn.raw_rnn(cell, step)
    outputs = [part.stack() for part in (written if emits else [written])]
    gradients = tf.gradients([outputs[0], state.c], tf.trainable_variables() + [x])
    t.initialize()
    return (
        [v.name for v in tf.trainable_variables()],
        t.run([outputs, state, gradients]),
        keeps and t.run(kept),
    )


@FAMILY.case(tolerance=(1e-4, 1e-5))
def raw_rnn(tf, t):
    return _raw(tf, t, False, False)


@FAMILY.case(tolerance=(1e-4, 1e-5))
def raw_rnn_that_emits_a_structure_and_counts(tf, t):
    return _raw(tf, t, True, True)
