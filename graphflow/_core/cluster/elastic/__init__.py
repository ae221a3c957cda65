"""Groups of workers that train by allreduce, which form anew when nodes come and go."""
