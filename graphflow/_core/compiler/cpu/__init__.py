"""Rules by which operations become nodes for processors."""
