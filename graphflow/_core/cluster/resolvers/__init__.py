"""Which cluster and task a process is, as the engine that started it tells: a resolver for each engine."""
