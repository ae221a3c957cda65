"""The server of a task that a strategy's program runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphflow._core.cluster.server.server import Server

if TYPE_CHECKING:
    from graphflow.config import ConfigProto


def run_standard_tensorflow_server(session_config: ConfigProto | None = None) -> Server:
    """Starts the server of the task that TF_CONFIG names (tf.contrib.distribute.run_standard_tensorflow_server).

    Args:
        session_config: A gf.ConfigProto for the server.

    Returns:
        The server, which listens.

    Raises:
        ValueError: If TF_CONFIG names no task.
    """
    return Server.from_environment(config=session_config)
