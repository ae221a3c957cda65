"""The graphflow command."""
