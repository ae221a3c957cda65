"""Ops between replicas: collectives, synchronous rounds, bounded staleness."""
