"""Checkpoint: saves and restores objects with variables, by the attributes that lead to them (tf.train.Checkpoint)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph, get_default_session
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import SessionLike, VariableLike
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import constant
from graphflow._core.ops.state.checkpoints import restore_v2, save_v2
from graphflow._core.ops.state.parts import HasParts, as_part
from graphflow._core.ops.state.scopes import device
from graphflow._core.ops.state.variable import Variable
from graphflow.train.saving.checkpoint_management import (
    get_checkpoint_state,
    remove_checkpoint,
    update_checkpoint_state,
)
from graphflow.train.saving.checkpoint_utils import CheckpointReader
from graphflow.train.saving.objects import OBJECT_GRAPH, Match, ObjectGraph
from graphflow.train.saving.saveables import SaveableObject
from graphflow.train.saving.saver import Saver
from graphflow.train.steps import global_step

_NOTHING: Final = "No checkpoint was specified (save_path=None): nothing is being restored."
_other_sessions: list[Callable[[], SessionLike]] = []


def use_session_of(function: Callable[[], SessionLike]) -> None:
    """Says which session runs what is saved and restored where there is no default one.

    Args:
        function: Gives it.
    """
    _other_sessions[:] = [function]


def _session(given: Any = None) -> Any:
    found = given or get_default_session() or (_other_sessions[0]() if _other_sessions else None)
    if found is None:
        raise ValueError(
            "A checkpoint is saved and restored in a session, and there is no default one: do it inside "
            "`with gf.Session() as session:`, or give session= to the status."
        )
    return found


class Checkpoint:
    """Objects with variables that are saved and restored together (tf.train.Checkpoint).

    A value is found by the attributes that lead to it and not by its variable's name. Objects may be variables,
    optimizers, layers and models, tables of gf.lookup that change, and other Checkpoints; attributes that are set later
    count as well, lists and dictionaries of such too. The files are those of gf.train.Saver with TensorFlow's graph of
    the objects in them; those that TensorFlow wrote are restored, too. It needs the protobuf messages.

    Args:
        **kwargs: The objects, by their names.

    Raises:
        ValueError: For what is none of these.

    Examples:
        >>> import tempfile
        >>> step = gf.Variable(3)
        >>> checkpoint = gf.train.Checkpoint(step=step)
        >>> with tempfile.TemporaryDirectory() as folder, gf.Session() as session:
        ...     session.run(step.initializer)
        ...     path = checkpoint.save(folder + "/model")
        ...     session.run(step.assign(0).op)
        ...     checkpoint.restore(path).assert_consumed().run_restore_ops()
        ...     print(session.run(step), path.endswith("model-1"))
        3 True
    """

    def __init__(self, **kwargs: Any) -> None:
        for name, value in sorted(kwargs.items()):
            if not isinstance(value, Variable) and (
                isinstance(value, type) or not isinstance(value, HasParts)
            ):
                raise ValueError(
                    f"`Checkpoint` was expecting an object with variables, such as a gf.Variable, an optimizer, a "
                    f"layer or a model, got {name}={value!r}."
                )
            setattr(self, name, value)
        self._counter: Any = None
        self._count_up: Any = None
        self._saved: tuple[bytes, Tensor, Tensor] | None = None
        """The last graph of objects that was saved, the tensor of the file's name, and that whose run saves."""

    def checkpoint_parts(self) -> Iterable[tuple[str, Any]]:
        """The objects by their names, and save_counter."""
        found = [(name, as_part(value)) for name, value in vars(self).items() if name not in _PRIVATE]
        counter = [] if self._counter is None else [("save_counter", self._counter)]
        return [(name, part) for name, part in found if part is not None] + counter

    @property
    def save_counter(self) -> Any:
        """The variable that counts calls of save, an int64 scalar."""
        if self._counter is None:
            with get_default_graph().control_dependencies(None), device("/cpu:0"):
                self._counter = Variable(
                    np.int64(0), trainable=False, name="save_counter", dtype=dtypes.int64
                )
        return self._counter

    def write(self, file_prefix: str) -> str:
        """Writes a checkpoint, without counting it or noting it in the `checkpoint` file.

        Args:
            file_prefix: Its prefix.

        Returns:
            The prefix.
        """
        session = _session()
        prefix = user_path(file_prefix)
        objects = ObjectGraph(self)
        if self._saved is None or self._saved[0] != objects.message:
            with session.graph.as_default():
                self._saved = (objects.message, *_save_op(objects))
        _, name, done = self._saved
        session.run(done, {name: prefix})
        return prefix

    def save(self, file_prefix: str) -> str:
        """Writes a checkpoint, counts it, and notes it in the `checkpoint` file as the newest.

        Args:
            file_prefix: What its prefix begins with; "-COUNT" follows.

        Returns:
            The prefix.
        """
        number = self.count_up()
        prefix = self.write(f"{file_prefix}-{number}")
        update_checkpoint_state(storage.folder_of(prefix) or ".", prefix, [prefix], save_relative_paths=True)
        return prefix

    def count_up(self) -> int:
        """Adds 1 to save_counter, which begins with 0 if it is new.

        Returns:
            What it is then.
        """
        session = _session()
        with session.graph.as_default():
            if self._counter is None:
                session.run(self.save_counter.initializer)
            if self._count_up is None:
                self._count_up = self.save_counter.assign_add(1)
        return int(session.run(self._count_up))

    def restore(self, save_path: str | None) -> LoadStatus:
        """Says that the objects are to have the values of a checkpoint; what is returned sets them.

        Args:
            save_path: A prefix, as save returned it. None as gf.train.latest_checkpoint gives it if there is none:
                initialize_or_restore then initialises.

        Returns:
            What sets the values: run_restore_ops() or initialize_or_restore().

        Raises:
            NotFoundError: If there is no such checkpoint.
        """
        status: LoadStatus
        if save_path is None:
            status = InitializationOnlyStatus(self)
        else:
            prefix = user_path(save_path)
            reader = CheckpointReader(prefix)
            if reader.has_tensor(OBJECT_GRAPH):
                status = CheckpointLoadStatus(self, prefix, reader.get_tensor(OBJECT_GRAPH))
            else:
                status = NameBasedSaverStatus(self, prefix, reader.get_variable_to_shape_map())
        _ = self.save_counter  # It is initialised or restored with the others.
        return status


_PRIVATE: Final = ("_counter", "_count_up", "_saved")


def _save_op(objects: ObjectGraph) -> tuple[Tensor, Tensor]:
    """The tensor of a file's name, and that whose run writes it."""
    with get_default_graph().control_dependencies(None), get_default_graph().name_scope("checkpoint_save"):
        prefix = constant("", dtypes.string, name="filename")
        specs = [spec for saveable in objects.saveables.values() for spec in saveable.specs]
        message = np.array(objects.message, dtype=object)
        names = [*(spec.name for spec in specs), OBJECT_GRAPH]
        written = save_v2(
            prefix, constant(names), constant([spec.slice_spec for spec in specs] + [""]),
            [*(spec.tensor for spec in specs), constant(message, dtypes.string)],
        )  # fmt: skip
        with get_default_graph().control_dependencies([written]):
            return prefix, identity(prefix)


def _restore_op(saveables: dict[str, SaveableObject], prefix: str) -> Operation:
    with get_default_graph().control_dependencies(None), get_default_graph().name_scope("checkpoint_restore"):
        specs = [spec for saveable in saveables.values() for spec in saveable.specs]
        if not specs:
            return group()
        expected = [dims for saveable in saveables.values() for dims in saveable.expected_shapes]
        tensors = restore_v2(
            constant(prefix), constant([s.name for s in specs]), constant([s.slice_spec for s in specs]),
            [spec.dtype for spec in specs], None, expected,
        )  # fmt: skip
        done, position = [], 0
        for saveable in saveables.values():
            values = tensors[position : position + len(saveable.specs)]
            position += len(values)
            done.append(saveable.restore(values, None))
        return group(*done)


class LoadStatus:
    """What Checkpoint.restore returns: it says whether all was found, and sets the values.

    Args:
        root: The Checkpoint.
    """

    def __init__(self, root: Checkpoint) -> None:
        self._root = root

    def assert_consumed(self) -> LoadStatus:
        """Itself.

        Raises:
            AssertionError: If the checkpoint has a value that the program has not, or the other way round.
        """
        raise AssertionError(_NOTHING)

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Itself.

        Raises:
            AssertionError: If the program has a value that the checkpoint has not.
        """
        raise AssertionError(_NOTHING)

    def assert_nontrivial_match(self) -> LoadStatus:
        """Itself.

        Raises:
            AssertionError: If nothing but the root was found.
        """
        raise AssertionError(_NOTHING)

    def expect_partial(self) -> LoadStatus:
        """Itself; nothing is said of what is not used."""
        return self

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Sets the values of all objects that there are by now and that the checkpoint has.

        Args:
            session: The session; by default the default one.

        Raises:
            AssertionError: If there is no checkpoint.
        """
        raise AssertionError(_NOTHING)

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """Sets the values that the checkpoint has, and initialises all others.

        Args:
            session: The session; by default the default one.
        """
        self._initialize(_session(session), ObjectGraph(self._root).things)

    def _initialize(self, session: Any, things: Sequence[Any]) -> None:
        session.run([thing.initializer for thing in things if isinstance(thing, Variable)])


class InitializationOnlyStatus(LoadStatus):
    """The status without a checkpoint: initialize_or_restore initialises."""


class CheckpointLoadStatus(LoadStatus):
    """The status of a checkpoint by objects.

    Args:
        root: The Checkpoint.
        prefix: The checkpoint's prefix.
        message: Its graph of objects.
    """

    def __init__(self, root: Checkpoint, prefix: str, message: bytes) -> None:
        super().__init__(root)
        self._prefix, self._message = prefix, message
        self._made: tuple[list[Any], Any, Operation] | None = None
        """What an operation restores, in which graph, and that operation."""

    def _match(self) -> Match:
        return Match(self._root, self._message)

    def assert_consumed(self) -> LoadStatus:
        """Itself.

        Raises:
            AssertionError: If the checkpoint has a value that the program has not, or the other way round.
        """
        self.assert_existing_objects_matched()
        unused = self._match().unused()
        if unused:
            raise AssertionError(f"{self._prefix} has what the program has not: {', '.join(unused)}.")
        return self

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Itself.

        Raises:
            AssertionError: If the program has a value that the checkpoint has not.
        """
        left = self._match().unmatched(ObjectGraph(self._root))
        if left:
            raise AssertionError(
                f"The program has what {self._prefix} has not: {', '.join(map(repr, left))}."
            )
        return self

    def assert_nontrivial_match(self) -> LoadStatus:
        """Itself.

        Raises:
            AssertionError: If nothing but the root was found.
        """
        if len(self._match().found) <= 1:
            raise AssertionError(f"Nothing except the root object is in {self._prefix}.")
        return self

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Sets the values of all objects that there are by now and that the checkpoint has.

        Args:
            session: The session; by default the default one.
        """
        runner = _session(session)
        saveables = self._match().saveables
        wanted = [saveable.op for saveable in saveables.values()]
        made = self._made
        if made is None or made[1] is not runner.graph or not _same(made[0], wanted):
            with runner.graph.as_default():
                made = self._made = (wanted, runner.graph, _restore_op(saveables, self._prefix))
        runner.run(made[2])

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """Sets the values that the checkpoint has, and initialises all others.

        Args:
            session: The session; by default the default one.
        """
        runner = _session(session)
        self.run_restore_ops(runner)
        self._initialize(runner, self._match().unmatched(ObjectGraph(self._root)))


def _same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


class NameBasedSaverStatus(LoadStatus):
    """The status of a checkpoint that gf.train.Saver wrote: values are found by the variables' names.

    Args:
        root: The Checkpoint.
        prefix: The checkpoint's prefix.
        names: What it has.
    """

    def __init__(self, root: Checkpoint, prefix: str, names: Iterable[str]) -> None:
        super().__init__(root)
        self._prefix, self._names = prefix, set(names)

    def _variables(self) -> dict[str, Any]:
        found = [thing for thing in ObjectGraph(self._root).things if isinstance(thing, Variable)]
        return {thing.op.name: thing for thing in found}

    def assert_consumed(self) -> LoadStatus:
        """Itself.

        Raises:
            AssertionError: If the program has a variable that the checkpoint has not.
        """
        left = sorted(self._variables().keys() - self._names)
        if left:
            raise AssertionError(f"The program has variables that {self._prefix} has not: {', '.join(left)}.")
        return self

    assert_existing_objects_matched = assert_consumed
    assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Sets the values of the variables that the checkpoint has.

        Args:
            session: The session; by default the default one.
        """
        runner = _session(session)
        found = {name: thing for name, thing in self._variables().items() if name in self._names}
        if found:
            with runner.graph.as_default():
                Saver(found).restore(runner, self._prefix)

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """Sets the values of the variables that the checkpoint has.

        Args:
            session: The session; by default the default one.
        """
        self.run_restore_ops(session)


class CheckpointManager:
    """Numbers the checkpoints of a Checkpoint and removes old ones (tf.train.CheckpointManager).

    What an earlier one noted in the folder's `checkpoint` file is taken over.

    Args:
        checkpoint: A Checkpoint.
        directory: The folder.
        max_to_keep: How many stay; None for all.
        keep_checkpoint_every_n_hours: One for each such time is kept besides.
        checkpoint_name: What the prefixes begin with.

    Raises:
        ValueError: For a max_to_keep below 1.
    """

    def __init__(
        self, checkpoint: Checkpoint, directory: str, max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None, checkpoint_name: str = "ckpt",
    ) -> None:  # fmt: skip
        if max_to_keep is not None and max_to_keep < 1:
            raise ValueError(f"max_to_keep must be at least 1, or None for all, got {max_to_keep}.")
        self._checkpoint, self._folder, self._name = checkpoint, user_path(directory), checkpoint_name
        self._most, self._hours = max_to_keep, keep_checkpoint_every_n_hours
        self._latest: str | None = None
        self._preserved, now = time.time() - 1.0, time.time()
        self._times: dict[str, float] = {}
        state = get_checkpoint_state(directory)
        if state is not None:
            self._latest = state.model_checkpoint_path
            self._preserved = min(state.last_preserved_timestamp, now)
            paths = state.all_model_checkpoint_paths
            times = state.all_model_checkpoint_timestamps or [self._preserved] * len(paths)
            found = {path: min(written, now) for path, written in zip(paths, times, strict=False)}
            self._times = {path: written for path, written in found.items() if written > self._preserved}

    @property
    def latest_checkpoint(self) -> str | None:
        """The prefix of the newest checkpoint, None if there is none."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The prefixes of those that may be removed yet, the oldest first."""
        return list(self._times)

    def save(self, checkpoint_number: int | VariableLike | Tensor | None = None) -> str:
        """Writes a checkpoint, and removes those that are too many.

        Args:
            checkpoint_number: Its number, or a variable or tensor to read; by default save_counter, which counts up in
                any case.

        Returns:
            Its prefix.
        """
        number: Any = self._checkpoint.count_up()
        if checkpoint_number is not None:
            number = checkpoint_number
            if not isinstance(number, int | np.integer):
                number = global_step(_session(), number)
        prefix = self._checkpoint.write(os.path.join(self._folder, f"{self._name}-{number}"))
        self._times.pop(prefix, None)
        self._times[prefix] = time.time()
        self._latest = prefix
        self._note()
        self._sweep()
        self._note()
        return prefix

    def _sweep(self) -> None:
        while self._most and len(self._times) > self._most:
            path = next(iter(self._times))
            written = self._times.pop(path)
            if self._hours and written - self._hours * 3600 >= self._preserved:
                self._preserved = written
            else:
                remove_checkpoint(path)

    def _note(self) -> None:
        assert self._latest is not None
        update_checkpoint_state(
            self._folder, self._latest, list(self._times),
            all_model_checkpoint_timestamps=list(self._times.values()),
            last_preserved_timestamp=self._preserved, save_relative_paths=True,
        )  # fmt: skip
