"""The sequences of a beam search, one step of all beams at a time from the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import simple


def _gather_tree(step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any) -> Any:
    if step_ids.ndim != 3 or step_ids.shape != parent_ids.shape:
        raise invalid(
            "step_ids and parent_ids must have the same shape [time, batch, beams], but have "
            f"{list(step_ids.shape)} and {list(parent_ids.shape)}"
        )
    time, batch, width = step_ids.shape
    if max_sequence_lengths.shape != (batch,):
        raise invalid(
            f"max_sequence_lengths must have shape [{batch}], but has {list(max_sequence_lengths.shape)}"
        )
    sequences = np.full_like(step_ids, end_token)
    examples = np.arange(batch)[:, None]
    beams = np.broadcast_to(np.arange(width), (batch, width))
    for step in reversed(range(time)):
        running = (step < max_sequence_lengths)[:, None]
        sequences[step] = np.where(running, step_ids[step, examples, beams], end_token)
        beams = np.where(running, parent_ids[step, examples, beams], beams)
        wrong = (beams < 0) | (beams >= width)
        if step and wrong.any():
            example, beam = np.argwhere(wrong)[0].tolist()
            raise invalid(
                f"parent id {beams[example, beam]} at (batch, time, beam) == ({example}, {step - 1}, {beam}): there "
                f"are {width} beams"
            )
    ends = sequences == end_token
    sequences[np.cumsum(ends, axis=0) > 0] = end_token
    return sequences


simple("GatherTree", _gather_tree)
