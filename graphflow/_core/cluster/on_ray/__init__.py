"""Clusters on Ray: the tasks are actors, and an actor more keeps their leases. Ray is imported when one is made."""
