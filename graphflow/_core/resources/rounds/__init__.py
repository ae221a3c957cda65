"""Rounds of synchronous training: what happens to them, the machine that decides, and the threads that wait for it."""
