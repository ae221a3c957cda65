"""The strategy of code under no strategy: one tower, everything where it is built."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow.distribute.context import has_distribution_strategy
from graphflow.distribute.strategy import DistributionStrategy


class DefaultStrategy(DistributionStrategy):
    """The strategy of code that is under no other one. It changes nothing."""

    def tower_devices(self) -> Sequence[str]:
        """One, which is left open."""
        return [""]

    @contextmanager
    def scope(self) -> Iterator[DistributionStrategy]:
        """It is in force already if no other is."""
        yield self

    @contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """Puts variables, and all else that is built inside, beside another variable."""
        with get_default_graph().colocate_with(colocate_with_variable.op):
            yield

    def _check_across(self, what: str) -> None:
        """It may be called wherever no other strategy is in force: its one tower is all there is."""
        if has_distribution_strategy():
            super()._check_across(what)

    def _call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    def _update_non_slot(self, colocate_with: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)
