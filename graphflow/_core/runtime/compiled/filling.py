"""Filling: the templates of an executable, and what they save it when sizes come that it has not seen.

A compiled plan that has taken over becomes a template (template.py) when the next new sizes come. For all for which
the template holds, the plan is there in their first run: nothing is observed, lowered or fused again. Sizes for which
it does not hold, such as 1 where others are broadcast, are compiled in the usual way, and the plan that this gives
becomes a template as well.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import Any, Final

import numpy as np

from graphflow._core.compiler.compile_job import CompileJob
from graphflow._core.compiler.prepare import prepare_job
from graphflow._core.compiler.shapes.fed_values import Given, Key
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.compiler.traced.job import traced_job
from graphflow._core.compiler.traced.shapes import NotTraced, inferred, open_axes
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Plan
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.compiled.build import CompiledPlan
from graphflow._core.runtime.compiled.template import Template

_LOG: Final = logging.getLogger("graphflow")
_MOST_TEMPLATES: Final = 16
_MOST_IN_VAIN: Final = 4
"""Plans of which no template could be made, after which no more is tried."""


class Filling:
    """The templates of one executable. Thread-safe."""

    def __init__(self, plan: Plan, store: ResourceStore, kernels: KernelTable, ctx: PassContext) -> None:
        self._plan = plan
        self._store = store
        self._kernels = kernels
        self._ctx = ctx
        self._lock = threading.Lock()
        self._templates: dict[Any, list[Template]] = {}
        self._waiting: list[tuple[Key, Given, CompiledPlan]] = []
        self._in_vain = 0

    def prepare(self, known: Known, given: Given, may_be_cut: bool = False) -> CompileJob:
        """The compile job for the shapes of a run; raises StaysOnNumpy if there is to be none.

        may_be_cut: whether WorthCutting may be raised.
        """
        # What lies in a branch that is decided is no part of the plan that would be cut.
        cuttable = {i.name for i in self._plan.instructions} if may_be_cut else ()
        plan = given.fixed(self._plan)
        return prepare_job(plan, known, self._store, self._kernels, self._ctx, cuttable)

    def took_over(self, shapes: Key, given: Given, compiled: CompiledPlan) -> None:
        """Notes a plan that may become a template."""
        with self._lock:
            if len(self._waiting) < _MOST_TEMPLATES:
                self._waiting.append((shapes, given, compiled))

    def forget(self) -> None:
        """Drops all templates: one of their plans was wrong."""
        with self._lock:
            self._templates, self._waiting, self._in_vain = {}, [], _MOST_IN_VAIN

    def template(self, shapes: Key) -> Template | None:
        """The template that holds for some shapes."""
        pattern = self._pattern(shapes)
        with self._lock:
            for template in self._templates.get(pattern, ()):
                if template.holds(shapes):
                    return template
            for waiting in [w for w in self._waiting if self._pattern(w[0]) == pattern]:
                self._waiting.remove(waiting)
                made = self._made(*waiting)
                if made is not None and made.holds(shapes):
                    return made
        return None

    def known(self, shapes: Key, given: Given) -> Known:
        """The shapes of all values for fed shapes; raises what keeps them from being known without a run."""
        plan = given.fixed(self._plan)
        if len(plan.feed_types) != len(plan.feeds):
            raise NotTraced("Nobody says the dtypes of what is fed.")
        fed: Known = {}
        for name, (dtype, _), shape in zip(plan.feeds, plan.feed_types, shapes, strict=False):
            if shape is not None:
                fed[name] = (shape, np.dtype(dtype.as_numpy_dtype).name)
        return inferred(plan, fed, self._store, self._ctx.evaluate)

    def _pattern(self, shapes: Key) -> Any:
        """What must be the same of two combinations, so that a template of the one may hold for the other."""
        feeds = len(self._plan.feeds)
        ranks = [None if s is None else len(s) for s in shapes[:feeds]]
        return (*ranks, *[len(s) if isinstance(s, tuple) else s for s in shapes[feeds:]])

    def _made(self, shapes: Key, given: Given, model: CompiledPlan) -> Template | None:
        """The template that a plan becomes, which is kept; None if it becomes none."""
        if self._in_vain >= _MOST_IN_VAIN or sum(map(len, self._templates.values())) >= _MOST_TEMPLATES:
            return None
        plan, pattern = given.fixed(self._plan), self._pattern(shapes)
        axes = open_axes(self._plan, pattern[: len(plan.feeds)])
        axes += [(name, index) for name, at in given.places.items() for index in range(len(shapes[at]))]
        places = dict(zip(plan.feeds, range(len(plan.feeds)), strict=True)) | given.places
        try:
            traced = traced_job(plan, model.job.lowering.known, axes, self._store, self._kernels, self._ctx)
            at = [(places[name], axis) for name, axis in axes]
            usual = partial(self.prepare, given=given)
            made = Template(traced, model, shapes, at, self._store, self._kernels, usual)
        except Exception as error:  # Plans are made in the usual way.
            self._in_vain += 1
            _LOG.debug("No template: %s: %s", type(error).__name__, error)
            return None
        self._templates.setdefault(pattern, []).append(made)
        self._in_vain = 0
        return made
