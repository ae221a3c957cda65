"""NumPy kernels of connectionist temporal classification; see graphflow._core.ops.nn.ctc for what it is.

The loss goes over the frames once forward and once backward, for all sequences and places at a time, in logarithms of
float64. The search keeps a tree of prefixes for each sequence.
"""

from __future__ import annotations

import math
from bisect import insort
from typing import Any, Final, NamedTuple

import numpy as np

from graphflow._core.kernels.nn.softmax import log_softmax
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow.errors import FailedPreconditionError, InvalidArgumentError

_NEVER: Final = -np.inf
"""The logarithm of the probability of what cannot be."""


def _check_lengths(scores: Any, lengths: Any, error: Any) -> None:
    if scores.ndim != 3 or lengths.shape != scores.shape[1:2]:
        raise InvalidArgumentError(
            None,
            None,
            "inputs must be [frames, batch, classes] and sequence_length [batch], "
            f"got shapes {scores.shape} and {lengths.shape}",
        )
    if not scores.shape[2]:
        raise InvalidArgumentError(None, None, "inputs have no classes, of which the last is the blank")
    for sequence in np.flatnonzero((lengths > len(scores)) | (lengths < 0))[:1]:
        raise error(
            None,
            None,
            f"sequence_length({sequence}) is {lengths[sequence]}, and there are {len(scores)} frames",
        )


# ---- the loss -----------------------------------------------------------------------------------------------------


class _Labels(NamedTuple):
    """The labels of all sequences with blanks around each, [batch, 2 * longest + 1], and how many places each has."""

    places: Any
    counts: Any


def _said(labels: Any, sequence: int, blank: int, collapse: bool) -> list[int]:
    """The labels of one sequence, up to the first that is none."""
    given: list[int] = labels.tolist()
    if min(given, default=0) < 0:
        raise InvalidArgumentError(
            None, None, f"All labels must be nonnegative integers, batch: {sequence} labels: {given}"
        )
    kept = next((place for place, label in enumerate(given) if label >= blank), len(given))
    if any(label < blank for label in given[kept:]):
        raise InvalidArgumentError(
            None,
            None,
            f"Saw a non-null label (index >= num_classes - 1) following a null label, batch: {sequence} "
            f"num_classes: {blank + 1} labels: {given}",
        )
    return [
        label
        for place, label in enumerate(given[:kept])
        if not (collapse and place and given[place - 1] == label)
    ]


def with_blanks(scores: Any, indices: Any, values: Any, lengths: Any, attrs: Any) -> tuple[_Labels, Any]:
    """The labels as the paths must say them, and which sequences are left out since they have too many.

    What is wrong with labels or lengths is an error.
    """
    _check_lengths(scores, lengths, InvalidArgumentError)
    _, batch, classes = scores.shape
    if not batch:
        raise InvalidArgumentError(None, None, "batch_size must not be 0")
    blank = classes - 1
    if indices.ndim != 2 or indices.shape[1:] != (2,) or values.shape != indices.shape[:1]:
        raise InvalidArgumentError(
            None, None, f"labels must be a matrix: indices of shape {indices.shape}, values {values.shape}"
        )
    outside = (indices[:, 0] < 0) | (indices[:, 0] >= batch)
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        raise InvalidArgumentError(
            None,
            None,
            f"label SparseTensor is not valid: indices[{at}] = {indices[at].tolist()} is out of bounds: there are "
            f"{batch} sequences",
        )
    ignored = np.zeros(batch, bool)
    rows = []
    order = np.argsort(indices[:, 0], kind="stable")
    ends = np.searchsorted(indices[order, 0], np.arange(batch + 1))
    for sequence in range(batch):
        own = values[order[ends[sequence] : ends[sequence + 1]]]
        if not len(own):
            raise InvalidArgumentError(None, None, f"Labels length is zero in batch {sequence}")
        said = _said(own, sequence, blank, attrs["preprocess_collapse_repeated"])
        if len(said) > lengths[sequence]:
            if not attrs["ignore_longer_outputs_than_inputs"]:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Not enough time for target transition sequence (required: {len(said)}, available: "
                    f"{lengths[sequence]}) in batch {sequence}. ignore_longer_outputs_than_inputs=True leaves "
                    "such sequences out.",
                )
            ignored[sequence] = True
            said = []
        rows.append(said)
    places = np.full((batch, 2 * max(map(len, rows), default=0) + 1), blank, np.int64)
    for sequence, said in enumerate(rows):
        places[sequence, 1 : 2 * len(said) : 2] = said
    return _Labels(places, np.array([2 * len(said) + 1 for said in rows], np.int64)), ignored


def _shifted(values: Any, by: int) -> Any:
    """Each row moved by that many places, to the right if it is positive; what comes in is never."""
    moved = np.full_like(values, _NEVER)
    if by > 0:
        moved[:, by:] = values[:, :-by]
    else:
        moved[:, :by] = values[:, -by:]
    return moved


@kernel("CTCLoss")
def _ctc_loss(node: Node) -> Kernel:
    attrs = node.attrs
    merge = attrs["ctc_merge_repeated"]

    def run(scores: Any, indices: Any, values: Any, lengths: Any) -> tuple[Any, Any]:
        labels, ignored = with_blanks(scores, indices, values, lengths, attrs)
        frames, batch, _ = scores.shape
        losses, slopes = np.zeros(batch), np.zeros(scores.shape)
        if frames:
            log_probabilities = log_softmax(scores.astype(np.float64))
            losses, said = _paths(log_probabilities, labels, lengths, merge)
            slopes = np.exp(log_probabilities) - said
            slopes[np.arange(frames)[:, None] >= lengths] = 0
            slopes[:, ignored] = 0
            losses[ignored] = 0
        return losses.astype(scores.dtype), slopes.astype(scores.dtype)

    return run


def _paths(log_probabilities: Any, labels: _Labels, lengths: Any, merge: bool) -> tuple[Any, Any]:
    """The loss of each sequence, and the probability that a path that says its labels has a class at a frame."""
    frames, batch, classes = log_probabilities.shape
    places, counts = labels
    width = places.shape[1]
    at_place = np.take_along_axis(log_probabilities, np.broadcast_to(places, (frames, batch, width)), axis=2)
    blank = places == classes - 1
    within = np.arange(width) < counts[:, None]
    stays = np.where(blank | merge, 0.0, _NEVER)
    # From a label to the next over the blank between them, which two of the same need if repeats are one.
    same = np.zeros_like(blank)
    same[:, 2:] = places[:, 2:] == places[:, :-2]
    skips = np.where(blank | (same & merge), _NEVER, 0.0)
    forward = np.full((frames, batch, width), _NEVER)
    forward[0, :, :2] = np.where(within, at_place[0], _NEVER)[:, :2]
    for frame in range(1, frames):
        before = forward[frame - 1]
        come = np.logaddexp(before + stays, _shifted(before, 1))
        come = np.logaddexp(come, _shifted(before, 2) + skips)
        forward[frame] = np.where(within, come + at_place[frame], _NEVER)
    # Backward from each sequence's own last frame; what it holds is of the frames after the one it stands at.
    last = np.where(np.arange(width) >= counts[:, None] - 2, np.where(within, 0.0, _NEVER), _NEVER)
    backward = np.full((frames, batch, width), _NEVER)
    for frame in reversed(range(frames)):
        if frame + 1 < frames:
            after = backward[frame + 1] + at_place[frame + 1]
            go = np.logaddexp(after + stays, _shifted(after, -1))
            backward[frame] = np.logaddexp(go, _shifted(after + skips, -2))
        backward[frame] = np.where((lengths == frame + 1)[:, None], last, backward[frame])
    ends = forward[np.maximum(lengths, 1) - 1, np.arange(batch)] + last
    total = np.where(lengths > 0, np.logaddexp.reduce(ends, axis=1), 0.0)
    possible = np.isfinite(total)
    chances = np.exp(forward + backward - np.where(possible, total, 0.0)[:, None])
    rows = np.arange(frames * batch).reshape(frames, batch, 1) * classes + places
    said = np.bincount(rows.ravel(), chances.ravel(), frames * batch * classes)
    return -total, said.reshape(frames, batch, classes)


# ---- the decoders -------------------------------------------------------------------------------------------------


def _as_sparse(rows: list[list[int]]) -> tuple[Any, Any, Any]:
    """Rows of labels as the parts of a SparseTensor."""
    indices = [(row, place) for row, labels in enumerate(rows) for place in range(len(labels))]
    values = [label for labels in rows for label in labels]
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        np.array(values, np.int64),
        np.array([len(rows), max(map(len, rows), default=0)], np.int64),
    )


@kernel("CTCGreedyDecoder")
def _greedy(node: Node) -> Kernel:
    merge = node.attrs["merge_repeated"]

    def run(scores: Any, lengths: Any) -> tuple[Any, ...]:
        _check_lengths(scores, lengths, FailedPreconditionError)
        frames, batch, classes = scores.shape
        best = scores.argmax(axis=2) if scores.size else np.zeros((frames, batch), np.int64)
        within = np.arange(frames)[:, None] < lengths
        said = within & (best != classes - 1)
        if merge:
            said[1:] &= best[1:] != best[:-1]
        rows, at = np.nonzero(said.T)
        counts = said.sum(axis=0)
        places = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
        shape = np.array([batch, counts.max(initial=0)], np.int64)
        highest = np.where(within, scores.max(axis=2), 0) if scores.size else np.zeros((frames, batch))
        labels = np.stack([rows, places], axis=1), best[at, rows], shape
        return (*labels, -highest.sum(axis=0, dtype=scores.dtype)[:, None].astype(scores.dtype))

    return run


def _log_add(one: float, other: float) -> float:
    """log(exp(one) + exp(other)), of Python's numbers in a tenth of NumPy's time."""
    low, high = (one, other) if one < other else (other, one)
    return high if low == _NEVER else high + math.log1p(math.exp(low - high))


class _Prefix:
    """Labels that are said so far, as a place in a tree, and the logarithms of their probabilities.

    blank and label: of the paths that end with a blank, and with the last label; total: of both. before: the same, one
    frame earlier.
    """

    __slots__ = ("before_blank", "before_total", "blank", "children", "label", "last", "parent", "total")

    def __init__(self, parent: _Prefix | None, last: int) -> None:
        self.parent = parent
        self.last = last
        self.children: dict[int, _Prefix] = {}
        self.forget()
        self.end()

    def end(self) -> None:
        """It does not come back at this frame, so that nothing grows from it; as TensorFlow's search has it."""
        self.before_blank = self.before_total = _NEVER

    def forget(self) -> None:
        """It is no longer one of the best."""
        self.blank = self.label = self.total = _NEVER

    def labels(self, merge: bool) -> list[int]:
        """What it says; with merge without a label that is the same as the one before."""
        found: list[int] = []
        after = -1
        at: _Prefix | None = self
        while at is not None and at.last >= 0:
            if not merge or at.last != after:
                found.append(at.last)
            after, at = at.last, at.parent
        return found[::-1]


def _step(best: list[_Prefix], scores: Any, width: int) -> list[_Prefix]:
    """The best prefixes after one more frame, from those before, of which the best comes first."""
    numbers = scores.tolist()
    blank = numbers[-1]
    for prefix in best:
        prefix.before_blank, prefix.before_total = prefix.blank, prefix.total
    for prefix in best:
        if prefix.parent is not None:
            if prefix.parent.total != _NEVER:
                again = prefix.last == prefix.parent.last
                came = prefix.parent.before_blank if again else prefix.parent.before_total
                prefix.label = _log_add(prefix.label, came)
            prefix.label += numbers[prefix.last]
        prefix.blank = prefix.before_total + blank
        prefix.total = _log_add(prefix.blank, prefix.label)
    heap = _Heap(best, width)
    come = np.array([prefix.before_total for prefix in best])[:, None] + scores[:-1]
    for row, prefix in enumerate(best):
        if prefix.last >= 0:  # The same label again, which a blank must part from it.
            come[row, prefix.last] = prefix.before_blank + numbers[prefix.last]
    possible: dict[int, list[int]] = {}
    for row, label in np.argwhere(come > heap.lowest()).tolist():
        possible.setdefault(row, []).append(label)
    dropped: dict[_Prefix | None, list[_Prefix]] = {}
    for row, prefix in enumerate(best):
        if not heap.takes(prefix.before_total):
            continue
        before = dropped.pop(prefix, [])
        for label in possible.get(row, ()):
            chance = float(come[row, label])
            child = prefix.children.get(label)
            if (child is None or child.total == _NEVER) and heap.takes(chance):
                if child is None:
                    child = prefix.children[label] = _Prefix(prefix, label)
                child.blank, child.label, child.total = _NEVER, chance, chance
                before = [one for one in before if one is not child]
                worst = heap.push(child)
                if worst is not None:
                    worst.forget()
                    if worst.parent is not prefix:
                        dropped.setdefault(worst.parent, []).append(worst)
                    elif worst.last > label:
                        before.append(worst)
        for child in before:  # It was dropped at this frame, and does not come back.
            child.end()
    return heap.sorted()


class _Heap:
    """The best prefixes, at most `width`."""

    def __init__(self, prefixes: list[_Prefix], width: int) -> None:
        self._width = width
        self._prefixes = sorted(prefixes, key=_total)

    def lowest(self) -> float:
        """What a prefix must be above to be taken."""
        return self._prefixes[0].total if len(self._prefixes) >= self._width else _NEVER

    def takes(self, total: float) -> bool:
        """Whether a prefix of that probability is among the best."""
        return total > self.lowest()

    def push(self, prefix: _Prefix) -> _Prefix | None:
        """Takes it in, and gives the one that is no longer among them."""
        worst = self._prefixes.pop(0) if len(self._prefixes) >= self._width else None
        insort(self._prefixes, prefix, key=_total)
        return worst

    def sorted(self) -> list[_Prefix]:
        """All of them, the best first."""
        return self._prefixes[::-1]


def _total(prefix: _Prefix) -> float:
    return prefix.total


@kernel("CTCBeamSearchDecoder")
def _beam_search(node: Node) -> Kernel:
    width, count, merge = (node.attrs[name] for name in ("beam_width", "top_paths", "merge_repeated"))

    def run(scores: Any, lengths: Any) -> tuple[Any, ...]:
        _check_lengths(scores, lengths, FailedPreconditionError)
        batch = scores.shape[1]
        log_probabilities = log_softmax(scores.astype(np.float64))
        paths: list[list[list[int]]] = [[[] for _ in range(batch)] for _ in range(count)]
        chances = np.zeros((batch, count), scores.dtype)
        for sequence in range(batch):
            root = _Prefix(None, -1)
            root.blank = root.total = 0.0
            best = [root]
            for frame in range(lengths[sequence]):
                best = _step(best, log_probabilities[frame, sequence], width)
            for place, prefix in enumerate(best[:count]):
                paths[place][sequence] = prefix.labels(merge)
                chances[sequence, place] = prefix.total
        parts = [_as_sparse(rows) for rows in paths]
        return (*(part[number] for number in range(3) for part in parts), chances)

    return run
