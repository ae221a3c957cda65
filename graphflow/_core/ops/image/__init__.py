"""Pictures: boxes, colours, files, sizes."""
