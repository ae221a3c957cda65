"""Ops of signals: Fourier transforms."""
