"""How layers and models are built, called, trained and taken apart."""
