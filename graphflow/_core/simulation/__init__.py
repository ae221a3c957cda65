"""What a cluster would do: real plans in simulated time."""
