"""Shapes that follow from what is known of only some inputs, or of only some axes of them.

How many rows a sum of segments has is a value. But if it is joined by columns with what has five rows, it has five as
well, or there is an error; and what a reshape to a known shape gives has that shape, whatever it takes. The shape rules
of the operations say so, as when the graph was built, now that the sizes of feeds are known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.compiler.shapes.levels import Level, described
from graphflow._core.graph.shapes import Dims
from graphflow._core.plan.inference import Type
from graphflow._core.plan.ir import Instruction


class PartialShapes(Level):
    """What the shape rules say of the values of a plan, while somebody walks through it."""

    def __init__(self, known: Known, fixed: Collection[str], makers: Mapping[str, Instruction]) -> None:
        """known: the shapes of a run. fixed: the values of which these are the same whenever those of the feeds are.
        makers: what makes each value.
        """
        super().__init__(makers)
        self._known, self._fixed = known, fixed
        self._dims: dict[str, Dims] = {}
        """Of values that are not fixed; only what is more than the graph says."""

    def type_of(self, value: str) -> Type | None:
        """See Level."""
        whole = described(value, self._known) if value in self._fixed else None
        maker = self._makers.get(value)
        if whole is not None or maker is None:
            return whole
        position = maker.outputs.index(value)
        return maker.dtypes[position], self._dims.get(value, maker.shapes[position])

    def add(self, i: Instruction) -> list[str]:
        """Looks at an instruction of which some results are not fixed, after those that make what it takes.

        Returns:
            The results whose shapes follow after all, and are those that the run had.
        """
        plain = i.definition is not None and not i.bodies and not i.is_variable and not i.is_constant
        if not plain or not any(self._says_more(name) for name in i.inputs):
            return []
        whole = []
        for output, said, (_, dims) in zip(i.outputs, i.shapes, self.results(i), strict=False):
            if dims is None or dims == said:
                continue
            if None not in dims and output in self._known and self._known[output][0] == tuple(dims):
                whole.append(output)
            elif None in dims:
                self._dims[output] = dims
        return whole

    def _says_more(self, name: str) -> bool:
        """Whether more is known of a value's shape than the graph says."""
        if name in self._dims:
            return True
        maker = self._makers.get(name)
        if name not in self._fixed or self._known[name][1] == "object":
            return False
        if maker is None:
            return True
        dims = maker.shapes[maker.outputs.index(name)]
        return maker.is_constant or dims is None or None in dims
