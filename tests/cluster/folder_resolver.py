"""A resolver for tests, whose engine is a folder: a file there has the lives of all tasks, and where they are."""

from __future__ import annotations

import fcntl
import pickle
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from graphflow._core.cluster.resolvers.lives import Lives
from graphflow._core.cluster.resolvers.moving import MovingClusterResolver, Place

_Found = TypeVar("_Found")


class FolderClusterResolver(MovingClusterResolver):
    """The places of tasks in a file. Where there is a file cut-JOB-INDEX-LIFE, that life cannot ask the engine.

    published_at: makes the address that the others are told of the one at which the task listens.
    """

    def __init__(
        self,
        folder: Path,
        jobs: Mapping[str, int],
        task_type: str | None = None,
        task_id: int | None = None,
        published_at: Callable[[str], str] = str,
        **options: Any,
    ) -> None:
        super().__init__(folder.name, jobs, task_type, task_id, **options)
        self._folder = folder
        self._published_at = published_at
        self.asked = 0
        """How often somebody has asked where a task is."""
        self.ended = False
        """Whether it was told that another life has taken its place."""

    @contextmanager
    def engine_free(self) -> Iterator[None]:
        """Nobody asks the engine meanwhile: a process that is stopped then does not keep it from others."""
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _with_lives(self, do: Callable[[Lives], _Found]) -> _Found:
        """Does something to the lives, of which there is one at a time, as clocks of one machine are one."""
        with self.engine_free():
            path = self._folder / "lives"
            lives = pickle.loads(path.read_bytes()) if path.exists() else Lives(self.lease_seconds)
            found = do(lives)
            path.write_bytes(pickle.dumps(lives))
            return found

    @property
    def _own_name(self) -> str:
        return f"{self.task_type}-{self.task_id}"

    def _check(self) -> None:
        if (self._folder / f"cut-{self._own_name}-{self.life}").exists():
            raise ConnectionError("the engine cannot be reached")

    def begin(self) -> FolderClusterResolver:
        """Waits until the next life of the task may begin, and is that from now on."""
        who = secrets.token_hex(4)
        while True:
            self.life, wait = self._with_lives(
                lambda lives: lives.begin(self._own_name, who, time.monotonic())
            )
            if self.life:
                return self
            time.sleep(wait)

    def place(self, task_type: str, task_id: int) -> Place | None:
        self.asked += 1
        return self._with_lives(lambda lives: lives.place(f"{task_type}-{task_id}"))

    def publish(self, place: Place) -> None:
        place = Place(self._published_at(place.address), place.life, place.incarnation)
        assert self._with_lives(lambda lives: lives.publish(self._own_name, place))

    def renew(self) -> bool:
        self._check()
        return self._with_lives(lambda lives: lives.renew(self._own_name, self.life, time.monotonic()))

    def taken(self) -> None:
        self.ended = True

    def release(self) -> None:
        self._check()
        self._with_lives(lambda lives: lives.release(self._own_name, self.life))
