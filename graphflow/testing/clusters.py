"""Clusters of servers in this process, for tests (tf.test.create_local_cluster)."""

from __future__ import annotations

from contextlib import closing

import graphflow.train as train
from graphflow._core.cluster.ports import ReservedPorts
from graphflow.config import ConfigProto


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: ConfigProto | None = None,
    ps_config: ConfigProto | None = None,
) -> tuple[list[train.Server], list[train.Server]]:
    """The servers of a cluster on this machine, begun, on ports that are free.

    Args:
        num_workers: How many workers there are.
        num_ps: How many parameter servers.
        protocol: As of gf.train.Server.
        worker_config: The configuration of the workers.
        ps_config: That of the parameter servers.

    Returns:
        The workers' servers, and those of the parameter servers.
    """
    with closing(ReservedPorts(num_workers + num_ps)) as reserved:
        jobs = {"worker": reserved.ports[:num_workers], "ps": reserved.ports[num_workers:]}
        cluster = train.ClusterSpec(
            {job: [f"localhost:{port}" for port in ports] for job, ports in jobs.items() if ports}
        )

        def servers(job: str, config: ConfigProto | None) -> list[train.Server]:
            return [
                train.Server(cluster, job_name=job, task_index=index, protocol=protocol, config=config)
                for index in range(len(jobs[job]))
            ]

        return servers("worker", worker_config), servers("ps", ps_config)
