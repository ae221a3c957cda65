"""What a task of a cluster knows of its clients and of the other tasks, as state machines without any input or output.

An event says what has happened and when; `TaskProtocol.handle` takes it and returns instructions, which the server
carries out (graphflow/_core/cluster/server). Nothing here opens a socket, starts a thread or reads a clock, so a test
plays whole days in a moment, and a journal of the events shows afterwards how a task came to where it is.
docs/protocol-states.md has the states.
"""
