"""NumPy kernels of the random ops.

The state of an op lives in the store by the op's name, made from its seeds on first use, so that a run goes on where
the last one stopped, another session begins again, and a checkpoint can hold it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.common.philox.generator import Philox
from graphflow._core.graph.claims import calling_module
from graphflow._core.kernels import candidates
from graphflow._core.kernels.registry import Kernel, Node, add_kernel
from graphflow.errors import InvalidArgumentError

Draw = Callable[..., Any]
_DRAWING: set[str] = set()


def state_name(name: str) -> str:
    """The name in the store of the state of a random op."""
    return f"random/{name}"


def draws(op_type: str) -> bool:
    """Whether ops of a type have a random state."""
    return op_type in _DRAWING


def state_of(run: Any, node: Node) -> Philox:
    """The state of a random op in the store of a run, made from the op's seeds on first use."""
    seeds = node.attrs.get("seed", 0), node.attrs.get("seed2", 0)
    state: Philox = run.mine(state_name(node.name), lambda: Philox(*seeds))
    return state


def _sizes(shape: Any) -> list[int]:
    return [int(size) for size in shape]


def random_kernel(*op_types: str) -> Callable[[Callable[[Node], Draw]], Callable[[Node], Draw]]:
    """Registers a factory(node) -> function(generator, *inputs)."""

    def register(factory: Callable[[Node], Draw]) -> Callable[[Node], Draw]:
        def with_state(node: Node) -> Kernel:
            draw = factory(node)

            def run_random(run: Any, *inputs: Any) -> Any:
                return draw(state_of(run, node), *inputs)

            return run_random

        add_kernel(op_types, with_state, True, False, calling_module(1))
        _DRAWING.update(op_types)
        return factory

    return register


def _standard(op_type: str, method: Callable[..., Any]) -> None:
    def factory(node: Node) -> Draw:
        dtype = node.dtypes[0].as_numpy_dtype
        return lambda generator, shape, *calls: method(generator, _sizes(shape), dtype, *calls)

    random_kernel(op_type)(factory)


_standard("RandomUniform", Philox.random_uniform)
_standard("RandomStandardNormal", Philox.random_normal)
_standard("TruncatedNormal", Philox.truncated_normal)


@random_kernel("RandomUniformInt")
def _uniform_int(node: Node) -> Draw:
    dtype = node.dtypes[0].as_numpy_dtype
    return lambda generator, shape, low, high: generator.random_uniform_int(
        _sizes(shape), int(low), int(high), dtype
    )


@random_kernel("RandomShuffle")
def _shuffle(node: Node) -> Draw:
    return lambda generator, value: generator.random_shuffle(np.asarray(value))


@random_kernel("Multinomial")
def _multinomial(node: Node) -> Draw:
    dtype = node.dtypes[0].as_numpy_dtype
    return lambda generator, logits, samples: generator.multinomial(np.asarray(logits), int(samples), dtype)


@random_kernel("RandomGamma")
def _gamma(node: Node) -> Draw:
    return lambda generator, shape, alpha: generator.random_gamma(_sizes(shape), np.asarray(alpha))


@random_kernel("RandomPoissonV2")
def _poisson(node: Node) -> Draw:
    dtype = node.dtypes[0].as_numpy_dtype
    return lambda generator, shape, rate: generator.random_poisson(_sizes(shape), np.asarray(rate), dtype)


def _sampler(
    op_type: str, draws_of: Callable[[int], candidates.Draw], probability: Callable[..., Any]
) -> None:
    @random_kernel(op_type)
    def _(node: Node) -> Draw:
        wanted, per_row, classes, unique = (
            node.attrs[name] for name in ("num_sampled", "num_true", "range_max", "unique")
        )
        draw = draws_of(classes)

        def run(generator: Philox, true_classes: Any) -> tuple[Any, Any, Any]:
            if true_classes.ndim != 2:
                raise InvalidArgumentError(None, None, "true_classes must be a matrix")
            if true_classes.shape[1] != per_row:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"true_classes must have num_true columns, expected: {true_classes.shape[1]} was: {per_row}",
                )
            if unique and wanted > classes:
                raise InvalidArgumentError(None, None, "Sampler's range is too small.")
            stream = generator.reserve(wanted * candidates.RESERVED_PER_CANDIDATE)
            sampled, tries = candidates.drawn(stream, draw, wanted, unique)
            of_true, of_sampled = (
                candidates.expected_counts(probability(ids, classes), wanted, tries)
                for ids in (true_classes, sampled)
            )
            return sampled, of_true, of_sampled

        return run


_sampler("LogUniformCandidateSampler", candidates.log_uniform, candidates.log_uniform_probability)
_sampler("UniformCandidateSampler", candidates.uniform, candidates.uniform_probability)
