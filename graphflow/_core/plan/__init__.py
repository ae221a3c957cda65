"""From a graph to something that runs: an immutable, printable Plan and the passes over it."""
