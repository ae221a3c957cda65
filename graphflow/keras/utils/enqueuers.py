"""Batches that are made ahead, asked for by the program itself (tf.keras.utils)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphflow.keras.typing import Elements
from graphflow.keras.utils.sequences import Enqueued


class SequenceEnqueuer:
    """Batches that threads or processes make ahead (tf.keras.utils.SequenceEnqueuer).

    Args:
        sequence: A Sequence, or a generator.
        use_multiprocessing: Whether processes make them, rather than threads.
    """

    def __init__(self, sequence: Elements, use_multiprocessing: bool = False) -> None:
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self._shuffles = False
        self._batches: Enqueued | None = None

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Begins to make batches.

        Args:
            workers: How many threads or processes make them.
            max_queue_size: How many wait to be taken.
        """
        self._batches = Enqueued(
            self.sequence, self._shuffles, workers, self.use_multiprocessing, max_queue_size
        )

    def is_running(self) -> bool:
        """Whether batches are being made."""
        return self._batches is not None

    def get(self) -> Iterator[Any]:
        """The batches, as they are asked for.

        Yields:
            The next batch, while there is one.
        """
        while self._batches is not None:
            try:
                batch = next(self._batches)
            except StopIteration:
                return
            yield batch

    def stop(self, timeout: float | None = None) -> None:
        """Ends the threads or processes.

        Args:
            timeout: Changes nothing: the batches that are being made are waited for.
        """
        if self._batches is not None:
            self._batches.close()
            self._batches = None


class OrderedEnqueuer(SequenceEnqueuer):
    """The batches of a Sequence, in order or shuffled each time round (tf.keras.utils.OrderedEnqueuer).

    Args:
        sequence: A Sequence.
        use_multiprocessing: Whether processes make them, rather than threads.
        shuffle: Whether they come in another order each time round.
    """

    def __init__(self, sequence: Elements, use_multiprocessing: bool = False, shuffle: bool = False) -> None:
        super().__init__(sequence, use_multiprocessing)
        self._shuffles = shuffle


class GeneratorEnqueuer(SequenceEnqueuer):
    """The batches of a generator, made ahead by a thread (tf.keras.utils.GeneratorEnqueuer).

    Args:
        sequence: A generator.
        use_multiprocessing: Changes nothing: one thread asks the generator.
        random_seed: Changes nothing.
    """

    def __init__(
        self, sequence: Elements, use_multiprocessing: bool = False, random_seed: int | None = None
    ) -> None:
        super().__init__(sequence)
