"""Cells of tf.contrib.rnn on inputs and weights that any program can make again: `python cell_cases.py` writes what
TensorFlow 1.15 computes into recorded_cells.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).with_name("recorded_cells.json")
STEPS = 3


def cases(tf: Any) -> dict[str, Callable[[], Any]]:
    """What makes each cell, by a name."""
    rnn = tf.contrib.rnn
    if not hasattr(rnn, "LayerNormLSTMCell"):  # TensorFlow has some of them in the module alone.
        from tensorflow.contrib.rnn.python.ops import rnn_cell as rnn
    blocks = {"num_frequency_blocks": [2, 1], "start_freqindex_list": [0, 3], "end_freqindex_list": [3, 5]}
    plain = {"num_frequency_blocks": [4]}
    window = {"feature_size": 2, "frequency_skip": 1}
    lstm = tf.nn.rnn_cell.LSTMCell
    return {
        "layer norm": lambda: rnn.LayerNormLSTMCell(4, layer_norm=True, norm_gain=0.5, norm_shift=0.1),
        "layer norm, all": lambda: rnn.LayerNormLSTMCell(
            4, True, 0.4, tf.zeros_initializer(), 3, 0.3, 0.5, tf.nn.relu, True
        ),
        "layer norm, without": lambda: rnn.LayerNormLSTMCell(4, True, num_proj=2),
        "weight norm": lambda: rnn.WeightNormLSTMCell(4),
        "weight norm, all": lambda: rnn.WeightNormLSTMCell(4, True, True, 0.4, None, 3, 0.3, 0.5, tf.sigmoid),
        "weight norm, without": lambda: rnn.WeightNormLSTMCell(4, norm=False, use_peepholes=True),
        "groups": lambda: rnn.GLSTMCell(4),
        "five groups": lambda: rnn.GLSTMCell(10, num_proj=5, number_of_groups=5, activation=tf.sigmoid),
        "minimal": lambda: rnn.MinimalRNNCell(4),
        "minimal, relu": lambda: rnn.MinimalRNNCell(4, activation="relu", bias_initializer="zeros"),
        "chaos free": lambda: rnn.CFNCell(4),
        "grid": lambda: rnn.GridLSTMCell(3, **plain, **window),
        "grid, blocks": lambda: rnn.GridLSTMCell(3, True, False, 0.3, **blocks, **window),
        "grid, coupled": lambda: rnn.GridLSTMCell(
            3, True, True, num_unit_shards=2, couple_input_forget_gates=True, state_is_tuple=False,
            **plain, **window,
        ),
        "grid, both ways": lambda: rnn.BidirectionalGridLSTMCell(3, **plain, **window),
        "grid, both ways, shifted": lambda: rnn.BidirectionalGridLSTMCell(
            3, True, True, 0.5, backward_slice_offset=1, **blocks, **window
        ),
        "grid, both ways, shifted down": lambda: rnn.BidirectionalGridLSTMCell(
            3, backward_slice_offset=-1, **plain, **window
        ),
        "time and frequency": lambda: rnn.TimeFreqLSTMCell(3, **window),
        "time and frequency, all": lambda: rnn.TimeFreqLSTMCell(3, True, 0.4, None, 3, 0.5, 3, 2),
        "turing": lambda: rnn.NTMCell(lstm(4), 6, 3, 1, 1),
        "turing, many heads": lambda: rnn.NTMCell(lstm(4), 7, 3, 2, 2, shift_range=2, output_dim=2, clip_value=0.5),
    }  # fmt: skip


def first_state(tf: Any, name: str, cell: Any) -> Any:
    """A state for three rows; that of windows is wider than the cell says."""
    if name.startswith("time and frequency"):
        return tf.zeros([3, cell.state_size * (4 if name == "time and frequency" else 2)])
    return cell.zero_state(3, tf.float32)


def results(tf: Any, name: str) -> dict[str, Any]:
    """The variables of a cell, and what it computes in three steps."""
    with tf.Graph().as_default(), tf.Session() as session:
        random = np.random.RandomState(1)
        cell = cases(tf)[name]()
        state = first_state(tf, name, cell)
        outputs = []
        for _ in range(STEPS):
            output, state = cell(tf.constant(random.randn(3, 5).astype("f")), state)
            outputs.append(output)
        variables = tf.global_variables()
        session.run(tf.global_variables_initializer())
        for variable in sorted(variables, key=lambda v: v.op.name):
            seed = sum(map(ord, variable.op.name))
            values = np.random.RandomState(seed).uniform(-1, 1, variable.shape.as_list())
            variable.load(values.astype("f"), session)
        flat = [tf.convert_to_tensor(part) for part in tf.contrib.framework.nest.flatten(state)]
        numbers = session.run([*outputs, *flat])
    return {
        "variables": [[v.op.name, v.shape.as_list()] for v in variables],
        "values": [np.round(np.asarray(n, "d"), 6).tolist() for n in numbers],
    }


if __name__ == "__main__":
    import tensorflow

    tensorflow.compat.v1.logging.set_verbosity("ERROR")
    found = {name: results(tensorflow, name) for name in cases(tensorflow)}
    text = ",\n".join(f'"{name}": {json.dumps(one, separators=(",", ":"))}' for name, one in found.items())
    RECORDED.write_text("{\n" + text + "\n}\n")
    sys.exit(0)
