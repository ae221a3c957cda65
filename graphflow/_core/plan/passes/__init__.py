"""The passes: one file each, a pure function from a plan to a plan."""
