"""What a graph is: operations, tensors, names, devices, shapes. No numeric work is done here."""
