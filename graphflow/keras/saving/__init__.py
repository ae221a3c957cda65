"""How models and weights become files and back."""
