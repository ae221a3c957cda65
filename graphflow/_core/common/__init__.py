"""What every room uses and none owns: files of the user's own, printing, limits, random bits."""
