"""PartialRuns: a run in parts, between which the program computes what it feeds to the next (Session.partial_run).

An operation runs once. So each part keeps, beside what it gives, the values that operations of later parts take, and
feeds them to those parts.
"""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import graphflow.errors as errors
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph


class TakenApart(Protocol):
    """The tensors and operations of a structure of fetches."""

    tensors: list[Tensor]
    targets: list[Operation]


def _refused(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


class _PartialRun:
    """What a run in parts has done.

    graph: of the session. fetches, feeds: what it will give and be fed, in all.
    """

    def __init__(self, graph: Graph, fetches: TakenApart, feeds: Iterable[Tensor]) -> None:
        self._graph = graph
        self._fetches: frozenset[Tensor | Operation] = frozenset((*fetches.tensors, *fetches.targets))
        self._feeds = frozenset(feeds)
        self._left = set(self._fetches)
        self._fed: set[Tensor] = set()
        self.known: dict[Tensor, Any] = {}
        """The values that were fed or kept."""
        self._done: set[Operation] = set()
        self.lock = threading.Lock()

    @property
    def over(self) -> bool:
        """Whether all was given."""
        return not self._left

    def check(self, fetches: TakenApart, feeds: Mapping[Tensor, Any]) -> None:
        """InvalidArgumentError if a part cannot have these fetches and feeds."""
        asked: tuple[Tensor | Operation, ...] = (*fetches.tensors, *fetches.targets)
        for one in (*asked, *feeds):
            if one not in (self._feeds if one in feeds else self._fetches):
                raise _refused(f"{one.name} was not specified in partial_run_setup.")
        for one in asked:
            if one not in self._left:
                raise _refused(f"{one.name} has already been fetched.")
        for tensor in feeds:
            if tensor in self._fed:
                raise _refused(f"{tensor.name} has already been fed.")

    def operations(self, fetches: Iterable[Tensor | Operation]) -> set[Operation]:
        """The operations that have to run for some fetches."""
        needed: set[Operation] = set()
        todo: list[Operation] = [
            one if isinstance(one, Operation) else one.op for one in fetches if one not in self.known
        ]
        while todo:
            op = todo.pop()
            if op not in needed and op not in self._done:
                needed.add(op)
                todo += [tensor.op for tensor in op.inputs if tensor not in self.known]
                todo += op.control_inputs
        return needed

    def kept(self, operations: set[Operation]) -> list[Tensor]:
        """What operations of this part give to those of later parts."""
        later = self.operations(self._left) - operations
        found: dict[Tensor, None] = {}
        for op in later:
            controls = [before.outputs[0] for before in op.control_inputs if before.outputs]
            found.update(dict.fromkeys(t for t in (*op.inputs, *controls) if t.op in operations))
        found.update(dict.fromkeys(t for t in self._left if isinstance(t, Tensor) and t.op in operations))
        return [tensor for tensor in found if self._can_be_kept(tensor)]

    def _can_be_kept(self, tensor: Tensor) -> bool:
        op = tensor.op
        if op.control_flow_context is not None or not self._graph.is_fetchable(op):
            return False
        return not (op.op_def.is_constant or op.op_def.is_variable) and tensor.dtype.is_numpy_compatible

    def finish(
        self,
        fetches: TakenApart,
        fed: Iterable[Tensor],
        operations: set[Operation],
        values: Mapping[Tensor, Any],
    ) -> None:
        """Notes that a part was run."""
        self._left -= {*fetches.tensors, *fetches.targets}
        self._fed.update(fed)
        self.known.update(values)
        self._done |= {op for op in operations if not (op.op_def.is_constant or op.op_def.is_variable)}


class PartialRuns(ABC):
    """What a session needs to run in parts; a session is one.

    take_apart, expand_feeds: of the fetches and the feeds that `run` takes, in a graph.
    """

    def __init__(
        self,
        take_apart: Callable[[Graph, Any], TakenApart],
        expand_feeds: Callable[[Graph, Mapping[Any, Any]], dict[Tensor, Any]],
    ) -> None:
        self._take_apart, self._expand_feeds = take_apart, expand_feeds
        self._partial: dict[str, _PartialRun] = {}
        self._partial_numbers = itertools.count()

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The graph."""

    @abstractmethod
    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Runs fetches."""

    def partial_run_setup(self, fetches: Any, feeds: Sequence[Any] | None = None) -> str:
        """Begins a run in parts.

        Args:
            fetches: All that the parts will give, as of `run`.
            feeds: All tensors that will be fed.

        Returns:
            What partial_run takes.

        Raises:
            InvalidArgumentError: If nothing is to be fetched.
        """
        found = self._take_apart(self.graph, fetches)
        if not found.tensors and not found.targets:
            raise _refused("Invalid argument: specify at least one target to fetch or execute.")
        handle = f"partial_run_{next(self._partial_numbers)}"
        given = self._expand_feeds(self.graph, dict.fromkeys(feeds or ()))
        self._partial[handle] = _PartialRun(self.graph, found, given)
        return handle

    def partial_run(self, handle: str, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Runs a part; operations that ran in a part before do not run again.

        Args:
            handle: What partial_run_setup gave.
            fetches: Some of what was announced, as of `run`.
            feed_dict: {tensor: value}: values of some of the announced feeds.

        Returns:
            The values in the structure of `fetches`.

        Raises:
            InvalidArgumentError: If a fetch or a feed was not announced, or comes again.
        """
        part = self._partial.get(handle)
        if part is None:
            raise _refused("Must run 'setup' before performing partial runs!")
        found = self._take_apart(self.graph, fetches)
        feeds = self._expand_feeds(self.graph, feed_dict or {})
        with part.lock:
            part.check(found, feeds)
            part.known.update(feeds)
            operations = part.operations((*found.tensors, *found.targets))
            kept = [tensor for tensor in part.kept(operations) if tensor not in part.known]
            values, more = (
                self.run([fetches, kept], dict(part.known)) if operations or fetches else (fetches, [])
            )
            part.finish(found, feeds, operations, dict(zip(kept, more, strict=True)))
            if part.over:
                self._partial.pop(handle, None)
        return values
