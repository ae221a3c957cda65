"""A task in a process of its own, for strangers to flood: python flooded_task.py FILES TCP_ONLY KEYS SECONDS.

FILES: how many files it may open, 0 for as many as this process. KEYS may be empty. SECONDS: how long a stranger may
take to show that it may connect. It writes its address, and ends when its input does.
"""

from __future__ import annotations

import resource
import sys

import graphflow as gf
from graphflow._core.transport import strangers


def main(files: str, tcp_only: str, keys: str, seconds: str) -> None:
    if int(files):
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(files), int(files)))
    strangers.STRANGER_SECONDS = float(seconds)  # type: ignore[misc]
    config = gf.ConfigProto(tcp_only=tcp_only == "True", cluster_keys=keys)
    server = gf.train.Server({"local": ["localhost:0"]}, config=config)
    print(server.target, flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
