"""The ops of synchronous training. Rounds and gradients live in the store, under the shared name of the optimizer."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.common.request_ids import run_of
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.rounds.events import Choice, Ticket
from graphflow._core.resources.rounds.sync_rounds import Gradients, RoundChange, SyncRounds
from graphflow.errors import AbortedError


def _rounds(run: Any, node: Node) -> SyncRounds:
    name, needed, total = node.attrs["shared_name"], node.attrs["needed"], node.attrs["total"]
    rounds: SyncRounds = run.store.other(f"sync_rounds/{name}", lambda: SyncRounds(name, needed, total))
    rounds.check(needed, total)
    return rounds


def _gradients(run: Any, node: Node) -> Gradients:
    gradients: Gradients = run.store.other(f"sync_rounds/{node.attrs['shared_name']}", Gradients)
    return gradients


def _change(run: Any, node: Node) -> RoundChange:
    change: RoundChange = run.store.other(
        f"sync_rounds/{node.attrs['shared_name']}", Gradients if node.attrs["gradients"] else RoundChange
    )
    return change


@kernel("SyncRoundBegin", stateful=True)
def _begin(node: Node) -> Kernel:
    slot = node.attrs["slot"]

    def begin(run: Any, cell: Any) -> Any:
        rounds, request, runs = _rounds(run, node), run.request_id, run.store.home.runs
        settled = runs is not None and request is not None and runs.has_changed(request, rounds.key, cell)
        return rounds.begin(slot, cell, run_of(run), settled).array()

    return begin


@kernel("SyncRoundHold", stateful=True)
def _hold(node: Node) -> Kernel:
    return lambda run, cell: _rounds(run, node).hold(run, cell)


@kernel("SyncRoundFree", stateful=True)
def _free(node: Node) -> Kernel:
    return lambda run: _rounds(run, node).free(run)


@kernel("SyncRoundPush", "SyncRoundPushSlices", stateful=True)
def _push(node: Node) -> Kernel:
    slot = node.attrs["slot"]

    def push(run: Any, ticket: Any, *parts: Any) -> None:
        own = tuple(np.array(part) for part in parts)
        _gradients(run, node).push(slot, Ticket.of(ticket), own)

    return push


@kernel("SyncRoundArrive", stateful=True)
def _arrive(node: Node) -> Kernel:
    slot = node.attrs["slot"]

    def arrive(run: Any, ticket: Any) -> Any:
        choice = _rounds(run, node).arrive(run, slot, Ticket.of(ticket))
        return choice.array(), np.bool_(choice.number[1] > 0), np.bool_(choice.counted)

    return arrive


@kernel("SyncRoundClaim", stateful=True)
def _claim(node: Node) -> Kernel:
    return lambda run, choice: np.bool_(_change(run, node).claim(run, Choice.of(choice)))


@kernel("SyncRoundDone", stateful=True)
def _done(node: Node) -> Kernel:
    return lambda run, choice: _change(run, node).done(run, Choice.of(choice))


@kernel("SyncRoundMean", stateful=True)
def _mean(node: Node) -> Kernel:
    def mean(run: Any, choice: Any) -> Any:
        found = [gradient for (gradient,) in _gradients(run, node).chosen(Choice.of(choice))]
        total = found[0].copy()
        for gradient in found[1:]:
            if gradient.shape != total.shape:
                raise ValueError(f"replicas give gradients of shapes {total.shape} and {gradient.shape}.")
            total += gradient
        total /= total.dtype.type(len(found))
        return total if total.ndim else total[()]

    return mean


@kernel("SyncRoundMeanSlices", stateful=True)
def _mean_slices(node: Node) -> Kernel:
    each = node.attrs.get("stands_for", 1)
    """How many replicas' gradients each one stands for, where a round is measured that has one member."""

    def mean(run: Any, choice: Any) -> Any:
        found = list(_gradients(run, node).chosen(Choice.of(choice))) * each
        values = np.concatenate([values for values, _ in found])
        values /= values.dtype.type(len(found))
        return values, np.concatenate([indices for _, indices in found])

    return mean


@kernel("SyncRoundAdvance", stateful=True)
def _advance(node: Node) -> Kernel:
    def advance(run: Any, cell: Any, array: Any) -> None:
        choice = Choice.of(array)
        rounds = _rounds(run, node)
        if choice.number[1]:
            rounds.advance(choice, cell)
        if not choice.counted and rounds.needed >= rounds.total:
            raise AbortedError(
                None, None,
                f"This run came too late for step {choice.round}, which was decided without its gradients: they were "
                "dropped. Run it again.",
            )  # fmt: skip

    return advance
