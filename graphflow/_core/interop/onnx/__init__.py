"""Graphs as ONNX models: `model` walks a graph, the other files have the ONNX form of each op."""
