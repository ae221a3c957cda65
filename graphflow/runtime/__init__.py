"""What happens while a graph runs: devices, the resource store, rendezvous, the executor."""
