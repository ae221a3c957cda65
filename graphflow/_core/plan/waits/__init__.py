"""Which instructions of a plan may wait for one another."""
