"""Plans on a GPU: variables in its memory, the launches of a plan, and the transfers to and from the host."""
