"""The `checkpoint` file of a folder: which checkpoints there are, as TensorFlow's CheckpointState in text.

Read and written here without protobuf, since a program that only trains does not need it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import field
from typing import Any, Final

from graphflow._core.checkpoint.atomic import os_error, write_atomically
from graphflow._core.common.files import storage
from graphflow._core.common.records import dataclass

_MOST_BYTES: Final = 16 << 20
_TOKEN: Final = re.compile(
    r"\s*(?:#[^\n]*\n?\s*)*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)f?"
    r"|(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|(?P<sign>[:;,\[\]])|(?P<end>$))"
)
_ESCAPE: Final = re.compile(rb"\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|.)", re.DOTALL)
_NAMED: Final = {
    b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v", b"\\": b"\\",
    b"'": b"'", b'"': b'"', b"?": b"?",
}  # fmt: skip


@dataclass
class CheckpointState:
    """The newest checkpoint of a folder and all that are kept, oldest first (TensorFlow's message of that name).

    Times are seconds since 1970.
    """

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)
    last_preserved_timestamp: float = 0.0

    def __str__(self) -> str:
        lines = [f"model_checkpoint_path: {_quoted(self.model_checkpoint_path)}"]
        lines += [f"all_model_checkpoint_paths: {_quoted(path)}" for path in self.all_model_checkpoint_paths]
        lines += [
            f"all_model_checkpoint_timestamps: {time!r}" for time in self.all_model_checkpoint_timestamps
        ]
        if self.last_preserved_timestamp:
            lines.append(f"last_preserved_timestamp: {self.last_preserved_timestamp!r}")
        return "\n".join(lines) + "\n"


def write_state(path: str, state: Any) -> None:
    """Replaces the file by the state, a CheckpointState or TensorFlow's message; errors as those of atomic_file."""
    plain = CheckpointState(
        state.model_checkpoint_path,
        list(state.all_model_checkpoint_paths),
        [float(time) for time in state.all_model_checkpoint_timestamps],
        float(state.last_preserved_timestamp),
    )
    write_atomically(path, str(plain).encode())


def read_state(path: str) -> CheckpointState:
    """The state in a file; ValueError if it makes no sense, and the errors of reading, as NotFoundError."""
    try:
        if storage.is_remote(path):
            data = storage.read(path, _MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                raise ValueError("it is no file of a few bytes")
            return parse_state(data)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
                raise ValueError("it is no regular file of a few bytes")
            data = file.read(_MOST_BYTES)
    except OSError as error:
        raise os_error(error, path, "Cannot read") from error
    return parse_state(data)


def parse_state(data: bytes) -> CheckpointState:
    """The state that a text means; ValueError if it makes no sense or names no checkpoint."""
    state = CheckpointState()
    for name, value in _fields(_tokens(data.decode("utf-8"))):
        wanted = str if name.endswith(("path", "paths")) else float
        if not isinstance(value, wanted) or not hasattr(state, name):
            raise ValueError(f"{name!r} with the value {value!r} has no place in it")
        if isinstance(value, str) and ("\0" in value or not value):
            raise ValueError("it has a path that is empty or holds a zero byte")
        if isinstance(getattr(state, name), list):
            getattr(state, name).append(value)
        else:
            setattr(state, name, value)
    if not state.model_checkpoint_path:
        raise ValueError("it names no checkpoint")
    return state


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(f"it makes no sense at character {position}")
        kind = str(found.lastgroup)
        if kind == "end":
            break
        tokens.append((kind, found[kind]))
        position = found.end()
    return tokens


def _fields(tokens: list[tuple[str, str]]) -> Iterator[tuple[str, str | float]]:
    """name: value, or name: [value, ...], with an optional comma or semicolon behind each."""
    reader = iter([*tokens, ("end", "")])
    kind, text = next(reader)
    while kind != "end":
        name = text
        if kind != "name" or next(reader) != ("sign", ":"):
            raise ValueError(f"it has {text!r} where a field belongs")
        kind, text = next(reader)
        listed = (kind, text) == ("sign", "[")
        if listed:
            kind, text = next(reader)
        while kind in ("text", "number"):
            if kind == "number":
                yield name, float(text)
                kind, text = next(reader)
            else:
                joined = b""
                while kind == "text":
                    joined += _unquoted(text)
                    kind, text = next(reader)
                yield name, joined.decode("utf-8")
            if not listed or (kind, text) != ("sign", ","):
                break
            kind, text = next(reader)
        else:
            if not listed or (kind, text) != ("sign", "]"):
                raise ValueError(f"{name!r} has {text!r} where a value belongs")
        if listed:
            if (kind, text) != ("sign", "]"):
                raise ValueError(f"the list of {name!r} does not end")
            kind, text = next(reader)
        if kind == "sign" and text in ",;":
            kind, text = next(reader)


def _quoted(text: str) -> str:
    escaped = ""
    for byte in text.encode("utf-8", "surrogateescape"):
        if byte in b"\"\\'":
            escaped += "\\" + chr(byte)
        elif byte == 10:
            escaped += "\\n"
        else:
            escaped += chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"
    return f'"{escaped}"'


def _unquoted(text: str) -> bytes:
    def replaced(found: re.Match[bytes]) -> bytes:
        code = found[1]
        if code[:1] in b"01234567":
            number = int(code, 8)
        elif code[:1] in b"xX" and len(code) > 1:
            number = int(code[1:], 16)
        elif code in _NAMED:
            return _NAMED[code]
        else:
            raise ValueError(f"it has the escape {code!r}, which there is not")
        if number > 255:
            raise ValueError("it has an escape beyond a byte")
        return bytes([number])

    return _ESCAPE.sub(replaced, text[1:-1].encode("utf-8"))
