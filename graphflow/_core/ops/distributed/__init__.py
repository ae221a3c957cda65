"""Ops between replicas: collectives, synchronous rounds, bounded staleness; between runs: barriers, staging areas."""
