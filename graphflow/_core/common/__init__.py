"""Code that every room uses: files of the user's own, limits, printing, random bits."""
