"""What is called around each step of a monitored session."""
