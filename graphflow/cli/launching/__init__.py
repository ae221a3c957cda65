"""What graphflow launch does on other machines: engines that start tasks, and hosts that ssh reaches."""
