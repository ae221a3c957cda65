"""What other packages had, and programs of TensorFlow 1 still ask for: modules of SciPy, names of Pillow and urllib."""
