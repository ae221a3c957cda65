"""TPUClusterResolver: what a program asks for TPUs, of which there are none here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.cluster.resolvers.base import ClusterResolver
from graphflow.config import ConfigProto

_LOCAL: Final = ("", "local")
_VARIABLE: Final = "TPU_NAME"


class TPUClusterResolver(ClusterResolver):
    """The process itself, for a program that asks for no TPU (tf.distribute.cluster_resolver.TPUClusterResolver).

    Args:
        tpu: "" or "local": this process. By default what the environment variable TPU_NAME says.
        zone: Has no effect.
        project: Has no effect.
        job_name: The job of its task.
        coordinator_name: Has no effect.
        coordinator_address: Has no effect.
        credentials: Has no effect.
        service: Has no effect.
        discovery_url: Has no effect.

    Raises:
        ValueError: If a TPU is named, which cannot be reached, or nothing at all.
    """

    def __init__(
        self,
        tpu: str | bytes | Sequence[str] | None = None,
        zone: str | None = None,
        project: str | None = None,
        job_name: str = "worker",
        coordinator_name: str | None = None,
        coordinator_address: str | None = None,
        credentials: Any = "default",
        service: Any = None,
        discovery_url: str | None = None,
    ) -> None:
        super().__init__(None)
        if isinstance(tpu, list | tuple) and len(tpu) != 1:
            raise ValueError(f"One TPU must be specified, got {tpu!r}.")
        found: Any = tpu[0] if isinstance(tpu, list | tuple) else tpu
        found = os.environ.get(_VARIABLE) if found is None else found
        if found is None:
            raise ValueError("Please provide a TPU Name to connect to.")
        if os.fsdecode(found) not in _LOCAL:
            raise ValueError(
                f"The TPU {os.fsdecode(found)!r} cannot be reached: graphflow has no TPUs. Give no name, and "
                "TPUEstimator runs on the CPU or a GPU."
            )
        self.task_type, self.task_id = job_name, 0

    def cluster_spec(self) -> ClusterSpec:
        """No tasks."""
        return ClusterSpec({})

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """The target of a session in this process, "".

        Args:
            task_type: Has no effect.
            task_id: Has no effect.
            rpc_layer: Has no effect.
        """
        return ""

    def get_master(self) -> str:
        """The target of a session in this process, ""."""
        return self.master()

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: ConfigProto | None = None,
    ) -> dict[str, int]:
        """How many TPUs there are: none.

        Args:
            task_type: Has no effect.
            task_id: Has no effect.
            config_proto: Has no effect.
        """
        return {"TPU": 0}
