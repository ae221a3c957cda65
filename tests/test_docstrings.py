"""Protects what is said of the public functions, classes and methods: each argument has its line, in Google's style.

The reference, `help` and editors show it. The classes of errors, results and the rest have sections of the same style.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.test_exports import public_callables

WITHOUT: Final[Mapping[str, int]] = {
    "graphflow._core.autodiff.gradients": 1,
    "graphflow._core.checkpoint.atomic": 3,
    "graphflow._core.checkpoint.bundle_writer": 1,
    "graphflow._core.checkpoint.opening": 1,
    "graphflow._core.checkpoint.reader": 1,
    "graphflow._core.cluster.client.control": 2,
    "graphflow._core.cluster.client.device_setter": 5,
    "graphflow._core.cluster.resolvers.base": 1,
    "graphflow._core.cluster.resolvers.kubernetes": 1,
    "graphflow._core.cluster.resolvers.simple": 3,
    "graphflow._core.cluster.resolvers.slurm": 2,
    "graphflow._core.cluster.resolvers.variables": 3,
    "graphflow._core.common.files.paths": 1,
    "graphflow._core.common.printable": 1,
    "graphflow._core.common.records": 7,
    "graphflow._core.common.standard_error": 2,
    "graphflow._core.compiler.values": 4,
    "graphflow._core.graph.attributes": 1,
    "graphflow._core.graph.defaults": 1,
    "graphflow._core.graph.devices": 4,
    "graphflow._core.graph.dtypes": 2,
    "graphflow._core.graph.elements": 8,
    "graphflow._core.graph.graph": 6,
    "graphflow._core.graph.op_def": 3,
    "graphflow._core.graph.random_seed": 1,
    "graphflow._core.ops.array.compositions": 2,
    "graphflow._core.ops.array.indexing": 6,
    "graphflow._core.ops.array.layout": 6,
    "graphflow._core.ops.array.patches": 2,
    "graphflow._core.ops.array.shaping": 4,
    "graphflow._core.ops.array.transposing": 2,
    "graphflow._core.ops.control_flow.assertions": 9,
    "graphflow._core.ops.control_flow.checking": 1,
    "graphflow._core.ops.control_flow.control_flow": 1,
    "graphflow._core.ops.control_flow.custom_gradient": 1,
    "graphflow._core.ops.control_flow.flow_basics": 2,
    "graphflow._core.ops.control_flow.printing": 2,
    "graphflow._core.ops.control_flow.smart_cond": 3,
    "graphflow._core.ops.core": 4,
    "graphflow._core.ops.distributed.collectives": 5,
    "graphflow._core.ops.image.boxes": 5,
    "graphflow._core.ops.image.files": 2,
    "graphflow._core.ops.io.files": 1,
    "graphflow._core.ops.io.lookup": 9,
    "graphflow._core.ops.io.parsing": 1,
    "graphflow._core.ops.io.readers": 1,
    "graphflow._core.ops.io.summaries": 2,
    "graphflow._core.ops.math.casting": 6,
    "graphflow._core.ops.math.clip": 1,
    "graphflow._core.ops.math.comparison": 1,
    "graphflow._core.ops.math.decompositions": 4,
    "graphflow._core.ops.math.linalg": 9,
    "graphflow._core.ops.math.numeric": 4,
    "graphflow._core.ops.math.scans": 1,
    "graphflow._core.ops.math.segments": 2,
    "graphflow._core.ops.math.sorting": 9,
    "graphflow._core.ops.math.special": 4,
    "graphflow._core.ops.math.transcendental": 1,
    "graphflow._core.ops.nn.convolution": 2,
    "graphflow._core.ops.nn.embedding": 1,
    "graphflow._core.ops.nn.nn": 1,
    "graphflow._core.ops.nn.normalization": 1,
    "graphflow._core.ops.nn.pooling": 1,
    "graphflow._core.ops.nn.spatial": 6,
    "graphflow._core.ops.random": 2,
    "graphflow._core.ops.rules": 1,
    "graphflow._core.ops.sparse.sparse": 10,
    "graphflow._core.ops.state.get_variable": 2,
    "graphflow._core.ops.state.initializers": 3,
    "graphflow._core.ops.state.partitioning": 3,
    "graphflow._core.ops.state.scopes": 2,
    "graphflow._core.ops.state.state": 1,
    "graphflow._core.ops.state.template": 1,
    "graphflow._core.ops.state.variable_collections": 1,
    "graphflow._core.ops.state.variable_creators": 1,
    "graphflow._core.ops.state.variable_scope": 10,
    "graphflow._core.ops.strings": 14,
    "graphflow._core.plan.ir": 1,
    "graphflow._core.resources.compressed": 2,
    "graphflow._core.resources.records": 2,
    "graphflow._core.session": 6,
    "graphflow.compat": 2,
    "graphflow.config": 10,
    "graphflow.contrib.crf": 5,
    "graphflow.contrib.evaluation": 4,
    "graphflow.contrib.hparams": 1,
    "graphflow.contrib.losses": 7,
    "graphflow.contrib.metrics": 25,
    "graphflow.contrib.recurrent": 5,
    "graphflow.contrib.slim.learning": 3,
    "graphflow.contrib.slim.model_analyzer": 2,
    "graphflow.contrib.slim.queues": 1,
    "graphflow.contrib.slim.summaries": 4,
    "graphflow.contrib.train_op": 5,
    "graphflow.contrib.variables": 6,
    "graphflow.data.dataset": 25,
    "graphflow.data.iterators": 9,
    "graphflow.data.transformations": 8,
    "graphflow.debugging.profiling": 1,
    "graphflow.distribute.collective": 6,
    "graphflow.distribute.context": 1,
    "graphflow.distribute.in_graph": 5,
    "graphflow.distribute.increment": 1,
    "graphflow.distribute.mirrored": 1,
    "graphflow.distribute.parameter_server": 6,
    "graphflow.distribute.reducers.halving_doubling": 1,
    "graphflow.distribute.reducers.hierarchical": 1,
    "graphflow.distribute.reducers.one_device": 1,
    "graphflow.distribute.reducers.packing": 3,
    "graphflow.distribute.reducers.pieces": 1,
    "graphflow.distribute.reducers.ring": 1,
    "graphflow.distribute.strategy": 15,
    "graphflow.distribute.values": 4,
    "graphflow.distribute.variables": 6,
    "graphflow.distributions.beta": 1,
    "graphflow.distributions.dirichlet": 1,
    "graphflow.distributions.distribution": 12,
    "graphflow.distributions.gamma": 2,
    "graphflow.distributions.kullback_leibler": 3,
    "graphflow.distributions.laplace": 1,
    "graphflow.distributions.multinomial": 1,
    "graphflow.distributions.multivariate_normal": 1,
    "graphflow.distributions.student_t": 1,
    "graphflow.errors": 1,
    "graphflow.estimator.export": 5,
    "graphflow.estimator.exporters": 3,
    "graphflow.estimator.inputs": 2,
    "graphflow.extend.passes": 1,
    "graphflow.flags": 2,
    "graphflow.gfile": 1,
    "graphflow.graph_util": 5,
    "graphflow.image.adjust": 7,
    "graphflow.image.geometry": 1,
    "graphflow.image.quality": 3,
    "graphflow.image.sizes": 1,
    "graphflow.io.gfile": 1,
    "graphflow.layers.arg_scope": 3,
    "graphflow.layers.base": 7,
    "graphflow.layers.channelwise": 4,
    "graphflow.layers.contrib": 8,
    "graphflow.layers.contrib_channelwise": 2,
    "graphflow.layers.contrib_composed": 7,
    "graphflow.layers.convolutional": 3,
    "graphflow.layers.core": 1,
    "graphflow.layers.input_spec": 1,
    "graphflow.layers.model_variables": 5,
    "graphflow.layers.named_outputs": 5,
    "graphflow.layers.optimize_loss": 1,
    "graphflow.layers.pooling": 6,
    "graphflow.layers.regularizers": 3,
    "graphflow.linalg.linear_operators": 4,
    "graphflow.logging": 2,
    "graphflow.losses.functions": 1,
    "graphflow.losses.reduction": 7,
    "graphflow.metrics.averages": 3,
    "graphflow.metrics.classes": 4,
    "graphflow.metrics.counts": 6,
    "graphflow.metrics.curves": 2,
    "graphflow.nest": 5,
    "graphflow.nn.cell_wrappers": 1,
    "graphflow.nn.cells": 1,
    "graphflow.nn.convolutions": 5,
    "graphflow.nn.cross_entropy": 2,
    "graphflow.nn.normalization": 4,
    "graphflow.resource_loader": 2,
    "graphflow.saved_model.builder": 5,
    "graphflow.saved_model.files": 4,
    "graphflow.saved_model.foreign": 1,
    "graphflow.saved_model.loader": 2,
    "graphflow.saved_model.main_op": 1,
    "graphflow.saved_model.signature_def_utils": 5,
    "graphflow.saved_model.utils": 1,
    "graphflow.summary.writer": 2,
    "graphflow.testing.case": 3,
    "graphflow.testing.gradient_checker": 2,
    "graphflow.testing.programs": 1,
    "graphflow.testing.strategies": 1,
    "graphflow.testing.strategy_model": 8,
    "graphflow.train.balance": 1,
    "graphflow.train.coordinator": 2,
    "graphflow.train.hooks.basic_hooks": 4,
    "graphflow.train.hooks.saving_hooks": 11,
    "graphflow.train.hooks.session_run_hook": 1,
    "graphflow.train.hooks.timers": 3,
    "graphflow.train.hooks.validation_hooks": 2,
    "graphflow.train.moving_averages": 1,
    "graphflow.train.optimizers.slots": 1,
    "graphflow.train.optimizers.standard": 2,
    "graphflow.train.producers": 2,
    "graphflow.train.saving.checkpoint_management": 4,
    "graphflow.train.saving.checkpoint_utils": 3,
    "graphflow.train.saving.meta_graph": 1,
    "graphflow.train.saving.saveables": 2,
    "graphflow.train.saving.saver": 2,
    "graphflow.train.sessions.monitored_session": 2,
    "graphflow.train.sessions.session_creators": 1,
    "graphflow.train.sessions.session_manager": 4,
    "graphflow.train.sessions.supervisor": 1,
    "typing": 5,
}
"""How many functions and methods of a module have arguments without a section that names them; may only shrink."""

SECTION: Final = re.compile(r"^(Args|Returns|Raises|Yields|Attributes|Examples?):$", re.MULTILINE)


def document(function: Callable[..., Any]) -> str:
    """What is said of a function; of an __init__, what is said of its class."""
    owner: Any = sys.modules[function.__module__]
    if function.__name__ == "__init__":
        for part in function.__qualname__.split(".")[:-1]:
            owner = getattr(owner, part, None)
        return inspect.cleandoc(owner.__doc__ or "")
    return inspect.cleandoc(function.__doc__ or "")


def public_documents() -> Iterator[tuple[str, str, list[str], str]]:
    """Each public function and method: its module, its name, its arguments, and what is said of it."""
    for _, name, function in public_callables():
        arguments = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
        yield function.__module__, name, arguments, document(function)


def arguments_of(text: str) -> list[str] | None:
    """The names in the section of arguments, in order; None if there is no section."""
    section = re.search(r"^Args:\n((?:    .*\n|\n)+)", f"{text}\n", re.MULTILINE)
    return None if section is None else re.findall(r"^    \*{0,2}(\w+): ", section[1], re.MULTILINE)


def test_each_argument_has_its_line() -> None:
    without: dict[str, list[str]] = {}
    for module, name, arguments, text in public_documents():
        said = arguments_of(text)
        assert said is None or said == arguments, f"{name}({', '.join(arguments)}) documents {said}"
        if arguments and said is None:
            without.setdefault(module, []).append(name)
    more = {m: names for m, names in without.items() if len(names) > WITHOUT.get(m, 0)}
    assert not more, f"give the arguments of these a section Args: {more}"
    fewer = {module: len(without.get(module, ())) for module in WITHOUT}
    fewer = {module: number for module, number in fewer.items() if number < WITHOUT[module]}
    assert not fewer, f"WITHOUT may shrink: {fewer}"


def test_sections_stand_in_one_order_and_say_something() -> None:
    order = ["Args", "Returns", "Yields", "Raises"]
    for _, name, _, text in public_documents():
        if not text:
            continue
        assert not SECTION.match(text), f"{name} begins with a section: say first what it is"
        found = [section for section in SECTION.findall(text) if section in order]
        assert max(Counter(found).values(), default=1) == 1, f"{name} has a section twice: {found}"
        assert found == sorted(found, key=order.index), f"{name}: the order is {order}"
        for section in SECTION.finditer(text):
            assert text[section.end() :].startswith("\n    "), f"{name}: {section[0]} is empty"
