"""The one compiler of a user on a machine: the server that all processes ask, and how they reach it."""
