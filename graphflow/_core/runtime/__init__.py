"""What happens while a graph runs: devices, the resource store, the executor."""
