"""Plans with sizes that may be others: worked out once, and filled in for each combination."""
