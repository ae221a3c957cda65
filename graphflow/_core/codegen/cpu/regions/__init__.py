"""Fused regions: what they are as data, the text of their scalar code, and the kernel made of it."""
