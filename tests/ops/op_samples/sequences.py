"""Samples of ops on sequences: connectionist temporal classification, searches with beams."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tests.ops.op_samples.sample import DOUBLE, INT, SINGLE, Draw, Random, Sample, draw

SIZES = ((3, 2, 3), (4, 3, 3), (4, 1, 2))
"""Frames, sequences and classes: so few that all paths can be tried."""


def _said(path: Sequence[int], blank: int, merge: bool) -> list[int]:
    """What a path says."""
    kept = [c for at, c in enumerate(path) if not (merge and at and path[at - 1] == c)]
    return [c for c in kept if c != blank]


def _chances(scores: Any) -> list[list[float]]:
    """The probabilities of the classes at each frame of a sequence."""
    rows = []
    for row in scores.tolist():
        powers = [math.exp(v - max(row)) for v in row]
        rows.append([p / sum(powers) for p in powers])
    return rows


def _loss(random: Random) -> Iterable[Sample]:
    for number, ((frames, batch, classes), dtype, merge) in enumerate(
        itertools.product(SIZES, (DOUBLE, SINGLE), (True, False))
    ):
        lengths = np.array([frames - at % 2 for at in range(batch)], np.int32)
        labels = [random.permutation(classes - 1)[: 1 + (number + at) % 2].tolist() for at in range(batch)]
        indices = np.array([(at, p) for at, own in enumerate(labels) for p in range(len(own))], np.int64)
        attrs = {
            "preprocess_collapse_repeated": False,
            "ctc_merge_repeated": merge,
            "ignore_longer_outputs_than_inputs": False,
        }

        def reference(
            scores: Any, indices: Any, values: Any, lengths: Any, labels: Any = labels, merge: bool = merge
        ) -> Any:
            losses, slopes = np.zeros(len(labels)), np.zeros(scores.shape)
            blank = scores.shape[2] - 1
            for at, own in enumerate(labels):
                length = int(lengths[at])
                chances = _chances(scores[:length, at])
                total = 0.0
                said = np.zeros((length, blank + 1))
                for path in itertools.product(range(blank + 1), repeat=length):
                    if _said(path, blank, merge) == own:
                        chance = math.prod(chances[frame][c] for frame, c in enumerate(path))
                        total += chance
                        for frame, c in enumerate(path):
                            said[frame, c] += chance
                losses[at] = -math.log(total)
                slopes[:length, at] = np.array(chances) - said / total
            return losses.astype(scores.dtype), slopes.astype(scores.dtype)

        values = np.array([label for own in labels for label in own], np.int32)
        inputs = (draw(random, dtype, (frames, batch, classes)), indices, values, lengths)
        yield Sample(inputs, attrs, reference, varied=(0,), results=(0,), tolerance=8)


def _sparse(rows: Sequence[Sequence[int]]) -> tuple[Any, Any, Any]:
    return (
        np.array([(r, p) for r, row in enumerate(rows) for p in range(len(row))], np.int64).reshape(-1, 2),
        np.array([v for row in rows for v in row], np.int64),
        np.array([len(rows), max(map(len, rows))], np.int64),
    )


def _greedy(random: Random) -> Iterable[Sample]:
    for (frames, batch, classes), dtype, merge in itertools.product(SIZES, (DOUBLE, SINGLE), (True, False)):
        lengths = np.array([frames - at for at in range(batch)], np.int32)

        def reference(scores: Any, lengths: Any, merge: bool = merge) -> Any:
            rows, sums = [], []
            for at, length in enumerate(lengths.tolist()):
                best = [max(range(scores.shape[2]), key=lambda c: scores[f, at, c]) for f in range(length)]
                rows.append(_said(best, scores.shape[2] - 1, merge))
                sums.append([-sum(float(scores[f, at, c]) for f, c in enumerate(best))])
            return (*_sparse(rows), np.array(sums, scores.dtype))

        inputs = (draw(random, dtype, (frames, batch, classes)), lengths)
        yield Sample(inputs, {"merge_repeated": merge}, reference, smooth=False, tolerance=4)


def _beam_search(random: Random) -> Iterable[Sample]:
    """With so wide a beam that all prefixes are kept, so that the best is the best of all paths."""
    for frames, batch, classes in SIZES:
        for dtype in (DOUBLE, SINGLE):
            lengths = np.array([frames - at for at in range(batch)], np.int32)

            def reference(scores: Any, lengths: Any) -> Any:
                rows, best = [], []
                blank = scores.shape[2] - 1
                for at, length in enumerate(lengths.tolist()):
                    chances = _chances(scores[:length, at])
                    totals: dict[tuple[int, ...], float] = {}
                    for path in itertools.product(range(blank + 1), repeat=length):
                        said = tuple(_said(path, blank, True))
                        chance = math.prod(chances[f][c] for f, c in enumerate(path))
                        totals[said] = totals.get(said, 0.0) + chance
                    winner = max(totals, key=lambda said: totals[said])
                    rows.append(winner)
                    best.append([math.log(totals[winner])])
                return (*_sparse(rows), np.array(best, scores.dtype))

            attrs = {"beam_width": 200, "top_paths": 1, "merge_repeated": False}
            inputs = (draw(random, dtype, (frames, batch, classes)), lengths)
            yield Sample(inputs, attrs, reference, smooth=False, tolerance=8)


def _tree(random: Random) -> Iterable[Sample]:
    """Searches whose beams end at any step, or not at all."""
    for time, batch, beams in ((4, 2, 3), (1, 1, 1), (5, 3, 2), (0, 2, 2), (3, 0, 2)):

        def reference(steps: Any, parents: Any, lengths: Any, end: Any) -> Any:
            result = np.full_like(steps, end)
            for example, beam in np.ndindex(steps.shape[1:]):
                place = beam
                for step in reversed(range(min(len(steps), lengths[example]))):
                    result[step, example, beam] = steps[step, example, place]
                    place = parents[step, example, place]
                words = result[:, example, beam].tolist()
                if end in words:
                    result[words.index(end) :, example, beam] = end
            return result

        inputs = (
            draw(random, INT, (time, batch, beams), 0, 4),
            random.integers(0, beams, (time, batch, beams)).astype(INT),
            draw(random, INT, (batch,), 0, time + 2),
            np.array(random.integers(0, 4), np.int32),
        )
        yield Sample(inputs, {}, reference, smooth=False)


TABLE: dict[str, Draw] = {
    "CTCLoss": _loss,
    "CTCGreedyDecoder": _greedy,
    "CTCBeamSearchDecoder": _beam_search,
    "GatherTree": _tree,
}
