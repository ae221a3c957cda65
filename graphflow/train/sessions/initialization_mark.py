"""A note beside the checkpoints to come: that the chief has initialized the variables on a cluster.

Between that and the first checkpoint others may train already. A chief that is started again then must not initialize
once more, which would take their updates away; and it cannot tell from the variables alone whether they are this
training's or those of an earlier one on the same cluster, for which its folder has no note.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from graphflow._core.checkpoint.atomic import write_atomically
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path

_NAME: Final = "initialized"
_VALUES, _ALL = b"the variables\n", b"the variables, and what else init_fn does\n"


class InitializationMark:
    """The note in a folder of checkpoints; without a folder there is none."""

    def __init__(self, folder: str | None) -> None:
        self._path = None if folder is None else os.path.join(user_path(folder), _NAME)

    def _text(self) -> bytes:
        with suppress(OSError):
            return b"" if self._path is None else storage.read(self._path)
        return b""

    @property
    def there(self) -> bool:
        """Whether the variables were initialized."""
        return bool(self._text())

    @property
    def half(self) -> bool:
        """Whether they were, and the rest was not done, or not to its end."""
        return self._text() == _VALUES

    def write(self, half: bool) -> None:
        """Notes that the variables are initialized, and, unless that is but half of it, all."""
        if self._path is not None:
            storage.make_folders(storage.folder_of(self._path))
            write_atomically(self._path, _VALUES if half else _ALL)

    def remove(self) -> None:
        """Takes it away: there is a checkpoint."""
        if self._path is not None:
            with suppress(OSError):
                storage.remove(self._path)
