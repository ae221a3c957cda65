"""Options of datasets, which TensorFlow's rewriting of pipelines asks for: they are kept, and have no effect."""

from __future__ import annotations

from types import SimpleNamespace


class Options:
    """Options of a dataset (tf.data.Options): any may be set and read; none has an effect.

    Attributes:
        experimental_deterministic: Whether the order is fixed; it always is.
        experimental_distribute: Options of strategies.
        experimental_optimization: Options of rewriting.
        experimental_slack: Whether prefetching waits for steps.
        experimental_stats: Options of statistics.
        experimental_threading: Options of threads.
    """

    def __init__(self) -> None:
        self.experimental_deterministic: bool | None = None
        self.experimental_distribute: SimpleNamespace = SimpleNamespace()
        self.experimental_optimization: SimpleNamespace = SimpleNamespace()
        self.experimental_slack: bool | None = None
        self.experimental_stats: SimpleNamespace = SimpleNamespace()
        self.experimental_threading: SimpleNamespace = SimpleNamespace()

    def merge(self, options: Options) -> Options:
        """These options, and those of others where these have none.

        Args:
            options: The others, which count where both say something.

        Returns:
            New options.
        """
        found = Options()
        for one in (self, options):
            vars(found).update({name: value for name, value in vars(one).items() if value is not None})
        return found
