"""Options of datasets, most of which ask for TensorFlow's rewriting of pipelines: they are kept, and have no effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar


@dataclass(frozen=True)
class _Option:
    """What an option takes: its types, and what makes its default."""

    types: tuple[type, ...]
    default: Callable[[], Any]


def _option(*types: type, default: Callable[[], Any] = lambda: None) -> Any:
    return _Option(types, default)


_Options = TypeVar("_Options", bound="OptionsBase")


class OptionsBase:
    """Options by name. Setting one that does not exist, or to a value of another type, is an error."""

    _declared: ClassVar[dict[str, _Option]] = {}

    def __init_subclass__(cls) -> None:
        cls._declared = {name: one for name, one in vars(cls).items() if isinstance(one, _Option)}
        for name in cls._declared:
            delattr(cls, name)

    def __init__(self) -> None:
        for name, option in self._declared.items():
            object.__setattr__(self, name, option.default())

    def __setattr__(self, name: str, value: Any) -> None:
        option = self._declared.get(name)
        if option is None:
            raise AttributeError(
                f"{type(self).__name__} has no option {name!r}: those it has are {', '.join(self._declared)}."
            )
        if not isinstance(value, option.types):
            expected = " or ".join(kind.__name__ for kind in option.types)
            raise TypeError(
                f"The option {name!r} must be of type {expected}, got {value!r} of type {type(value).__name__}."
            )
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]


def merged(first: _Options, second: _Options) -> _Options:
    """Options that say what either of two says.

    Raises:
        ValueError: If both say something, and not the same.
    """
    found, defaults = type(first)(), vars(type(first)())
    for name, default in defaults.items():
        one, other = getattr(first, name), getattr(second, name)
        if isinstance(one, OptionsBase) and isinstance(other, OptionsBase):
            value: Any = merged(one, other)
        elif other == default or one == other:
            value = one
        elif one == default:
            value = other
        else:
            raise ValueError(f"Cannot merge incompatible values ({one!r} and {other!r}) of option: {name}")
        object.__setattr__(found, name, value)
    return found


class MapVectorizationOptions(OptionsBase):
    """Whether functions of elements become functions of batches (tf.data.experimental.MapVectorizationOptions).

    Attributes:
        enabled: A bool.
        use_choose_fastest: A bool.
    """

    enabled: bool | None = _option(bool)
    use_choose_fastest: bool | None = _option(bool)


class OptimizationOptions(OptionsBase):
    """Options of rewriting pipelines (tf.data.experimental.OptimizationOptions): each a bool unless said otherwise.

    Attributes:
        apply_default_optimizations: Whether those that are on by default are applied.
        autotune: Whether numbers are chosen while it runs.
        autotune_algorithm: How, an int.
        autotune_buffers: Whether sizes of buffers are chosen, too.
        autotune_cpu_budget: For how many cores, an int.
        filter_fusion: Whether filters become one.
        filter_with_random_uniform_fusion: Whether random filters become samples.
        hoist_random_uniform: Whether random numbers are drawn before functions.
        map_and_batch_fusion: Whether map and batch become one.
        map_and_filter_fusion: Whether map and filter become one.
        map_fusion: Whether maps become one.
        map_parallelization: Whether maps run several calls at a time.
        map_vectorization: MapVectorizationOptions.
        noop_elimination: Whether what changes nothing is left out.
        parallel_batch: Whether elements are copied into batches in parallel.
        shuffle_and_repeat_fusion: Whether shuffle and repeat become one.
    """

    apply_default_optimizations: bool | None = _option(bool)
    autotune: bool | None = _option(bool)
    autotune_algorithm: int | None = _option(int)
    autotune_buffers: bool | None = _option(bool)
    autotune_cpu_budget: int | None = _option(int)
    filter_fusion: bool | None = _option(bool)
    filter_with_random_uniform_fusion: bool | None = _option(bool)
    hoist_random_uniform: bool | None = _option(bool)
    map_and_batch_fusion: bool | None = _option(bool)
    map_and_filter_fusion: bool | None = _option(bool)
    map_fusion: bool | None = _option(bool)
    map_parallelization: bool | None = _option(bool)
    map_vectorization: MapVectorizationOptions = _option(
        MapVectorizationOptions, default=MapVectorizationOptions
    )
    noop_elimination: bool | None = _option(bool)
    parallel_batch: bool | None = _option(bool)
    shuffle_and_repeat_fusion: bool | None = _option(bool)


class ThreadingOptions(OptionsBase):
    """Options of threads (tf.data.experimental.ThreadingOptions).

    Attributes:
        max_intra_op_parallelism: How many threads an operation takes at most.
        private_threadpool_size: How many threads are the dataset's own.
    """

    max_intra_op_parallelism: int | None = _option(int)
    private_threadpool_size: int | None = _option(int)


class StatsOptions(OptionsBase):
    """Options of statistics (tf.data.experimental.StatsOptions).

    Attributes:
        aggregator: A StatsAggregator.
        prefix: What the names of the statistics begin with.
        counter_prefix: What those of counters begin with.
        latency_all_edges: Whether the time of each element is recorded.
    """

    aggregator: Any = _option(object)
    prefix: str = _option(str, default=str)
    counter_prefix: str = _option(str, default=str)
    latency_all_edges: bool | None = _option(bool)


class DistributeOptions(OptionsBase):
    """Options of strategies (tf.data.experimental.DistributeOptions).

    Attributes:
        auto_shard: Whether each worker gets a part of its own.
        num_devices: How many devices there are.
    """

    auto_shard: bool = _option(bool, default=lambda: True)
    num_devices: int | None = _option(int)


class Options(OptionsBase):
    """Options of a dataset (tf.data.Options): any may be set and read; none has an effect.

    Attributes:
        experimental_deterministic: Whether the order is fixed; it always is.
        experimental_distribute: DistributeOptions.
        experimental_optimization: OptimizationOptions.
        experimental_slack: Whether prefetching waits for steps.
        experimental_stats: StatsOptions.
        experimental_stateful_whitelist: Operations with states that may be saved; all are.
        experimental_threading: ThreadingOptions.
    """

    experimental_deterministic: bool | None = _option(bool)
    experimental_distribute: DistributeOptions = _option(DistributeOptions, default=DistributeOptions)
    experimental_optimization: OptimizationOptions = _option(OptimizationOptions, default=OptimizationOptions)
    experimental_slack: bool | None = _option(bool)
    experimental_stats: StatsOptions = _option(StatsOptions, default=StatsOptions)
    experimental_stateful_whitelist: list[str] | None = _option(list)
    experimental_threading: ThreadingOptions = _option(ThreadingOptions, default=ThreadingOptions)

    def merge(self, options: Options) -> Options:
        """Options that say what these or others say.

        Args:
            options: The others.

        Returns:
            New options.

        Raises:
            ValueError: If both say something, and not the same.
        """
        return merged(self, options)
