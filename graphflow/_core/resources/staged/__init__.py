"""What runs put aside for other runs beside queues: barriers, whose elements are put in parts, and staging areas."""
