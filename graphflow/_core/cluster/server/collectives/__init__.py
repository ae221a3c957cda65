"""Collectives between the tasks of a cluster: the link of a task, its local channels, the memory that tasks share."""
