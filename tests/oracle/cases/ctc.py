"""tf.nn.ctc_loss and its decoders: losses, their gradients, and what the scores say."""

from __future__ import annotations

from harness import Family

FAMILY = Family("ctc")

_SCORES = "ph(f(6, 3, 4))"
_UNKNOWN = "ph(f(6, 3, 4), [None, None, 4])"
_PLACES = "[[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]]"
_LABELS = "tf.SparseTensor(%s, tf.constant([0, 1, 2, 2, 1]), [3, 2])" % _PLACES
_REPEATED = "tf.SparseTensor([[0, 0], [0, 1], [0, 2], [1, 0], [2, 0]], tf.constant([0, 0, 1, 2, 1]), [3, 3])"
_NULL = "tf.SparseTensor(%s, tf.constant([0, 3, 2, 2, 1]), [3, 2])" % _PLACES
_LONG = "tf.SparseTensor(%s, tf.constant([0, 1, 2, 2, 1]), [3, 2])" % _PLACES

FAMILY.differentiable(
    "\n".join(
        "tf.nn.ctc_loss(%s)" % arguments
        for arguments in (
            "%s, %s, [6, 6, 6]" % (_LABELS, _SCORES),
            "%s, %s, ph(np.array([6, 3, 1], np.int32))" % (_LABELS, _UNKNOWN),
            "%s, %s, [4, 6, 2]" % (_REPEATED, _SCORES),
            "%s, %s, [4, 6, 2], preprocess_collapse_repeated=True" % (_REPEATED, _SCORES),
            "%s, %s, [4, 6, 2], ctc_merge_repeated=False" % (_REPEATED, _SCORES),
            "%s, %s, [6, 6, 6]" % (_NULL, _SCORES),
            "%s, %s, [1, 6, 6], ignore_longer_outputs_than_inputs=True" % (_LONG, _SCORES),
            "%s, %s, [5, 5, 4], time_major=False" % (_LABELS, "ph(f(3, 6, 4))"),
            "%s, logits=%s, sequence_length=[6, 5, 4]" % (_LABELS, "ph(3 * f(6, 3, 4).astype(np.float64))"),
        )
    ),
    names="none",
    tolerance=(1e-5, 1e-5),
)

# Scores that are far apart, so that no two prefixes are about as probable.
_FAR = "ph(4 * np.sin(7 * np.arange(96)).reshape(12, 2, 4).astype(np.float32))"
FAMILY.expressions(
    "\n".join(
        "tf.nn.ctc_%s" % line
        for line in (
            "greedy_decoder(%s, [6, 6, 6])" % _SCORES,
            "greedy_decoder(%s, [6, 5, 2], merge_repeated=False)" % _UNKNOWN,
            "greedy_decoder(%s, [0, 0, 0])" % _SCORES,
            "greedy_decoder(ph(f(6, 3, 4).astype(np.float64)), [6, 4, 0])",
            "beam_search_decoder(%s, [12, 12])" % _FAR,
            "beam_search_decoder(%s, [12, 7], beam_width=4, top_paths=3)" % _FAR,
            "beam_search_decoder(%s, [12, 7], beam_width=10, top_paths=2, merge_repeated=False)" % _FAR,
            "beam_search_decoder(%s, [12, 0], beam_width=1)" % _FAR,
            "beam_search_decoder(%s, [3, 5], 3, 2)" % _FAR,
        )
        # Beams so narrow that prefixes are dropped and come back.
        + tuple(
            "beam_search_decoder(ph((%d * np.sin(np.arange(%d.0) ** 2)).reshape(-1, 3, %d).astype(np.float32)), "
            "[%d] * 3, %d, %d, merge_repeated=%s)"
            % (scale, frames * 3 * classes, classes, frames, width, paths, merge)
            for scale, frames, classes, width, paths, merge in (
                (3, 20, 5, 3, 3, False),
                (5, 20, 4, 5, 4, True),
                (2, 15, 6, 8, 5, False),
                (4, 24, 7, 11, 6, False),
                (2, 10, 3, 2, 1, True),
                (5, 24, 3, 4, 4, False),
            )
        )
    ),
    names="none",
    tolerance=(1e-5, 1e-5),
)

FAMILY.errors(
    "\n".join(
        (
            "tf.nn.ctc_loss(%s, %s, [6, 6])" % (_LABELS, _SCORES),
            "tf.nn.ctc_loss(%s, ph(f(6, 4)), [6, 6, 6])" % _LABELS,
            "tf.nn.ctc_loss(tf.constant([[1]]), %s, [6, 6, 6])" % _SCORES,
            "tf.nn.ctc_loss(%s, %s, [6, 7, 6])" % (_LABELS, _SCORES),
            "tf.nn.ctc_loss(%s, %s, [1, 6, 6])" % (_LABELS, _SCORES),
            "tf.nn.ctc_loss(tf.SparseTensor([[0, 0], [2, 0]], tf.constant([1, 1]), [3, 1]), %s, [6] * 3)"
            % _SCORES,
            "tf.nn.ctc_loss(tf.SparseTensor([[0, 0], [3, 0]], tf.constant([1, 1]), [4, 1]), %s, [6] * 3)"
            % _SCORES,
            "tf.nn.ctc_loss(tf.SparseTensor(%s, tf.constant([3, 1, 2, 2, 1]), [3, 2]), %s, [6] * 3)"
            % (_PLACES, _SCORES),
            "tf.nn.ctc_loss(tf.SparseTensor(%s, tf.constant([-1, 1, 2, 2, 1]), [3, 2]), %s, [6] * 3)"
            % (_PLACES, _SCORES),
            "tf.nn.ctc_greedy_decoder(%s, [6, 7, 6])" % _SCORES,
            "tf.nn.ctc_greedy_decoder(%s, [6, 6])" % _SCORES,
            "tf.nn.ctc_beam_search_decoder(%s, [12, 7], beam_width=2, top_paths=3)" % _FAR,
            "tf.nn.ctc_beam_search_decoder(%s, [12, 13])" % _FAR,
        )
    )
)
