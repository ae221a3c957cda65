"""MonitoredTrainingSession: a monitored session with the hooks that nearly every training wants."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.common.distribution import to_install
from graphflow._core.common.shown.status_line import is_terminal, notebook_bar
from graphflow.config import ConfigProto
from graphflow.train.hooks.saving_hooks import (
    CheckpointSaverHook,
    StepCounterHook,
    SummarySaverHook,
    events_can_be_written,
)
from graphflow.train.hooks.session_run_hook import SessionRunHook
from graphflow.train.sessions.monitored_session import MonitoredSession
from graphflow.train.sessions.scaffold import Scaffold
from graphflow.train.sessions.session_creators import (
    ChiefSessionCreator,
    SessionCreator,
    WorkerSessionCreator,
)

_log = logging.getLogger(__name__)


class _Default:
    def __repr__(self) -> str:
        return "USE_DEFAULT"


USE_DEFAULT: Final[Any] = _Default()


def saving_periods(secs: float | None, steps: int | None) -> tuple[float | None, int | None]:
    """The periods of checkpoints in seconds and in steps: 600 s if both are USE_DEFAULT, None for one that is."""
    if secs is USE_DEFAULT and steps is USE_DEFAULT:
        return 600, None
    return None if secs is USE_DEFAULT else secs, None if steps is USE_DEFAULT else steps


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = USE_DEFAULT,
    save_summaries_steps: int | None = USE_DEFAULT,
    save_summaries_secs: float | None = USE_DEFAULT,
    config: ConfigProto | None = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: int | None = USE_DEFAULT,
    summary_dir: str | None = None,
    *,
    progress: bool | None = None,
    max_recoveries: int = 10,
    recovery_window_secs: float = 600,
) -> MonitoredSession:
    """A MonitoredSession for training, with checkpoints, summaries and a count of steps (its name in tf.train).

    Args:
        master: The target of the session, such as "" or "zmq://host:port".
        is_chief: The chief restores or initialises and writes the files, others wait for it. All wait for
            absent tasks of the cluster.
        checkpoint_dir: Where to restore from and to save to, every 600 s unless save_checkpoint_secs or
            save_checkpoint_steps say otherwise; None switches a default off.
        scaffold: The parts of the graph that a session needs; by default those of a gf.train.Scaffold.
        hooks: SessionRunHooks of every task.
        chief_only_hooks: SessionRunHooks of the chief alone.
        save_checkpoint_secs: The period of checkpoints in seconds, or None.
        save_summaries_steps: The period of summaries in steps, or None.
        save_summaries_secs: The period of summaries in seconds, or None.
        config: A gf.ConfigProto for the session.
        stop_grace_period_secs: How long threads may go on after a stop was asked for, in seconds.
        log_step_count_steps: Period in which the rate of steps is logged and written.
        max_wait_secs: The most that each of these waits takes; then DeadlineExceededError.
        save_checkpoint_steps: The period of checkpoints in steps, or None.
        summary_dir: Of the event file, else checkpoint_dir; every 100 steps unless save_summaries_steps or
            save_summaries_secs say otherwise.
        progress: Whether to show a progress line; by default if standard error is a terminal.
        max_recoveries: With `recovery_window_secs`: see MonitoredSession.
        recovery_window_secs: See `max_recoveries`.

    Returns:
        A MonitoredSession.
    """
    save_checkpoint_secs, save_checkpoint_steps = saving_periods(save_checkpoint_secs, save_checkpoint_steps)
    summaries_by_default = save_summaries_steps is USE_DEFAULT and save_summaries_secs is USE_DEFAULT
    if summaries_by_default:
        save_summaries_steps, save_summaries_secs = 100, None
    elif save_summaries_secs is USE_DEFAULT:
        save_summaries_secs = None
    elif save_summaries_steps is USE_DEFAULT:
        save_summaries_steps = None

    scaffold = scaffold or Scaffold()
    all_hooks: list[SessionRunHook] = list(hooks or ())
    creator: SessionCreator
    if is_chief:
        directory = summary_dir or checkpoint_dir
        if directory and summaries_by_default and summary_dir is None and not events_can_be_written():
            _log.info("No summaries are written: they need %s.", to_install("tensorboard"))
            directory = None
        own: list[SessionRunHook] = list(chief_only_hooks or ())
        if directory and log_step_count_steps:
            own.append(StepCounterHook(every_n_steps=log_step_count_steps, output_dir=directory))
        if directory and (save_summaries_steps or save_summaries_secs):
            own.append(
                SummarySaverHook(save_summaries_steps, save_summaries_secs, directory, scaffold=scaffold)
            )
        if checkpoint_dir and (save_checkpoint_secs or save_checkpoint_steps):
            own.append(
                CheckpointSaverHook(
                    checkpoint_dir, save_checkpoint_secs, save_checkpoint_steps, scaffold=scaffold
                )
            )
        all_hooks = own + all_hooks
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, max_wait_secs=max_wait_secs)
    else:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
    return MonitoredSession(
        creator,
        all_hooks,
        stop_grace_period_secs,
        max_recoveries=max_recoveries,
        recovery_window_secs=recovery_window_secs,
        progress=is_terminal(sys.stderr) or notebook_bar() is not None if progress is None else progress,
    )
