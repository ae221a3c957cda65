"""Rules by which operations become launches on GPUs."""
