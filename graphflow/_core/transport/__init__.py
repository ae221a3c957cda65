"""What carries messages between tasks: their form, and the sockets."""
