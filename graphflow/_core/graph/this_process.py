"""OfThisProcess: what cannot go to another process, and says so when it is pickled."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn


class OfThisProcess:
    """Base of objects whose threads, memory or connections are this process's own.

    Without it, pickling one fails at a lock deep inside, and its user reads of a lock.
    """

    _instead: ClassVar[str]
    """What to send to another process in its place."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"A {type(self).__name__} is of this process and cannot be pickled or copied. {self._instead}"
        )
