"""NumPy kernels of the random ops.

The state of an op lives in the store by the op's name, made from its seeds on first use, so that a run goes on where
the last one stopped, another session begins again, and a checkpoint can hold it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from graphflow._core.common.files import storage
from graphflow._core.common.philox.generator import Philox
from graphflow._core.graph.claims import calling_module
from graphflow._core.kernels import candidates, unigram
from graphflow._core.kernels.registry import Kernel, Node, add_kernel, takes
from graphflow.errors import InvalidArgumentError, NotFoundError

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


takes(0.0, "Multinomial", "RandomShuffle", "RandomStandardNormal", "RandomUniform", call=60_000.0)
takes(20, "TruncatedNormal", call=250_000.0)
takes(130, "RandomGamma")
takes(50, "RandomPoissonV2")


Sampled = tuple[Any, Any, Any]
Chances = Callable[[candidates.Classes], npt.NDArray[np.float32]]


def _check_true_classes(node: Node, true_classes: Any, possible: int) -> None:
    per_row = node.attrs["num_true"]
    if true_classes.ndim != 2:
        raise InvalidArgumentError(None, None, "true_classes must be a matrix")
    if true_classes.shape[1] != per_row:
        raise InvalidArgumentError(
            None,
            None,
            f"true_classes must have num_true columns, expected: {true_classes.shape[1]} was: {per_row}",
        )
    if node.attrs["unique"] and node.attrs["num_sampled"] > possible:
        raise InvalidArgumentError(None, None, "Sampler's range is too small.")


def _sampled(
    node: Node, generator: Philox, true_classes: Any, draw: candidates.Draw, chances: Chances
) -> Sampled:
    wanted = node.attrs["num_sampled"]
    stream = generator.reserve(wanted * candidates.RESERVED_PER_CANDIDATE)
    sampled, tries = candidates.drawn(stream, draw, wanted, node.attrs["unique"])
    of_true, of_sampled = (
        candidates.expected_counts(chances(ids), wanted, tries) for ids in (true_classes, sampled)
    )
    return sampled, of_true, of_sampled


def _sampler(
    op_type: str, draws_of: Callable[[int], candidates.Draw], probability: Callable[..., Any]
) -> None:
    @random_kernel(op_type)
    def _(node: Node) -> Draw:
        classes = node.attrs["range_max"]
        draw = draws_of(classes)

        def run(generator: Philox, true_classes: Any) -> Sampled:
            _check_true_classes(node, true_classes, classes)
            return _sampled(node, generator, true_classes, draw, lambda ids: probability(ids, classes))

        return run


_sampler("LogUniformCandidateSampler", candidates.log_uniform, candidates.log_uniform_probability)
_sampler("UniformCandidateSampler", candidates.uniform, candidates.uniform_probability)
takes(0.0, "FixedUnigramCandidateSampler", "LogUniformCandidateSampler", call=150_000.0)
takes(0.0, "LearnedUnigramCandidateSampler", "UniformCandidateSampler", call=150_000.0)


@random_kernel("FixedUnigramCandidateSampler")
def _fixed_unigram(node: Node) -> Draw:
    classes, path = node.attrs["range_max"], node.attrs["vocab_file"]
    made: list[tuple[candidates.Draw, Any]] = []

    def run(generator: Philox, true_classes: Any) -> Sampled:
        if not made:
            unigrams = _weights_in(path) if path else node.attrs["unigrams"]
            weights = unigram.weights(
                unigrams,
                *(node.attrs[name] for name in ("distortion", "num_reserved_ids", "num_shards", "shard")),
            )
            if weights.size != classes:
                raise InvalidArgumentError(
                    None, None, f"range_max is {classes}, but there are weights of {weights.size} classes."
                )
            if not weights.any():
                raise InvalidArgumentError(None, None, "Every class has the weight 0.")
            made.append((unigram.fixed(weights), weights))
        draw, weights = made[0]
        _check_true_classes(node, true_classes, int(np.count_nonzero(weights)))
        return _sampled(node, generator, true_classes, draw, lambda ids: unigram.share(ids, weights))

    return run


def _weights_in(path: str) -> list[float]:
    """The numbers behind the last comma of each line of a file."""
    try:
        with storage.opened(path) as file:
            return [float(line.rpartition(b",")[2]) for line in file.read().splitlines()]
    except ValueError as error:
        raise InvalidArgumentError(
            None, None, f"Each line of the vocabulary {path} must end in a weight behind a comma: {error}"
        ) from error
    except OSError as error:
        raise NotFoundError(None, None, f"{path}; {error.strerror}") from error


def _learned_unigram(node: Node) -> Kernel:
    classes = node.attrs["range_max"]

    def run_learned(run: Any, true_classes: Any) -> Sampled:
        _check_true_classes(node, true_classes, classes)
        counts = run.mine(f"unigrams/{node.name}", lambda: np.ones(classes, np.int64))
        draw = unigram.counted(counts)
        found = _sampled(
            node, state_of(run, node), true_classes, draw, lambda ids: unigram.share(ids, counts)
        )
        seen = true_classes.reshape(-1)
        np.add.at(counts, seen[(seen >= 0) & (seen < classes)], 1)
        return found

    return run_learned


add_kernel(("LearnedUnigramCandidateSampler",), _learned_unigram, True, False, globals())
_DRAWING.add("LearnedUnigramCandidateSampler")
