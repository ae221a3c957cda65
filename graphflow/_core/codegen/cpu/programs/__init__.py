"""Native programs: the sequencer of kernels with its threads, and the machine for long scalar code."""
