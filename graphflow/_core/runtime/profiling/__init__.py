"""What shows how plans run: the pieces of a compiled one, and when each of them ran in a traced step."""
