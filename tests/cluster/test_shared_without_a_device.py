"""Protects that clients of a cluster find the same variables and queues where the program names no device for them."""

from __future__ import annotations

from contextlib import ExitStack

import graphflow as gf
from tests.cluster.serving import serve_all, spec_of


def test_two_clients_share_what_names_no_job() -> None:
    with ExitStack() as stack:
        _, *workers = serve_all(stack, spec_of(stack, ps=1, worker=2))
        sessions = []
        for worker in workers:
            stack.enter_context(gf.Graph().as_default())
            with gf.device("/cpu:0"):
                v = gf.Variable(0.0, name="v")
            local = gf.Variable(0.0, name="local", collections=[gf.GraphKeys.LOCAL_VARIABLES])
            queue = gf.FIFOQueue(2, [gf.float32], shapes=[[]], name="queue")
            tensors = v, local, v.assign_add(1.0), local.assign_add(1.0), queue.enqueue(7.0), queue.dequeue()
            sessions.append((stack.enter_context(gf.Session(worker.target)), tensors))
        for session, (v, local, *_) in sessions:
            session.run([local.initializer] + [v.initializer] * (session is sessions[0][0]))
        for session, (_, _, add, add_local, *_) in sessions:
            session.run([add, add_local])
        for session, (v, local, *_) in sessions:
            assert session.run([v, local]) == [2.0, 1.0]
        sessions[0][0].run(sessions[0][1][4])
        assert sessions[1][0].run(sessions[1][1][5]) == 7.0
