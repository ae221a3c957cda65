"""EventsWriter: event files, as TensorFlow's inside writes them (tensorflow.python.pywrap_tensorflow)."""

from __future__ import annotations

import os
from typing import Any

from graphflow._core.common.files.paths import user_path
from graphflow._core.resources.event_files import EventFile, as_bytes


class EventsWriter:
    """Writes events into a file whose name begins so (tensorflow.python.pywrap_tensorflow.EventsWriter).

    Args:
        file_prefix: The folder and the first part of the name, such as b"logs/events".
    """

    def __init__(self, file_prefix: str | bytes) -> None:
        self._folder, self._stem = os.path.split(user_path(file_prefix))
        self._suffix = ""
        self._file: EventFile | None = None

    def InitWithSuffix(self, suffix: str | bytes) -> bool:
        """Makes the file, whose name ends so.

        Args:
            suffix: The last part of the name.
        """
        self._suffix = os.fsdecode(suffix)
        self._opened()
        return True

    def _opened(self) -> EventFile:
        if self._file is None:
            self._file = EventFile(self._folder or ".", 1, 1.0, self._suffix, self._stem)
        return self._file

    def FileName(self) -> bytes:
        """The path of the file."""
        return os.fsencode(self._opened().path)

    def WriteEvent(self, event: Any) -> None:
        """Adds an event.

        Args:
            event: An Event message.
        """
        self._opened().write(as_bytes(event))

    def WriteSerializedEvent(self, event_str: bytes) -> None:
        """Adds an event.

        Args:
            event_str: A serialized Event message.
        """
        self._opened().write(event_str)

    def Flush(self) -> bool:
        """Waits until all that was added is in the file."""
        if self._file is not None:
            self._file.flush()
        return True

    def Close(self) -> bool:
        """Writes all that was added, and closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        return True
