"""The steps of the zoo that stay on NumPy, and why: the tests check that these do, and that no others do."""

STAYS = {}  # type: dict[str, str]
"""The reason, by model."""
