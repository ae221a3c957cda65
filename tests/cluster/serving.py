"""Servers in the process of a test: addresses on ports that nobody else takes meanwhile, and an end."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import graphflow as gf
from graphflow._core.cluster.ports import ReservedPorts


def spec_of(stack: ExitStack, **jobs: int) -> dict[str, list[str]]:
    """The addresses of so many tasks of each job; the ports are kept until the end of the stack."""
    ports = iter(stack.enter_context(ReservedPorts(sum(jobs.values()))).ports)
    return {job: [f"localhost:{next(ports)}" for _ in range(count)] for job, count in jobs.items()}


def serve(stack: ExitStack, spec: Any, job: str, index: int = 0, **options: Any) -> gf.train.Server:
    """A server, which is stopped at the end of the stack."""
    server = gf.train.Server(spec, job, index, **options)
    stack.callback(server.stop)
    return server


def serve_all(stack: ExitStack, spec: dict[str, list[str]], **options: Any) -> list[gf.train.Server]:
    """The servers of all tasks, job by job."""
    return [serve(stack, spec, job, i, **options) for job, tasks in spec.items() for i in range(len(tasks))]
