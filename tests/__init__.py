"""The tests: a room for each of graphflow's; what several of them use is imported as tests.ROOM.MODULE."""
