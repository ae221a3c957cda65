"""The session's side of a cluster."""
