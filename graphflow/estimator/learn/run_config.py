"""RunConfig as gf.contrib.learn has it: as that of gf.estimator, with more arguments."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from typing import Final

from graphflow._core.cluster.environment import VARIABLE
from graphflow.config import ConfigProto, GPUOptions
from graphflow.estimator.run_config import RunConfig as CoreRunConfig

_USE_DEFAULT: Final = 0
_DEFAULT_UID_WHITE_LIST: Final = [
    "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs", "session_config",
    "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps",
]  # fmt: skip
"""What may differ in configurations of one experiment."""


class TaskType:
    """The jobs of a cluster (tf.contrib.learn.TaskType)."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"


class RunConfig(CoreRunConfig):
    """Where and how often an estimator saves, and on what it runs (tf.contrib.learn.RunConfig).

    Args:
        master: The address of a server that runs the graphs; by default as TF_CONFIG says.
        num_cores: The number of threads; 0 for as many as there are cores.
        log_device_placement: Whether sessions log where operations run.
        gpu_memory_fraction: The share of a GPU's memory that is taken.
        tf_random_seed: The graphs' random seed.
        save_summary_steps: The period of summaries in steps.
        save_checkpoints_secs: The period of checkpoints in seconds; 600 if neither period is given.
        save_checkpoints_steps: The period of checkpoints in steps.
        keep_checkpoint_max: How many checkpoints are kept.
        keep_checkpoint_every_n_hours: One of so many hours is kept besides.
        log_step_count_steps: The period in steps in which the loss and the rate of steps are logged.
        protocol: Is kept and has no effect.
        evaluation_master: The address of a server that runs evaluations.
        model_dir: The folder of checkpoints and summaries.
        session_config: Of all sessions; by default of `tf_config`, what the first arguments say.
        session_creation_timeout_secs: The most that a worker waits for the chief.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int = 100,
        save_checkpoints_secs: float | None = _USE_DEFAULT,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_every_n_hours: float = 10_000,
        log_step_count_steps: int | None = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: str | os.PathLike[str] | None = None,
        session_config: ConfigProto | None = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:
        if save_checkpoints_secs == _USE_DEFAULT:
            save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
        self.tf_config: ConfigProto = ConfigProto(
            log_device_placement=log_device_placement,
            inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
        )
        told = json.loads(os.environ.get(VARIABLE) or "{}")
        super().__init__(
            model_dir=model_dir or told.get("model_dir"),
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            protocol=protocol,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )
        self.environment: str = told.get("environment", "local")
        if master is not None:
            self.master = master
        if evaluation_master:
            self.evaluation_master = evaluation_master

    def uid(self, whitelist: Collection[str] | None = None) -> str:
        """A text that is the same for configurations of one experiment.

        Args:
            whitelist: The names of what may differ; None for the seed and what concerns saving and sessions.
        """
        left_out = {*(_DEFAULT_UID_WHITE_LIST if whitelist is None else whitelist), "tf_config"}
        state = {name: value for name, value in vars(self).items() if name not in left_out}
        state["cluster_spec"] = sorted(self.cluster_spec.as_dict().items())
        return ", ".join(f"{name}={value!r}" for name, value in sorted(state.items()))
