"""Clusters: which tasks there are, and the servers they run."""
