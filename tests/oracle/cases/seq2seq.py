"""tf.contrib.seq2seq: attention, decoders, helpers, beam search; numbers, gradients, names of variables."""

import numpy as np
from harness import Family

FAMILY = Family("seq2seq")

WORDS, SIZE, UNITS, BATCH, TIME = 7, 3, 4, 3, 5
"""Words, the size of their vectors, the cells' units, examples, and steps of the memory."""


def _assigned(tf, t, scale=1.0):
    """Gives every variable numbers that depend on its shape and its place among the names; the names."""
    ordered = sorted(tf.global_variables(), key=lambda v: v.name)
    random = np.random.RandomState(4)
    values = [random.uniform(-scale, scale, v.shape.as_list()).astype("float32") for v in ordered]
    t.initialize()
    t.run([v.assign(value).op for v, value in zip(ordered, values)])
    return ordered


def _memory(t):
    """The outputs of an encoder and their lengths; the batch and the steps are not known."""
    return t.ph(t.f(BATCH, TIME, 6), [None, None, 6]), t.ph(np.array([5, 2, 4], np.int32), [None])


def _table(tf):
    return tf.get_variable("table", [WORDS, SIZE])


def _training(tf, t, lengths=(4, 0, 3)):
    words = t.ph(t.n(WORDS, BATCH, 4), [None, None])
    inputs = tf.nn.embedding_lookup(_table(tf), words)
    return tf.contrib.seq2seq.TrainingHelper(inputs, t.ph(np.array(lengths, np.int32), [None]))


def _leaves(tf, state):
    """The parts of a state, TensorArrays as tensors."""
    parts = []
    for part in tf.contrib.framework.nest.flatten(state):
        parts.append(part if isinstance(part, tf.Tensor) else part.stack())
    return parts


def _trained(make, impute=True, lengths=(4, 0, 3), **options):
    """A case that decodes given words by a cell, which `make` makes of seq2seq, a cell, memory and lengths."""

    def build(tf, t):
        s2s = tf.contrib.seq2seq
        memory, memory_lengths = _memory(t)
        helper = _training(tf, t, lengths)
        cell = make(tf, s2s, tf.nn.rnn_cell.GRUCell(UNITS), memory, memory_lengths)
        decoder = s2s.BasicDecoder(
            cell,
            helper,
            cell.zero_state(tf.shape(memory)[0], tf.float32),
            tf.layers.Dense(WORDS, name="words"),
        )
        outputs, state, found = s2s.dynamic_decode(decoder, impute_finished=impute, **options)
        ordered = _assigned(tf, t)
        gradients = tf.gradients(outputs.rnn_output, ordered + [memory])
        missing = [v.name for v, gradient in zip(ordered, gradients) if gradient is None]
        gradients = [gradient for gradient in gradients if gradient is not None]
        results = t.run([outputs, _leaves(tf, state), found, gradients])
        shapes = [str(part.shape) for part in (outputs.rnn_output, outputs.sample_id, found)]
        return [v.name for v in ordered], missing, shapes, results

    return build


def _attentive(kind, mechanism=None, **wrapper):
    """The usual cell with one attention."""

    def make(tf, s2s, cell, memory, lengths):
        chosen = {} if mechanism is None else mechanism(tf) if callable(mechanism) else mechanism
        attention = getattr(s2s, kind)(UNITS, memory, memory_sequence_length=lengths, **chosen)
        given = {key: value(tf, s2s) if callable(value) else value for key, value in wrapper.items()}
        return s2s.AttentionWrapper(cell, attention, **given)

    return make


def _several(tf, s2s, cell, memory, lengths):
    attentions = [
        s2s.BahdanauAttention(UNITS, memory, lengths, name="one"),
        s2s.LuongMonotonicAttention(UNITS, memory, lengths),
    ]
    return s2s.AttentionWrapper(cell, attentions, attention_layer_size=[2, 3], alignment_history=True)


def _from_a_state(tf, s2s, cell, memory, lengths):
    state = tf.reduce_sum(memory, 1)[:, :UNITS]
    attention = s2s.LuongAttention(UNITS, memory, lengths)
    return s2s.AttentionWrapper(cell, attention, 2, initial_cell_state=state, name="attentive")


def _deep(tf, s2s, cell, memory, lengths):
    attention = s2s.BahdanauAttention(UNITS, memory)
    lowest = s2s.AttentionWrapper(tf.nn.rnn_cell.BasicLSTMCell(2), attention, 3, output_attention=False)
    return tf.nn.rnn_cell.MultiRNNCell([lowest, cell])


for _label, _make in {
    "no attention": lambda tf, s2s, cell, memory, lengths: cell,
    "Bahdanau": _attentive("BahdanauAttention", attention_layer_size=3),
    "Bahdanau, normalised": _attentive("BahdanauAttention", {"normalize": True}, alignment_history=True),
    "Bahdanau of another probability": _attentive(
        "BahdanauAttention", lambda tf: {"probability_fn": tf.sigmoid, "score_mask_value": -3.0}
    ),
    "Luong": _attentive("LuongAttention", attention_layer_size=3, output_attention=False),
    "Luong, scaled": _attentive("LuongAttention", {"scale": True}, alignment_history=True),
    "Luong with hardmax": _attentive(
        "LuongAttention", lambda tf: {"probability_fn": tf.contrib.seq2seq.hardmax}, attention_layer_size=2
    ),
    "Bahdanau, monotonic": _attentive(
        "BahdanauMonotonicAttention", {"normalize": True, "score_bias_init": -0.5}, alignment_history=True
    ),
    "Bahdanau, monotonic step by step": _attentive("BahdanauMonotonicAttention", {"mode": "recursive"}),
    "Luong, monotonic": _attentive("LuongMonotonicAttention", {"scale": True}, attention_layer_size=3),
    "Luong, monotonic, hard": _attentive("LuongMonotonicAttention", {"mode": "hard"}, attention_layer_size=3),
    "inputs of its own": _attentive(
        "LuongAttention", cell_input_fn=lambda tf, s2s: lambda inputs, seen: inputs + seen[:, :SIZE]
    ),
    "a layer of its own": _attentive(
        "LuongAttention", attention_layer=lambda tf, s2s: tf.layers.Dense(2, tf.tanh, name="own")
    ),
    "two attentions": _several,
    "a given state": _from_a_state,
    "a stack of cells": _deep,
}.items():
    FAMILY.generated("decoding of %s" % _label, _trained(_make), _label, tolerance=(2e-4, 2e-5), names="none")

_LUONG = _attentive("LuongAttention", attention_layer_size=3)
for _label, _build in {
    "states past the end": _trained(_LUONG, impute=False),
    "time before batch": _trained(_LUONG, output_time_major=True, scope="other"),
    "fewer steps": _trained(_LUONG, maximum_iterations=2),
}.items():
    FAMILY.generated("decoding with %s" % _label, _build, _label, tolerance=(2e-4, 2e-5), names="none")


def _free(helper, steps=6, **options):
    """A case that decodes by what the helper chooses."""

    def build(tf, t):
        s2s = tf.contrib.seq2seq
        cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
        chosen = helper(tf, s2s, _table(tf), t)
        state = cell.zero_state(BATCH, tf.float32)
        decoder = s2s.BasicDecoder(cell, chosen, state, tf.layers.Dense(WORDS))
        result = s2s.dynamic_decode(decoder, maximum_iterations=steps, **options)
        _assigned(tf, t, 3.0)
        return t.run(result), [str(part.shape) for part in result[0]]

    return build


def _custom(tf, s2s, table, t):
    return s2s.CustomHelper(
        lambda: (tf.equal([0, 3, 1], 0), tf.gather(table, [1, 2, 3])),
        lambda time, outputs, state: tf.reduce_sum(outputs, 1) * tf.cast(time, tf.float32),
        lambda time, outputs, state, sample_ids: (sample_ids > 4.0, table[:3] * sample_ids[:, None], state),
        sample_ids_dtype=tf.float32,
    )


for _label, _helper in {
    "GreedyEmbeddingHelper": lambda tf, s2s, table, t: s2s.GreedyEmbeddingHelper(table, [1, 2, 3], 6),
    "GreedyEmbeddingHelper with a function": lambda tf, s2s, table, t: s2s.GreedyEmbeddingHelper(
        lambda ids: tf.one_hot(ids, SIZE), t.ph(np.array([3, 1, 4], np.int32), [None]), t.ph(np.array(5, np.int32))
    ),
    "SampleEmbeddingHelper": lambda tf, s2s, table, t: s2s.SampleEmbeddingHelper(
        table, [1, 2, 3], 6, softmax_temperature=2.0, seed=5
    ),
    "CustomHelper": _custom,
    "InferenceHelper": lambda tf, s2s, table, t: s2s.InferenceHelper(
        lambda outputs: outputs[:, :SIZE], [SIZE], tf.float32, table[:BATCH], lambda ids: ids[:, 0] > 0.0
    ),
    "InferenceHelper with inputs": lambda tf, s2s, table, t: s2s.InferenceHelper(
        lambda outputs: tf.argmax(outputs, -1, output_type=tf.int32), [], tf.int32, table[:BATCH],
        lambda ids: tf.equal(ids, 2), lambda ids: tf.gather(table, ids),
    ),
}.items():  # fmt: skip
    FAMILY.generated("decoding by %s" % _label, _free(_helper), _label, tolerance=(2e-4, 2e-5), names="none")


def _scheduled(kind, **options):
    def helper(tf, s2s, table, t):
        inputs = tf.nn.embedding_lookup(table, t.n(WORDS, BATCH, 5))
        lengths = np.array([5, 3, 4], np.int32)
        given = {key: value(tf, table, t) if callable(value) else value for key, value in options.items()}
        return getattr(s2s, kind)(inputs, lengths, **given)

    return helper


for _label, _helper in {
    "drawn words": _scheduled(
        "ScheduledEmbeddingTrainingHelper", embedding=lambda tf, table, t: table, sampling_probability=0.5, seed=3,
        scheduling_seed=8,
    ),
    "no drawn words": _scheduled(
        "ScheduledEmbeddingTrainingHelper", embedding=lambda tf, table, t: table, sampling_probability=0.0,
    ),
    "outputs, now and then": _scheduled(
        "ScheduledOutputTrainingHelper", sampling_probability=0.5, seed=3,
        next_inputs_fn=lambda tf, table, t: lambda outputs: outputs[:, :SIZE],
    ),
    "outputs and auxiliary inputs": _scheduled(
        "ScheduledOutputTrainingHelper", sampling_probability=1.0,
        auxiliary_inputs=lambda tf, table, t: t.f(BATCH, 5, 2),
        next_inputs_fn=lambda tf, table, t: lambda outputs: outputs[:, :SIZE],
    ),
}.items():  # fmt: skip
    FAMILY.generated("training on %s" % _label, _free(_helper), _label, tolerance=(2e-4, 2e-5), names="none")


@FAMILY.case(tolerance=(2e-4, 2e-5), names="none")
def outputs_as_inputs(tf, t):
    """Without a function the outputs themselves are read."""
    s2s, cell = tf.contrib.seq2seq, tf.nn.rnn_cell.GRUCell(UNITS)
    helper = s2s.ScheduledOutputTrainingHelper(t.f(BATCH, 4, UNITS), [4, 2, 3], 0.5, seed=2)
    decoder = s2s.BasicDecoder(cell, helper, cell.zero_state(BATCH, tf.float32))
    result = s2s.dynamic_decode(decoder)
    _assigned(tf, t)
    return t.run(result), [str(part.shape) for part in result[0]]


def _searched(cell_of, steps=7, width=4, scale=2.0, layer=True, **options):
    """A case that searches with beams; the words' layer makes the end likely, so that beams end in many steps."""

    def build(tf, t):
        s2s = tf.contrib.seq2seq
        memory, lengths = _memory(t)
        tiled, tiled_lengths = s2s.tile_batch((memory, lengths), width)
        cell = cell_of(tf, s2s, tf.nn.rnn_cell.GRUCell(UNITS if layer else WORDS), tiled, tiled_lengths)
        decoder = s2s.BeamSearchDecoder(
            cell,
            _table(tf),
            tf.fill([tf.shape(memory)[0]], 1),
            2,
            cell.zero_state(tf.shape(memory)[0] * width, tf.float32),
            width,
            tf.layers.Dense(WORDS, use_bias=False) if layer else None,
            **options,
        )
        outputs, state, found = s2s.dynamic_decode(decoder, maximum_iterations=steps)
        ordered = _assigned(tf, t, scale)
        shapes = [str(part.shape) for part in (outputs.predicted_ids, found)]
        state = state._replace(cell_state=_leaves(tf, state.cell_state))
        return [v.name for v in ordered], shapes, t.run([outputs, list(state), found])

    return build


_BAHDANAU = _attentive("BahdanauAttention", attention_layer_size=UNITS, alignment_history=True)
for _label, _build in {
    "no attention": _searched(lambda tf, s2s, cell, memory, lengths: cell),
    "no attention nor layer": _searched(lambda tf, s2s, cell, memory, lengths: cell, layer=False),
    "attention": _searched(_BAHDANAU),
    "unsorted history": _searched(_BAHDANAU, reorder_tensor_arrays=False),
    "a length penalty": _searched(_BAHDANAU, length_penalty_weight=0.9, scale=3.0),
    "a coverage penalty": _searched(_BAHDANAU, coverage_penalty_weight=0.4, scale=3.0),
    "both penalties": _searched(_several, length_penalty_weight=0.5, coverage_penalty_weight=0.2, steps=9),
    "a stack of cells": _searched(_deep, coverage_penalty_weight=0.3),
    "one beam": _searched(_BAHDANAU, width=1),
}.items():
    FAMILY.generated("beam search with %s" % _label, _build, _label, tolerance=(2e-4, 2e-5), names="none")


@FAMILY.case(names="none")
def the_state_of_an_encoder_is_cloned_in(tf, t):
    s2s = tf.contrib.seq2seq
    memory, lengths = _memory(t)
    cell = s2s.AttentionWrapper(tf.nn.rnn_cell.GRUCell(UNITS), s2s.LuongAttention(UNITS, memory, lengths), 2)
    zero = cell.zero_state(BATCH, tf.float32)
    cloned = zero.clone(cell_state=tf.ones([BATCH, UNITS]))
    checked = zero.clone(cell_state=t.ph(t.f(BATCH, UNITS), [None, UNITS]))
    wrong = t.error(lambda: zero.clone(cell_state=tf.ones([BATCH, UNITS + 1])))
    return list(cloned)[:5], list(checked)[:5], str(cell.state_size.cell_state), cell.output_size, wrong


@FAMILY.case(names="none")
def sizes_and_dtypes(tf, t):
    s2s = tf.contrib.seq2seq
    memory = tf.zeros([BATCH, TIME, 6])
    attention = s2s.BahdanauAttention(UNITS, memory)
    cell = s2s.AttentionWrapper(tf.nn.rnn_cell.GRUCell(UNITS), attention, 2, alignment_history=True)
    helper = s2s.GreedyEmbeddingHelper(_table(tf), [0, 0, 0], 1)
    decoder = s2s.BasicDecoder(cell, helper, cell.zero_state(BATCH, tf.float32), tf.layers.Dense(WORDS))
    size = cell.state_size
    return (
        decoder.output_size.rnn_output, decoder.output_size.sample_id, list(decoder.output_dtype),
        size.attention, size.alignments, size.attention_state, size.alignment_history, size.time,
        attention.keys, attention.values, attention.batch_size, attention.alignments_size, attention.state_size,
        [v.name for v in tf.global_variables()],
    )  # fmt: skip


_STEPS = "n(5, 4, 2, 3), n(3, 4, 2, 3)"
FAMILY.expressions(
    f"""
    tf.contrib.seq2seq.gather_tree({_STEPS}, [4, 3], 2)
    tf.contrib.seq2seq.gather_tree(ph(n(5, 4, 2, 3), [None, None, 3]), ph(n(3, 4, 2, 3), None), ph(n(5, 2)), 4)
    tf.contrib.seq2seq.gather_tree({_STEPS}, [9, 0], 7, name="tree")
    tf.contrib.seq2seq.gather_tree(n(5, 0, 2, 3), n(3, 0, 2, 3), [0, 0], 2)
    tf.contrib.seq2seq.tile_batch(ph(f(2, 3), [None, 3]), 3)
    tf.contrib.seq2seq.tile_batch((ph(n(4, 2)), [f(2, 2, 1)]), 2)
    tf.contrib.seq2seq.hardmax(ph(f(2, 3, 4), [2, 3, None]))
    """,
    names="none",
)
FAMILY.differentiable(
    """
    tf.contrib.seq2seq.safe_cumprod(ph(unit(2, 5)), axis=1, exclusive=True)
    tf.contrib.seq2seq.safe_cumprod(ph(unit(2, 5)), axis=0)
    tf.contrib.seq2seq.monotonic_attention(ph(unit(2, 5), [None, 5]), ph(unit(2, 5)), "recursive")
    tf.contrib.seq2seq.monotonic_attention(ph(unit(2, 5)), ph(unit(2, 5)), "parallel")
    tf.contrib.seq2seq.monotonic_attention(tf.cast(b(2, 5), tf.float32), ph(unit(2, 5)), "hard")
    """,
    names="none",
    tolerance=(1e-4, 1e-5),
)

_CELL = "tf.nn.rnn_cell.GRUCell(4)"
_SEARCH = "tf.contrib.seq2seq.BeamSearchDecoder(%s" % _CELL
_ATTENTION = "tf.contrib.seq2seq.LuongAttention(4, f(2, 5, 4))"
FAMILY.errors(
    f"""
    tf.contrib.seq2seq.gather_tree(n(5, 4, 2), n(3, 4, 2), [4, 3], 2)
    tf.contrib.seq2seq.gather_tree(ph(n(5, 4, 2, 3)), ph(n(3, 4, 2, 3) + 5), [4, 3], 2)
    tf.contrib.seq2seq.gather_tree(n(5, 4, 2, 3), n(3, 4, 1, 3), [4, 3], 2)
    tf.contrib.seq2seq.gather_tree(n(5, 4, 2, 3), n(3, 4, 2, 3), [4, 3], [2])
    tf.contrib.seq2seq.tile_batch(tf.constant(1.0), 2)
    tf.contrib.seq2seq.monotonic_attention(unit(2, 5), unit(2, 5), "soft")
    tf.contrib.seq2seq.TrainingHelper(f(2, 3, 4), 3)
    tf.contrib.seq2seq.GreedyEmbeddingHelper(f(3, 4), 1, 2)
    tf.contrib.seq2seq.GreedyEmbeddingHelper(f(3, 4), [1], [2])
    tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper(f(2, 3, 4), [3, 3], f(4, 4), [[0.5]])
    tf.contrib.seq2seq.ScheduledOutputTrainingHelper(f(2, 3, 4), [3, 3], [[0.5]])
    tf.contrib.seq2seq.CustomHelper(None, None, None).batch_size
    tf.contrib.seq2seq.BasicDecoder({_CELL}, None, f(2, 4))
    tf.contrib.seq2seq.dynamic_decode(1)
    tf.contrib.seq2seq.AttentionWrapper({_CELL}, 1)
    tf.contrib.seq2seq.AttentionWrapper(1, {_ATTENTION})
    tf.contrib.seq2seq.AttentionWrapper({_CELL}, {_ATTENTION}, cell_input_fn=1)
    tf.contrib.seq2seq.AttentionWrapper({_CELL}, {_ATTENTION}, [2, 3])
    tf.contrib.seq2seq.AttentionWrapper({_CELL}, {_ATTENTION}, 2, attention_layer=tf.layers.Dense(2))
    tf.contrib.seq2seq.AttentionWrapper({_CELL}, {_ATTENTION}).zero_state(3, tf.float32)
    tf.contrib.seq2seq.AttentionWrapper({_CELL}, {_ATTENTION}, initial_cell_state=f(3, 4))
    tf.contrib.seq2seq.AttentionWrapper({_CELL}, {_ATTENTION})(f(2, 3), f(2, 4))
    tf.contrib.seq2seq.LuongAttention(3, f(2, 5, 4))(tf.constant(f(2, 4)), None)
    tf.contrib.seq2seq.LuongAttention(3, ph(f(2, 5, 4), [2, 5, None]))
    tf.contrib.seq2seq.LuongAttention(4, f(2, 5, 4), probability_fn=1)
    tf.contrib.seq2seq.LuongAttention(4, f(2, 5, 4), [0, 5])(tf.constant(f(2, 4)), None)
    tf.contrib.seq2seq.BeamSearchDecoder({_CELL}, f(3, 4), 1, 2, f(2, 4), 2)
    tf.contrib.seq2seq.BeamSearchDecoder({_CELL}, f(3, 4), [1], [2], f(2, 4), 2)
    tf.contrib.seq2seq.BeamSearchDecoder({_CELL}, f(3, 4), [1, 1], 2, f(2, 4), 2)
    tf.contrib.seq2seq.BeamSearchDecoder({_CELL}, f(3, 4), [1], 2, f(2, 4), 2, output_layer=1)
    tf.contrib.seq2seq.dynamic_decode({_SEARCH}, f(3, 4), [1], 2, f(2, 4), 2, coverage_penalty_weight=1.0))
    """
)
