"""What a message is on the wire: its frames, the pieces of long ones, tensors in them."""
