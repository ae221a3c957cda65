"""How threads wait: conditions, and the times after which what waits does not hold up others."""
