"""RunConfig: where and how often an estimator saves, and on what it runs."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Final, NamedTuple

import numpy as np

from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.cluster.environment import VARIABLE
from graphflow._core.cluster.resolvers.found import find_resolver
from graphflow._core.common.files.paths import user_path
from graphflow.config import ConfigProto
from graphflow.distribute.collective import CollectiveAllReduceStrategy
from graphflow.distribute.parameter_server import ParameterServerStrategy
from graphflow.distribute.strategy import DistributionStrategy
from graphflow.train.sessions.training_session import USE_DEFAULT, saving_periods

_REPLACEABLE: Final = (
    "model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs",
    "session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps", "device_fn",
    "session_creation_timeout_secs", "experimental_max_worker_delay_secs", "train_distribute", "eval_distribute",
)  # fmt: skip
CHIEF: Final = "chief"
MASTER: Final = "master"
WORKER: Final = "worker"
PARAMETER_SERVER: Final = "ps"
EVALUATOR: Final = "evaluator"


class TaskType:
    """The jobs of a cluster (tensorflow_estimator.python.estimator.run_config.TaskType)."""

    MASTER = MASTER
    PS = PARAMETER_SERVER
    WORKER = WORKER
    CHIEF = CHIEF
    EVALUATOR = EVALUATOR


class DistributeConfig(NamedTuple):
    """The strategies of an estimator (tf.contrib.distribute.DistributeConfig).

    Args:
        train_distribute: To train.
        eval_distribute: To evaluate.
        remote_cluster: None: a program runs in every task of a cluster.
    """

    train_distribute: DistributionStrategy | None = None
    eval_distribute: DistributionStrategy | None = None
    remote_cluster: None = None


class RunConfig:
    """Where and how often an estimator saves, and on what it runs. Immutable; `replace` makes others.

    The cluster and this process's part in it come from the environment variable TF_CONFIG. The chief is the task of
    the job "chief" or "master", worker 0 if there is none.

    Args:
        model_dir: The folder of checkpoints and summaries; by default what TF_CONFIG says of it.
        tf_random_seed: The graphs' random seed; None for none.
        save_summary_steps: The period of summaries in steps.
        save_checkpoints_steps: The period of checkpoints in steps, None for none.
        save_checkpoints_secs: The period of checkpoints in seconds, None for none; 600 if neither period is given.
        session_config: Of all sessions; by default of one that knows this task and those of the job "ps".
        keep_checkpoint_max: How many checkpoints are kept; 0 or None for all.
        keep_checkpoint_every_n_hours: One of so many hours is kept besides.
        log_step_count_steps: The period in steps in which the loss and the rate of steps are logged.
        train_distribute: A strategy of gf.distribute: the model function is called in each of its towers to train. One
            that spans a cluster is told the cluster and the task of TF_CONFIG.
        device_fn: Gives an operation its device, as gf.device takes it; by default variables are put on the tasks of
            the job "ps" in turn if there are any.
        protocol: Is kept and has no effect.
        eval_distribute: A strategy on the devices of one process, to evaluate.
        experimental_distribute: A gf.contrib.distribute.DistributeConfig with both of these, in place of them.
        experimental_max_worker_delay_secs: Is kept and has no effect.
        session_creation_timeout_secs: The most that a worker waits for the chief.

    Raises:
        ValueError: If both periods of checkpoints are given, a number is negative, an argument is of another type,
            TF_CONFIG is wrong, or the strategy is one of a single process and the cluster has several workers.
        TypeError: If a strategy is none.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike[str] | None = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: int | None = USE_DEFAULT,
        save_checkpoints_secs: float | None = USE_DEFAULT,
        session_config: ConfigProto | None = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10_000,
        log_step_count_steps: int | None = 100,
        train_distribute: DistributionStrategy | None = None,
        device_fn: Callable[..., Any] | None = None,
        protocol: str | None = None,
        eval_distribute: DistributionStrategy | None = None,
        experimental_distribute: DistributeConfig | None = None,
        experimental_max_worker_delay_secs: int | None = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:
        save_checkpoints_secs, save_checkpoints_steps = saving_periods(
            save_checkpoints_secs, save_checkpoints_steps
        )
        if save_checkpoints_steps is not None and save_checkpoints_secs is not None:
            raise ValueError("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
        for name, number in (
            ("save_summary_steps", save_summary_steps),
            ("save_checkpoints_steps", save_checkpoints_steps),
            ("save_checkpoints_secs", save_checkpoints_secs),
            ("keep_checkpoint_max", keep_checkpoint_max),
        ):
            if number is not None and number < 0:
                raise ValueError(f"{name} should be >= 0, got {number!r}.")
        if session_config is not None and not isinstance(session_config, ConfigProto):
            raise ValueError(f"session_config must be instance of ConfigProto, but got: {session_config!r}")
        for name, number in (
            ("keep_checkpoint_every_n_hours", keep_checkpoint_every_n_hours),
            ("session_creation_timeout_secs", session_creation_timeout_secs),
        ):
            if number is not None and number <= 0:
                raise ValueError(f"{name} should be > 0, got {number!r}.")
        if tf_random_seed is not None and not isinstance(tf_random_seed, int | np.integer):
            raise ValueError(f"tf_random_seed must be integer, got {tf_random_seed!r}.")
        delay = experimental_max_worker_delay_secs
        if delay is not None and not isinstance(delay, int | np.integer):
            raise ValueError(f"experimental_max_worker_delay_secs must be an integer if set, got {delay!r}.")
        if device_fn is not None:
            _check_device_function(device_fn)
        self.model_dir: str | None = _folder(model_dir)
        self.tf_random_seed = tf_random_seed
        self.save_summary_steps = save_summary_steps
        self.save_checkpoints_steps = save_checkpoints_steps
        self.save_checkpoints_secs = save_checkpoints_secs
        self.session_config = session_config
        self.keep_checkpoint_max = keep_checkpoint_max
        self.keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self.log_step_count_steps = log_step_count_steps
        if experimental_distribute is not None:
            if train_distribute is not None or eval_distribute is not None:
                raise ValueError(
                    "Either train_distribute and eval_distribute or experimental_distribute is given, not both."
                )
            train_distribute, eval_distribute, _ = experimental_distribute
        self.train_distribute: DistributionStrategy | None = _checked(train_distribute, "train_distribute")
        self.eval_distribute: DistributionStrategy | None = _checked(eval_distribute, "eval_distribute")
        self.device_fn = device_fn
        self.protocol = protocol
        self.experimental_max_worker_delay_secs = experimental_max_worker_delay_secs
        self.session_creation_timeout_secs = session_creation_timeout_secs
        self._find_task()

    def __setattr__(self, name: str, value: Any) -> None:
        # A subclass may say by a property of its own what this class would.
        if not isinstance(getattr(type(self), name, None), property):
            super().__setattr__(name, value)

    def _find_task(self) -> None:
        told = os.environ.get(VARIABLE)
        _check_task(_read(told))
        resolver = find_resolver() if _names_a_cluster(told) or not told else None
        if resolver is not None:
            cluster, kind, number = resolver.task()
        else:
            cluster, kind, number = ClusterSpec({}), WORKER, 0
        self._service: Mapping[str, Any] | None = _service_of(told)
        self._cluster_spec: ClusterSpec = cluster
        self._task_type: str = kind
        self._task_id: int = number
        jobs = self.cluster_spec.jobs
        chief = next((job for job in (CHIEF, MASTER, WORKER) if job in jobs), WORKER)
        self._is_chief: bool = (self.task_type, self.task_id) == (chief, 0)
        self._num_ps_replicas: int = self._tasks(PARAMETER_SERVER)
        self._num_worker_replicas: int = sum(map(self._tasks, (CHIEF, MASTER, WORKER)))
        if not self._num_worker_replicas and kind != EVALUATOR:
            self._num_worker_replicas = 1
        self.master: str = ""
        self.evaluation_master: str = ""
        said = _read(told)
        if self.task_type == EVALUATOR or not jobs:
            self.evaluation_master = said.get("eval_session_master", "")
        if said.get("session_master"):
            self.master = said["session_master"]
        elif self.task_type in jobs and self.task_type != PARAMETER_SERVER:
            self.master = f"zmq://{self.cluster_spec.task_address(self.task_type, self.task_id)}"
            if self.session_config is None and not isinstance(
                self.train_distribute, CollectiveAllReduceStrategy
            ):
                # A worker that has ended is nothing to the others.
                own = f"/job:{self.task_type}/task:{self.task_id}"
                self.session_config = ConfigProto(device_filters=[f"/job:{PARAMETER_SERVER}", own])
        if self.train_distribute is not None and self.master:
            self._join(self.train_distribute)

    def _join(self, strategy: DistributionStrategy) -> None:
        """Tells a strategy which worker this is."""
        if isinstance(strategy, CollectiveAllReduceStrategy | ParameterServerStrategy):
            strategy.configure(self.session_config, self.cluster_spec, self.task_type, self.task_id)
        elif self.num_worker_replicas > 1:
            raise ValueError(
                f"{type(strategy).__name__} trains in one process, and the cluster of TF_CONFIG has "
                f"{self.num_worker_replicas} workers: take ParameterServerStrategy or CollectiveAllReduceStrategy."
            )

    # What the cluster is are properties, so that a subclass may say otherwise by properties of its own.

    @property
    def cluster_spec(self) -> ClusterSpec:
        """The tasks of the cluster; empty without one."""
        return self._cluster_spec

    @property
    def task_type(self) -> str:
        """The job of this process; "worker" without a cluster."""
        return self._task_type

    @property
    def task_id(self) -> int:
        """The number of this process in its job."""
        return self._task_id

    @property
    def is_chief(self) -> bool:
        """Whether this process is the one that saves."""
        return self._is_chief

    @property
    def num_ps_replicas(self) -> int:
        """How many tasks keep variables."""
        return self._num_ps_replicas

    @property
    def num_worker_replicas(self) -> int:
        """How many tasks train, the chief among them."""
        return self._num_worker_replicas

    @property
    def global_id_in_cluster(self) -> int | None:
        """The number of this process among all tasks: the chief's is 0, then come workers, then those of the job "ps".

        None for an evaluator, which is no task of the cluster.
        """
        jobs = self.cluster_spec.jobs
        if self.task_type == EVALUATOR:
            return None
        if not jobs:
            return 0
        order: list[str] = [job for job in (CHIEF, MASTER) if job in jobs]
        order += [job for job in sorted(jobs) if job not in (CHIEF, MASTER, PARAMETER_SERVER)]
        order += [job for job in (PARAMETER_SERVER,) if job in jobs]
        return sum(map(self._tasks, order[: order.index(self.task_type)])) + self.task_id

    @property
    def service(self) -> Mapping[str, Any] | None:
        """What TF_CONFIG says of the platform under "service"; None if nothing."""
        return self._service

    def _tasks(self, job: str) -> int:
        return self.cluster_spec.num_tasks(job) if job in self.cluster_spec.jobs else 0

    def replace(self, **changes: Any) -> RunConfig:
        """A copy in which some of the arguments are others.

        Args:
            **changes: model_dir, tf_random_seed, the periods, session_config, keep_checkpoint_max and the like.

        Returns:
            The new RunConfig.

        Raises:
            ValueError: For a name that cannot be replaced, or as the constructor does.
        """
        unknown = sorted(set(changes) - set(_REPLACEABLE))
        if unknown:
            raise ValueError(
                f"Replacing {', '.join(unknown)} is not supported, only: {', '.join(_REPLACEABLE)}."
            )
        found = copy.copy(self)
        periods = ("save_checkpoints_steps", "save_checkpoints_secs")
        if all(changes.get(period) is not None for period in periods):
            raise ValueError("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
        for period, other in (periods, periods[::-1]):
            if changes.get(period) is not None and other not in changes:
                changes[other] = None
        checked = RunConfig(**{name: getattr(self, name) for name in _REPLACEABLE} | changes)
        for name in changes:
            setattr(found, name, getattr(checked, name))
        return found


def _checked(strategy: Any, name: str) -> DistributionStrategy | None:
    if strategy is not None and not isinstance(strategy, DistributionStrategy):
        raise TypeError(f"{name} must be a strategy of gf.distribute, got {strategy!r}.")
    return strategy


def _read(text: str | None) -> Mapping[str, Any]:
    """What TF_CONFIG says; nothing for what is no JSON, of which the reader of clusters says what is wrong."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) else {}


def _service_of(text: str | None) -> Mapping[str, Any] | None:
    found = _read(text).get("service")
    if found is not None and not isinstance(found, Mapping):
        raise TypeError(
            f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(found)}: {found!r}.'
        )
    return found


def _folder(given: str | os.PathLike[str] | None) -> str | None:
    """The folder of checkpoints, which TF_CONFIG may say, too; ValueError if both do and differ, or it is empty."""
    if given is not None and not str(given):
        raise ValueError("model_dir should be non-empty.")
    told = _read(os.environ.get(VARIABLE)).get("model_dir")
    if told is not None and not told:
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    own = None if given is None else user_path(given)
    if told is not None and own not in (None, user_path(told)):
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir in "
            f"TF_CONFIG. model_dir is {own!r}, and {told!r} in TF_CONFIG: both must be the same."
        )
    return user_path(told) if own is None and told is not None else own


def _check_task(told: Mapping[str, Any]) -> None:
    """ValueError unless TF_CONFIG says one task of its cluster, or worker 0 without a cluster."""
    cluster, task = told.get("cluster"), told.get("task")
    if isinstance(cluster, Mapping):
        _check_chiefs(cluster)
    if not isinstance(task, Mapping):
        return
    kind, index = task.get("type"), task.get("index")
    if not cluster:
        if kind not in (None, WORKER):
            raise ValueError(
                f'If "cluster" is not set in TF_CONFIG, task type must be WORKER: it must be "worker", got {kind!r}.'
            )
        if index is not None and int(index) != 0:
            raise ValueError(f'If "cluster" is not set in TF_CONFIG, task index must be 0. It is {index!r}.')
        return
    if kind is None and index is not None:
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if kind is not None and index is None:
        raise ValueError('If "cluster" is set in TF_CONFIG, the task index must be set.')
    if isinstance(index, int) and index < 0:
        raise ValueError(f"Task index must be non-negative number. It is {index}.")
    if isinstance(cluster, Mapping) and kind is not None:
        _check_place(cluster, kind, index)
    if isinstance(cluster, Mapping) and MASTER in cluster:
        if CHIEF in cluster:
            raise ValueError(
                "If `master` node exists in `cluster`, job `chief` is not supported. They are the same: "
                "take one of them."
            )
        if kind == EVALUATOR:
            raise ValueError(
                "If `master` node exists in `cluster`, task_type `evaluator` is not supported: it is the master "
                "which evaluates."
            )


def _check_chiefs(cluster: Mapping[str, Any]) -> None:
    """ValueError unless the cluster has one chief at most."""
    for job in (CHIEF, MASTER):
        if isinstance(cluster.get(job), list | tuple) and len(cluster[job]) > 1:
            raise ValueError(
                f'The "cluster" in TF_CONFIG must have only one "{job}" node. It has {cluster[job]}.'
            )


def _check_device_function(function: Callable[..., Any]) -> None:
    """ValueError unless it takes an operation by the name "op"."""
    if not callable(function) or set(signature(function).parameters) - {"self"} != {"op"}:
        raise ValueError('device_fn must be callable with exactly one argument "op".')


def _check_place(cluster: Mapping[str, Any], kind: Any, index: Any) -> None:
    """ValueError unless the task is one of the cluster's, or an evaluator."""
    if kind == EVALUATOR:
        return
    if kind not in cluster:
        raise ValueError(f"{kind} is not a valid task_type in the cluster_spec: {dict(cluster)}.")
    tasks = cluster[kind]
    if isinstance(tasks, list | tuple) and isinstance(index, int) and index >= len(tasks):
        raise ValueError(
            f"{index} is not a valid task_id for task_type {kind} in the cluster_spec: {dict(cluster)}."
        )


def _names_a_cluster(text: str | None) -> bool:
    """Whether TF_CONFIG has a cluster; true for what is no JSON, of which the reader says what is wrong."""
    try:
        return bool(text) and bool(json.loads(text or "").get("cluster"))
    except (ValueError, AttributeError):
        return True
