"""Streams that do nothing until somebody waits for them, in place of the simulator's, which do everything at once.

Whatever is right with them does not depend on how soon a GPU gets to its work: a copy that was not waited for has not
happened, and a buffer that was filled again too soon has the wrong bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


class Stream:
    """Work in its order; the first `done` of it has been done."""

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []
        self.done = 0

    def add(self, work: Callable[[], None]) -> None:
        self.work.append(work)

    def run(self, count: int) -> None:
        while self.done < count:
            self.done += 1
            self.work[self.done - 1]()

    def synchronize(self) -> None:
        self.run(len(self.work))


class Event:
    """A place in a stream."""

    def __init__(self) -> None:
        self.stream, self.place = Stream(), 0

    def record(self, stream: Stream) -> None:
        self.stream, self.place = stream, len(stream.work)

    def wait(self, stream: Stream) -> None:
        awaited, place = self.stream, self.place
        stream.add(lambda: awaited.run(place))

    def synchronize(self) -> None:
        self.stream.run(self.place)


def make_lazy(monkeypatch: pytest.MonkeyPatch, count: int) -> list[tuple[str, int]]:
    """Gives the first `count` devices lazy streams, until the test ends; what they are asked for, in its order."""
    from graphflow._core.codegen.gpu import toolkit
    from graphflow._core.codegen.gpu.toolkit import Device

    pinned: list[Any] = []
    asked: list[tuple[str, int]] = []
    real = {name: getattr(Device, name) for name in ("upload", "download", "copy", "launch", "pinned")}

    def upload(self: Any, target: Any, source: Any, stream: Any = None) -> None:
        asked.append(("upload", self.index))
        # The driver has read what is not pinned when it returns.
        given = source if any(source is p for p in pinned) else source.copy()
        (stream or self.stream).add(lambda: real["upload"](self, target, given))

    def download(self: Any, source: Any, target: Any, stream: Any = None) -> None:
        asked.append(("download", self.index))
        (stream or self.stream).add(lambda: real["download"](self, source, target))

    def copy(self: Any, target: Any, source: Any) -> None:
        asked.append(("copy", self.index))
        self.stream.add(lambda: real["copy"](self, target, source))

    def launch(self: Any, work: Any) -> None:
        asked.append(("launch", self.index))
        self.stream.add(lambda: real["launch"](self, work))

    def copy_from(self: Any, origin: Any, target: Any, source: Any) -> None:
        asked.append(("receive", self.index))
        self.arrivals.add(lambda: target.copy_to_device(source))

    def kept(self: Any, size: int) -> Any:
        pinned.append(real["pinned"](self, size))
        return pinned[-1]

    monkeypatch.setattr(toolkit, "made_devices", {})
    for device in map(toolkit.device, range(count)):
        device.stream, device.arrivals, device.departures = Stream(), Stream(), Stream()
    changed = {
        "upload": upload,
        "download": download,
        "copy": copy,
        "launch": launch,
        "_copy_from": copy_from,
    }
    for name, function in {**changed, "pinned": kept, "event": lambda self: Event()}.items():
        monkeypatch.setattr(Device, name, function)
    return asked
