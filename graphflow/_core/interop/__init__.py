"""Graphs from elsewhere: GraphDef and functions, read into a graph."""
