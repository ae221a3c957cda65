"""tf.contrib.crf: scores, norms and decodings of chains of tags."""

from __future__ import annotations

from harness import Family

FAMILY = Family("contrib_crf")

# Three sequences of four tags, of which one is shorter and one empty; known and unknown sizes; one step alone.
_LONG = "ph(f(3, 5, 4))"
_UNKNOWN = "ph(f(3, 5, 4), [None, None, 4])"
_SHORT = "ph(f(3, 1, 4), [None, None, 4])"
_ONE = "ph(f(3, 1, 4))"
_LENGTHS = "ph(np.array([5, 2, 0]), dtype=tf.%s)"
_ONES = "ph(np.array([1, 1, 0], np.int32))"
_TRANSITIONS = "ph(f(4, 4))"
_BITMAP = "ph(np.arange(%d).reshape(3, -1, 4) %% 3 > 0)"

_LINES = []
for _dtype in ("int32", "int64"):
    _tags = "ph(n(4, 3, 5).astype(np.%s), [None, None])" % _dtype
    _lengths = _LENGTHS % _dtype
    _LINES += [
        "crf_unary_score(%s, %s, %s)" % (_tags, _lengths, _LONG),
        "crf_binary_score(%s, %s, %s)" % (_tags, _lengths, _TRANSITIONS),
        "crf_sequence_score(%s, %s, %s, %s)" % (_UNKNOWN, _tags, _lengths, _TRANSITIONS),
        "crf_log_norm(%s, %s, %s)" % (_LONG, _lengths, _TRANSITIONS),
        "crf_log_likelihood(%s, %s, %s, %s)" % (_UNKNOWN, _tags, _lengths, _TRANSITIONS),
    ]
for _inputs in (_ONE, _SHORT):
    _LINES += [
        "crf_sequence_score(%s, ph(n(4, 3, 1)), %s, %s)" % (_inputs, _ONES, _TRANSITIONS),
        "crf_log_norm(%s, %s, %s)" % (_inputs, _ONES, _TRANSITIONS),
    ]
_LINES += ["crf_log_norm(%s, %s, %s)" % (_UNKNOWN, _LENGTHS % "int32", _TRANSITIONS)]
FAMILY.differentiable(
    "\n".join("tf.contrib.crf." + line for line in _LINES), names="none", refined=True, tolerance=(1e-5, 1e-5)
)

FAMILY.expressions(
    "\n".join(
        "tf.contrib.crf." + line
        for line in (
            "crf_multitag_sequence_score(%s, %s, %s, %s)"
            % (_UNKNOWN, _BITMAP % 60, _LENGTHS % "int32", _TRANSITIONS),
            "crf_multitag_sequence_score(%s, %s, %s, %s)" % (_ONE, _BITMAP % 12, _ONES, _TRANSITIONS),
            "crf_decode(%s, %s, %s)" % (_LONG, _TRANSITIONS, _LENGTHS % "int32"),
            "crf_decode(%s, %s, %s)" % (_UNKNOWN, _TRANSITIONS, _LENGTHS % "int64"),
            "crf_decode(%s, %s, %s)" % (_ONE, _TRANSITIONS, _ONES),
            "crf_decode(%s, %s, %s)" % (_SHORT, _TRANSITIONS, _ONES),
            "viterbi_decode(f(6, 4), f(4, 4))",
            "viterbi_decode(f(1, 4), f(4, 4))",
        )
    ),
    names="none",
    refined=True,
    tolerance=(1e-5, 1e-5),
)

FAMILY.errors(
    """
    tf.contrib.crf.crf_unary_score(ph(np.full((2, 3), 90, np.int32)), ph(np.array([3, 1])), ph(f(2, 3, 4)))
    tf.contrib.crf.crf_log_norm(ph(f(2, 3)), ph(np.array([3, 1])), ph(f(4, 4)))
    """
)


@FAMILY.case(names="none", tolerance=(1e-4, 1e-5))
def trained(tf, t):
    """Transitions are made as a variable of the scope and are trained; the cells run by themselves."""
    inputs, tags, lengths = t.ph(t.f(3, 5, 4)), t.ph(t.n(4, 3, 5)), t.ph(t.n(4, 3) + 1)
    with tf.variable_scope("chain", initializer=tf.constant_initializer(0.25)):
        scale = tf.get_variable("scale", [4])
        likelihood, transitions = tf.contrib.crf.crf_log_likelihood(inputs * scale, tags, lengths)
    step = tf.train.AdamOptimizer(0.1).minimize(-tf.reduce_mean(likelihood))
    t.initialize()
    found = [t.run([likelihood, step])[0] for _ in range(4)]
    state = tf.constant(t.f(3, 4))
    forward = tf.contrib.crf.CrfForwardRnnCell(transitions)
    decode = tf.contrib.crf.CrfDecodeForwardRnnCell(transitions)
    backward = tf.contrib.crf.CrfDecodeBackwardRnnCell(4)
    cells = [
        forward(inputs[:, 0], state),
        decode(inputs[:, 0], state),
        backward(tf.constant(t.n(4, 3, 4)), tf.constant([[1], [0], [3]])),
        [(cell.state_size, cell.output_size) for cell in (forward, decode, backward)],
    ]
    return found, t.run([transitions, scale]), [v.name for v in tf.trainable_variables()], cells
