"""Reads the subgraphs of a plan that a task is to run from a message. Nothing else on a task opens Python functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import graphflow.errors as errors
from graphflow._core.common.timeouts import MOST_REPLICA_WAIT_MS
from graphflow._core.common.waiting.stillness import patience_of
from graphflow._core.plan.encode import PlanReader, UnknownOpType
from graphflow._core.runtime.planner import ExecutionOptions
from graphflow._core.runtime.progress import Parts, PartStage
from graphflow._core.transport.frames.message import Message
from graphflow.config import TIERS


def read_subgraphs(
    message: Message, task: str, peers: Collection[str], runner: Callable[[Any, ExecutionOptions, bool], Any]
) -> Parts:
    """The subgraphs that a REGISTER message brings, one a device; its sender has said hello with the secret.

    peers: the other tasks of the cluster. runner: makes what runs a stage, from the stage's plan, how it is run, and
    whether it may wait. NotFoundError names an operation whose type this process does not know; a message that is
    garbled raises whatever reading it leads to.
    """
    import cloudpickle

    reader = PlanReader(message.tensors, cloudpickle.loads)
    details = message.details
    compiled = details["compiled"]
    if compiled not in TIERS:
        raise ValueError(f"compiled is {compiled!r:.200}, not one of {', '.join(TIERS)}.")
    flags = [details.get(name) is True for name in ("seeded", "traced", "check_numerics", "verify_plans")]
    wait = details.get("replica_wait_in_ms", 0)
    if type(wait) is not int or not 0 <= wait <= MOST_REPLICA_WAIT_MS:
        raise ValueError(
            f"replica_wait_in_ms is {wait!r:.200}, not a number of at most {MOST_REPLICA_WAIT_MS}."
        )
    verify = details.get("verify")
    if verify is not None and not isinstance(verify, bool):
        raise ValueError(f"verify is {verify!r:.200}, not a truth value or null.")
    options = ExecutionOptions(flags[0], flags[1], compiled, flags[2], wait, verify, flags[3])

    def stage(tree: Mapping[str, Any]) -> PartStage:
        try:
            plan = reader.plan(tree["plan"])
        except UnknownOpType as error:
            raise errors.NotFoundError(None, error.origin, f"On {task}: {error}") from None
        for _, _, to in tree["sends"]:
            if to != task and to not in peers:
                raise ValueError(f"The plan sends to {to!r:.200}, which is no task of this cluster.")
        return PartStage(
            runner(plan, options, bool(tree["blocks"])),
            plan.feeds,
            plan.fetches,
            dict(tree["receives"]),
            [(edge, name, "" if to == task else to) for edge, name, to in tree["sends"]],
            None if tree.get("needs") is None else tuple(tree["needs"]),
            str(tree.get("turn", "")),
            patience_of(bool(tree["blocks"]), tree.get("needs") is not None, tree.get("calls") is True),
        )

    stages = {device: [stage(tree) for tree in trees] for device, trees in details["stages"].items()}
    return Parts(stages, tuple(details["feeds"]), [(device, name) for device, name in details["fetches"]])
