"""RunConfig and TPUConfig: what a TPUEstimator is told of the machines.

What is said of TPUs is kept, for programs to read, and has no effect.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import graphflow.estimator.run_config as base
from graphflow._core.cluster.environment import VARIABLE
from graphflow._core.cluster.resolvers.base import ClusterResolver

_CORES: Final = (1, 2, 4, 8, 16, 32, 64, 128)
_PERIOD: Final = re.compile(r"[1-9]\d*[smh]")


class InputPipelineConfig:
    """How often an input function is called for several machines (tf.contrib.tpu.InputPipelineConfig)."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class _Fields(NamedTuple):
    iterations_per_loop: int | str
    num_shards: int | None
    num_cores_per_replica: int | None
    per_host_input_for_training: int
    tpu_job_name: str | None
    initial_infeed_sleep_secs: int | None
    input_partition_dims: Sequence[Any] | None
    eval_training_input_configuration: int
    experimental_host_call_every_n_steps: int


class TPUConfig(_Fields):
    """What a program says of TPUs; it is checked and kept, and has no effect (tf.contrib.tpu.TPUConfig).

    Args:
        iterations_per_loop: How many steps a TPU makes by itself, or for how long, such as "30s".
        num_shards: How many copies of the model there are.
        num_cores_per_replica: How many cores a copy takes: 1, 2, 4 or so on, up to 128.
        per_host_input_for_training: One of InputPipelineConfig; True and False are PER_HOST_V1 and PER_SHARD_V1.
        tpu_job_name: The job of the TPUs; by default what TF_CONFIG says of it.
        initial_infeed_sleep_secs: How long the input waits at the beginning.
        input_partition_dims: How inputs are cut for the cores of a copy.
        eval_training_input_configuration: PER_HOST_V1 or SLICED.
        experimental_host_call_every_n_steps: How often the host's function is called.

    Raises:
        ValueError: If a number is not positive, or not one of those above.
    """

    __slots__ = ()

    def __new__(
        cls,
        iterations_per_loop: int | str = 2,
        num_shards: int | None = None,
        num_cores_per_replica: int | None = None,
        per_host_input_for_training: bool | int = True,
        tpu_job_name: str | None = None,
        initial_infeed_sleep_secs: int | None = None,
        input_partition_dims: Sequence[Any] | None = None,
        eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1,
        experimental_host_call_every_n_steps: int = 1,
    ) -> TPUConfig:
        if not (isinstance(iterations_per_loop, str) and _PERIOD.fullmatch(iterations_per_loop)):
            check_positive(iterations_per_loop, "TPUConfig iterations_per_loop")
        if num_shards is not None:
            check_positive(num_shards, "TPUConfig num_shards")
        if num_cores_per_replica not in (None, *_CORES):
            raise ValueError(
                f"num_cores_per_replica must be {', '.join(map(str, _CORES))}; got {num_cores_per_replica!r}."
            )
        if initial_infeed_sleep_secs:
            check_positive(initial_infeed_sleep_secs, "TPUConfig initial_infeed_sleep_secs")
        kinds = InputPipelineConfig
        if eval_training_input_configuration not in (kinds.PER_HOST_V1, kinds.SLICED):
            raise ValueError(
                "eval_training_input_configuration must be PER_HOST_V1 or SLICED; "
                f"got {eval_training_input_configuration!r}."
            )
        if isinstance(per_host_input_for_training, bool):
            per_host_input_for_training = (
                kinds.PER_HOST_V1 if per_host_input_for_training else kinds.PER_SHARD_V1
            )
        if input_partition_dims is not None:
            if len(input_partition_dims) not in (1, 2):
                raise ValueError("input_partition_dims must be a list of one or two elements.")
            if per_host_input_for_training != kinds.PER_HOST_V2:
                raise ValueError("input_partition_dims is only supported in PER_HOST_V2 mode.")
            if num_cores_per_replica is None:
                raise ValueError("input_partition_dims requires setting num_cores_per_replica.")
        told = json.loads(os.environ.get(VARIABLE) or "{}").get("service", {})
        return super().__new__(
            cls, iterations_per_loop, num_shards, num_cores_per_replica, per_host_input_for_training,
            tpu_job_name or told.get("tpu_worker_job_name"), initial_infeed_sleep_secs, input_partition_dims,
            eval_training_input_configuration, experimental_host_call_every_n_steps,
        )  # fmt: skip


def check_positive(value: Any, what: str) -> None:
    """TypeError for what is no whole number, ValueError for one below 1."""
    if not isinstance(value, int):
        raise TypeError(f"{what} must be an int, got {value!r}.")
    if value < 1:
        raise ValueError(f"{what} must be positive, got {value!r}.")


class RunConfig(base.RunConfig):
    """A RunConfig that keeps what is said of TPUs (tf.contrib.tpu.RunConfig).

    Args:
        tpu_config: A TPUConfig.
        evaluation_master: The target of sessions that evaluate; by default that of those that train.
        master: The target of sessions that train.
        cluster: A resolver that tells the target, instead of `master`.
        **kwargs: As gf.estimator.RunConfig takes them.

    Raises:
        ValueError: If both master and cluster are given.
    """

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: ClusterResolver | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if master is not None and cluster is not None:
            raise ValueError("Both master and cluster are set.")
        self.tpu_config: TPUConfig = tpu_config or TPUConfig()
        self.cluster = cluster
        if master is not None:
            self.master = master
        elif cluster is not None:
            self.master: str = cluster.master()
        self.evaluation_master: str = (
            (self.evaluation_master or self.master) if evaluation_master is None else evaluation_master
        )

    def replace(self, **changes: Any) -> RunConfig:
        """A copy in which some of the arguments are others.

        Args:
            **changes: tpu_config, or what gf.estimator.RunConfig.replace takes.

        Returns:
            The new RunConfig.
        """
        tpu_config = changes.pop("tpu_config", self.tpu_config)
        found = super().replace(**changes)
        assert isinstance(found, RunConfig)
        found.tpu_config = tpu_config
        return found
