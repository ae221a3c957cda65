"""Small data of our own, for pages, examples and first tries: in the package, without a network."""

from graphflow.examples.handwritten import digits as digits
