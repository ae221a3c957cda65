"""Graphs as data: operations, tensors, names, devices, shapes. No numeric work is done here."""
