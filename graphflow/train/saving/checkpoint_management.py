"""Which checkpoints a folder has: the `checkpoint` file, finding the newest whole one, removing old ones."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import graphflow.errors as errors
from graphflow._core.checkpoint.atomic import freed_later
from graphflow._core.checkpoint.bundle_names import INDEX
from graphflow._core.checkpoint.layout import SUFFIX
from graphflow._core.checkpoint.opening import open_checkpoint, remove_files
from graphflow._core.checkpoint.reader import existing_path
from graphflow._core.checkpoint.state_file import CheckpointState, read_state, write_state
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path

_log = logging.getLogger(__name__)


def state_path(save_dir: str, latest_filename: str | None = None) -> str:
    """The path of a folder's `checkpoint` file."""
    return os.path.join(user_path(save_dir), latest_filename or "checkpoint")


def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """The state that says which checkpoint is the newest (tf.train.generate_checkpoint_state_proto).

    With a relative save_dir, relative paths become relative to it.

    Args:
        save_dir: The folder.
        model_checkpoint_path: The newest checkpoint.
        all_model_checkpoint_paths: All of them, the oldest first.
        all_model_checkpoint_timestamps: When they were written, in seconds since 1970.
        last_preserved_timestamp: When the last one that stays was written.

    Returns:
        A CheckpointState message.

    Raises:
        ValueError: If there are not as many times as paths.
    """
    paths = list(all_model_checkpoint_paths or [])
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    times = [float(time) for time in all_model_checkpoint_timestamps or []]
    if times and len(times) != len(paths):
        raise ValueError(
            f"Checkpoint timestamps, if provided, must match checkpoint paths (got paths {paths} and "
            f"timestamps {times})"
        )

    def relative(path: str) -> str:
        if storage.is_absolute(path) or storage.is_absolute(save_dir):
            return path
        return os.path.relpath(path, save_dir)

    return CheckpointState(
        relative(model_checkpoint_path), [relative(p) for p in paths], times, last_preserved_timestamp or 0.0
    )


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
    save_relative_paths: bool = False,
) -> None:
    """Writes the `checkpoint` file of a folder, whole or not at all (tf.train.update_checkpoint_state).

    Args:
        save_dir: The folder.
        model_checkpoint_path: The newest checkpoint.
        all_model_checkpoint_paths: All of them, the oldest first.
        latest_filename: The name of the file that lists a folder's checkpoints; by default "checkpoint".
        all_model_checkpoint_timestamps: When they were written, in seconds since 1970.
        last_preserved_timestamp: When the last one that stays was written.
        save_relative_paths: Whether paths are relative to the folder.

    Raises:
        RuntimeError: If a checkpoint has the name of that file.
    """
    save_dir = user_path(save_dir)

    def short(path: str) -> str:
        if storage.is_absolute(path) != storage.is_absolute(save_dir):
            return path
        return storage.relative(path, save_dir)

    paths = list(all_model_checkpoint_paths or [])
    times, preserved = all_model_checkpoint_timestamps, last_preserved_timestamp
    if save_relative_paths:
        state = CheckpointState(short(model_checkpoint_path), [short(p) for p in paths])
        if not paths or state.all_model_checkpoint_paths[-1] != state.model_checkpoint_path:
            state.all_model_checkpoint_paths.append(state.model_checkpoint_path)
        state.all_model_checkpoint_timestamps = [float(time) for time in times or []]
        state.last_preserved_timestamp = preserved or 0.0
    else:
        state = generate_checkpoint_state_proto(save_dir, model_checkpoint_path, paths, times, preserved)
    path = state_path(save_dir, latest_filename)
    if path == model_checkpoint_path:
        raise RuntimeError(
            f"Save path {model_checkpoint_path!r} conflicts with path used for checkpoint state. Please use "
            "a different save path."
        )
    write_state(path, state)


def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> CheckpointState | None:
    """The contents of a folder's `checkpoint` file (tf.train.get_checkpoint_state).

    None if there is none, or if it makes no sense, which is logged. Relative paths in it are taken from the folder.

    Args:
        checkpoint_dir: The folder of the checkpoints.
        latest_filename: The name of the file that lists a folder's checkpoints; by default "checkpoint".

    Examples:
        >>> import os, tempfile
        >>> v = gf.get_variable("v", initializer=1.0)
        >>> with tempfile.TemporaryDirectory() as folder, gf.Session() as session:
        ...     _ = session.run(v.initializer)
        ...     _ = gf.train.Saver().save(session, f"{folder}/model", global_step=3)
        ...     found = gf.train.get_checkpoint_state(folder)
        ...     print([os.path.basename(path) for path in found.all_model_checkpoint_paths])
        ['model-3']
    """
    checkpoint_dir = user_path(checkpoint_dir)
    path = state_path(checkpoint_dir, latest_filename)
    try:
        state = read_state(path)
    except errors.NotFoundError:
        return None
    except (errors.OpError, ValueError) as error:
        if isinstance(error, errors.OpError) and storage.is_remote(path):
            raise  # It may be there, and who goes on without it begins anew.
        _log.warning("%s: Checkpoint ignored: %s", path, error)
        return None
    state.model_checkpoint_path = _in(checkpoint_dir, state.model_checkpoint_path)
    state.all_model_checkpoint_paths = [_in(checkpoint_dir, p) for p in state.all_model_checkpoint_paths]
    return state


def _in(folder: str, path: str) -> str:
    return path if storage.is_absolute(path) else os.path.join(folder, path)


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | Any:
    """The newest checkpoint of a folder that is whole (tf.train.latest_checkpoint).

    All its checksums are compared. One that is damaged or gone is passed over, with a warning that says what is
    wrong, and the one before is taken, from the `checkpoint` file or, if that does not help, by the files' times.

    Args:
        checkpoint_dir: The folder.
        latest_filename: The name of the file that lists them; "checkpoint" by default.

    Returns:
        The prefix of its files, as Saver.restore takes it; None if the folder has no such file, or no checkpoint.

    Examples:
        >>> import tempfile
        >>> v = gf.get_variable("v", initializer=1.0)
        >>> with tempfile.TemporaryDirectory() as folder, gf.Session() as session:
        ...     _ = session.run(v.initializer)
        ...     path = gf.train.Saver().save(session, f"{folder}/model", global_step=3)
        ...     print(gf.train.latest_checkpoint(folder) == path)
        True
    """
    checkpoint_dir = user_path(checkpoint_dir)
    if not storage.exists(state_path(checkpoint_dir, latest_filename)):
        return None
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    tried: set[str] = set()
    for prefix in _candidates(checkpoint_dir, state):
        place = storage.absolute(prefix)
        if place in tried:
            continue
        tried.add(place)
        problem = _problem(prefix)
        if problem is None:
            return prefix
        _log.warning("Not used: the checkpoint %s. %s Looking for the one before.", prefix, problem)
    return None


def _candidates(folder: str, state: CheckpointState | None) -> Iterator[str]:
    """Prefixes, the newest first: those of the state, then those whose files lie in the folder."""
    if state is not None:
        yield state.model_checkpoint_path
        yield from reversed(state.all_model_checkpoint_paths)
    found = []
    with suppress(OSError):
        for name, status in storage.entries(folder):
            ending = next((ending for ending in (SUFFIX, INDEX) if name.endswith(ending)), None)
            if ending is not None and not name.startswith("."):
                found.append((status.modified, os.path.join(folder, name).removesuffix(ending)))
    yield from (prefix for _, prefix in sorted(found, reverse=True))


def _problem(prefix: str) -> str | None:
    """The fault of a checkpoint; None if every checksum holds."""
    try:
        open_checkpoint(prefix).verify()
    except errors.OpError as error:
        return error.message
    return None


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint of this prefix (tf.train.checkpoint_exists).

    Args:
        checkpoint_prefix: The checkpoint, as Saver.save named it.
    """
    try:
        return storage.is_file(existing_path(user_path(checkpoint_prefix)))
    except ValueError:  # A name with a zero byte.
        return False


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """When the checkpoints that exist were written, in seconds since 1970 (tf.train.get_checkpoint_mtimes).

    Args:
        checkpoint_prefixes: Their prefixes.

    Returns:
        Seconds since 1970, of those that are there.
    """
    times = []
    for prefix in checkpoint_prefixes:
        with suppress(OSError):
            times.append(storage.status(existing_path(user_path(prefix))).modified / 1e9)
    return times


def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Removes a checkpoint and its meta graph; what is not there is no error (tf.train.remove_checkpoint).

    Args:
        checkpoint_prefix: The checkpoint, as Saver.save named it.
        checkpoint_format_version: Accepted, and not needed.
        meta_graph_suffix: The ending of the graph's file.
    """
    checkpoint_prefix = user_path(checkpoint_prefix)
    path = meta_graph_filename(checkpoint_prefix, meta_graph_suffix)
    with suppress(FileNotFoundError), freed_later(path):
        storage.remove(path)
    remove_files(checkpoint_prefix)


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """The path of the meta graph beside a checkpoint."""
    return f"{checkpoint_filename}.{meta_graph_suffix}"
