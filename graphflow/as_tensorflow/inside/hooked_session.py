"""A session whose runs call hooks, and nothing else (tensorflow.python.training.monitored_session._HookedSession)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphflow._core.graph.graph import Graph
from graphflow.config import RunMetadata, RunOptions
from graphflow.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    joined_feeds,
    joined_options,
)


class HookedSession:
    """Wraps a session: each run calls before_run and after_run of the hooks, with what they asked for.

    Args:
        sess: The session, or another of this class.
        hooks: The hooks; begin, after_create_session and end are for the caller to call.
    """

    def __init__(self, sess: Any, hooks: Iterable[SessionRunHook]) -> None:
        self._session = sess
        self._hooks = tuple(hooks)
        self._should_stop = False

    @property
    def graph(self) -> Graph:
        """The session's graph."""
        graph: Graph = self._session.graph
        return graph

    @property
    def sess_str(self) -> str:
        """The session's target."""
        target: str = self._session.sess_str
        return target

    def should_stop(self) -> bool:
        """Whether a hook has asked to stop, or the session is closed."""
        if self._should_stop or self._session is None:
            return True
        return isinstance(self._session, HookedSession) and self._session.should_stop()

    def close(self) -> None:
        """Closes the session. May be called again."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """One run with the hooks.

        Args:
            fetches: What to compute, as for Session.run.
            feed_dict: Values for tensors.
            options: For the run; joined with those that hooks ask for.
            run_metadata: Takes what the run tells.

        Returns:
            The values of the fetches.

        Raises:
            RuntimeError: A hook has asked to stop, or two feed the same tensor.
        """
        if self.should_stop():
            raise RuntimeError(
                "Run called even after should_stop requested: leave the loop when should_stop() is true."
            )
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._session)
        asked = {"caller": fetches}
        feeds, options = feed_dict, options or RunOptions()
        for place, hook in enumerate(self._hooks):
            wanted = hook.before_run(context)
            if wanted is not None:
                if wanted.fetches is not None:
                    asked[f"hook {place}"] = wanted.fetches
                if wanted.feed_dict:
                    feeds = joined_feeds(feeds, wanted.feed_dict, feed_dict)
                if wanted.options is not None:
                    options = joined_options(options, wanted.options)
        metadata = run_metadata or RunMetadata()
        results = self._session.run(asked, feeds, options, metadata)
        for place, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(results.get(f"hook {place}"), options, metadata))
        self._should_stop = context.stop_requested
        return results["caller"]
