"""The engine: graph, plan, compiler, runtime, cluster. Nothing outside of graphflow imports it."""
