"""One way to state a case, to run it under any module with TensorFlow 1's interface, and to compare the outcomes.

The recorder (Python 3.7 with TensorFlow 1.15.5) and the tests (graphflow) run the same text through this file, so what
is compared differs in nothing but the module. Cases are written as expressions where they fit on a line, because the
expression is then its own name, its own source in a failure report, and valid under every Python; longer ones are
functions. Results are kept as plain JSON so that the author of an op can read what is expected of it.

This file and the cases must stay valid under Python 3.7 and must not import TensorFlow or graphflow.
"""

from __future__ import annotations

import inspect
import json
import os
import textwrap
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
GRAPH_SEED = 1234
GOLDEN_RATIO = 0.6180339887498949


class CaseFailed(Exception):
    """Carries what a case raised, and whether it was raised while building or while running."""

    def __init__(self, error: BaseException, stage: str) -> None:
        super().__init__("%s at %s: %s" % (type(error).__name__, stage, error))
        self.error = error
        self.stage = stage


class Raised:
    """An error that a case provoked and caught on purpose, as a part of its result."""

    def __init__(self, error: BaseException, stage: str) -> None:
        self.error = error
        self.stage = stage


class Tools:
    """What a case may use besides the module under test: deterministic inputs, feeds, and a session."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.feeds: Dict[Any, Any] = {}
        self.inputs: List[Any] = []
        self.running = False
        self._session: Any = None
        self._drawn = 0

    # -- inputs ------------------------------------------------------------------------------------------------
    def _uniform(self, shape: Tuple[int, ...]) -> Any:
        """Evenly scattered numbers in (0, 1), the same under every NumPy."""
        self._drawn += 1
        count = int(np.prod(shape, dtype=np.int64))
        values = (np.arange(1, count + 1, dtype=np.float64) + 7.3 * self._drawn) * GOLDEN_RATIO
        return (values - np.floor(values)).reshape(shape)

    def f(self, *shape: int) -> Any:
        """float32 in (-2, 2)."""
        return (self._uniform(shape) * 4 - 2).astype(np.float32)

    def d(self, *shape: int) -> Any:
        """float64 in (-2, 2)."""
        return self._uniform(shape) * 4 - 2

    def pos(self, *shape: int) -> Any:
        """float32 in (0.1, 2.1)."""
        return (self._uniform(shape) * 2 + 0.1).astype(np.float32)

    def unit(self, *shape: int) -> Any:
        """float32 in (0.025, 0.975): probabilities."""
        return (self._uniform(shape) * 0.95 + 0.025).astype(np.float32)

    def i(self, *shape: int) -> Any:
        """int32 from -5 to 5."""
        return (np.floor(self._uniform(shape) * 11) - 5).astype(np.int32)

    def l(self, *shape: int) -> Any:  # noqa: E743
        """int64 from -5 to 5."""
        return (np.floor(self._uniform(shape) * 11) - 5).astype(np.int64)

    def n(self, high: int, *shape: int) -> Any:
        """int32 from 0 to high - 1: indices."""
        return np.floor(self._uniform(shape) * high).astype(np.int32)

    def b(self, *shape: int) -> Any:
        """bool."""
        return self._uniform(shape) > 0.5

    def ph(
        self, value: Any, shape: Any = "of the value", dtype: Any = None, name: Optional[str] = None
    ) -> Any:
        """A placeholder that is fed `value`; its static shape is the value's unless another is given."""
        array = np.asarray(value)
        if dtype is None and not isinstance(value, np.ndarray):
            array = array.astype(
                {"float64": np.float32, "int64": np.int32}.get(array.dtype.name, array.dtype)
            )
        if dtype is None:
            is_text = array.dtype.kind in "SUO"
            dtype = self.tf.string if is_text else self.tf.as_dtype(array.dtype)
        static = list(array.shape) if isinstance(shape, str) else shape
        placeholder = self.tf.placeholder(dtype, shape=static, name=name)
        self.feeds[placeholder] = array
        self.inputs.append(placeholder)
        return placeholder

    def var(self, value: Any, **kwargs: Any) -> Any:
        """A variable with that initial value; python floats become float32."""
        variable = self.tf.Variable(value, **kwargs)
        self.inputs.append(variable)
        return variable

    # -- running -----------------------------------------------------------------------------------------------
    def session(self) -> Any:
        """The case's session on its graph, made at the first use."""
        if self._session is None:
            self._session = self.tf.Session(graph=self.tf.get_default_graph())
        return self._session

    def initialize(self) -> None:
        """Run the initialisers of all global and local variables."""
        graph = self.tf.get_default_graph()
        variables = graph.get_collection("variables") + graph.get_collection("local_variables")
        if variables:
            self.run(self.tf.variables_initializer(variables))

    def run(self, fetches: Any, feed_dict: Optional[Dict[Any, Any]] = None, **kwargs: Any) -> Any:
        """Session.run with the case's own feeds, overridden by those given."""
        feeds = dict(self.feeds)
        feeds.update(feed_dict or {})
        self.running = True
        result = self.session().run(fetches, feed_dict=feeds, **kwargs)
        self.running = False
        return result

    def error(self, provoke: Callable[[], Any]) -> Any:
        """The error that `provoke` raises, as a part of the case's result; its value if it raises none."""
        try:
            return provoke()
        except Exception as error:
            stage = "run" if self.running else "build"
            self.running = False
            return Raised(error, stage)

    def gradients(self, outputs: List[Any], inputs: List[Any]) -> List[Any]:
        """tf.gradients with uneven output weights, so that a transposed or permuted gradient cannot pass."""
        weights: Optional[List[Any]] = []
        for output in outputs:
            if not output.shape.is_fully_defined():
                weights = None
                break
            shape = tuple(output.shape.as_list())
            size = int(np.prod(shape, dtype=np.int64))
            ramp = (0.5 + 0.25 * np.arange(size)).reshape(shape)
            weights.append(self.tf.constant(ramp, dtype=output.dtype.base_dtype))  # type: ignore[union-attr]
        return list(self.tf.gradients(outputs, inputs, grad_ys=weights))

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

    def namespace(self) -> Dict[str, Any]:
        """The names that an expression may use."""
        names = ("f", "d", "pos", "unit", "i", "l", "n", "b", "ph", "var", "run", "error", "gradients")
        found = {name: getattr(self, name) for name in names}
        found.update(tf=self.tf, np=np, t=self)
        return found


class Case:
    """One comparison: what to build, how often to run it, and what counts.

    `names`: "full" compares whole tensor names, "scope" leaves out the last part of a name inside a scope (the inner
    ops of a composite function are its own business), "none" compares no names. `refined` accepts a static shape that
    is more precise than the recorded one. `ignore` names aspects ("value", "dtype", "shape", "name", "error") that are
    not compared, for the stated `reason`. `differs`, of a result that is a text of words KEY:VALUE, says which values
    are others than TensorFlow's, and must be these.
    """

    def __init__(
        self,
        family: str,
        name: str,
        source: str,
        build: Callable[[Tools], Any],
        runs: int = 1,
        raises: bool = False,
        names: str = "scope",
        refined: bool = False,
        initialize: bool = True,
        tolerance: Optional[Tuple[float, float]] = None,
        ignore: Tuple[str, ...] = (),
        reason: str = "",
        differs: Optional[Dict[str, str]] = None,
    ) -> None:
        if ignore and not reason:
            raise ValueError("%s ignores %s without a reason" % (name, ignore))
        self.family, self.name, self.source, self.build = family, name, source, build
        self.runs, self.raises, self.names, self.refined = runs, raises, names, refined
        self.initialize, self.tolerance, self.ignore, self.reason = initialize, tolerance, ignore, reason
        self.differs = differs or {}

    def __repr__(self) -> str:
        return "%s: %s" % (self.family, self.name)


def _lines(block: str) -> List[str]:
    """The expressions of a block: one a line, an indented line continues the one before, # is a comment."""
    found: List[str] = []
    for line in textwrap.dedent(block).splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0].isspace():
            found[-1] += " " + line.strip()
        else:
            found.append(line.strip())
    return found


def _evaluator(expression: str) -> Callable[[Tools], Any]:
    code = compile(expression, "<case>", "eval")
    return lambda tools: eval(code, tools.namespace())


def _outputs(tf: Any, built: Any) -> List[Any]:
    """The float tensors of a built structure, in order."""
    if isinstance(built, dict):
        return [leaf for key in sorted(built) for leaf in _outputs(tf, built[key])]
    if isinstance(built, (list, tuple)):
        return [leaf for part in built for leaf in _outputs(tf, part)]
    return [built] if isinstance(built, tf.Tensor) and built.dtype.is_floating else []


def _differentiator(expression: str, order: int) -> Callable[[Tools], Any]:
    evaluate = _evaluator(expression)

    def build(tools: Tools) -> Any:
        outputs = _outputs(tools.tf, evaluate(tools))
        inputs = [x for x in tools.inputs if x.dtype.base_dtype.is_floating]
        found = tools.gradients(outputs, inputs)
        if order == 2:
            squares = [tools.tf.reduce_sum(tools.tf.square(g)) for g in found if g is not None]
            found = list(tools.tf.gradients(squares, inputs))
        return found

    return build


class Family:
    """The cases of one subject; a module of `cases/` has one, called FAMILY."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cases: List[Case] = []
        self._taken: Dict[str, str] = {}

    def _add(self, name: str, source: str, build: Callable[[Tools], Any], options: Dict[str, Any]) -> None:
        if name in self._taken:
            raise ValueError("%s: two cases are called %s" % (self.name, name))
        self._taken[name] = source
        self.cases.append(Case(self.name, name, source, build, **options))

    def expressions(self, block: str, **options: Any) -> None:
        """A case for each expression: its values, dtypes, static shapes and names."""
        for line in _lines(block):
            self._add(line, line, _evaluator(line), options)

    def errors(self, block: str, **options: Any) -> None:
        """A case for each expression, all of which must raise."""
        self.expressions(block, raises=True, **options)

    def differentiable(
        self, block: str, gradient_tolerance: Optional[Tuple[float, float]] = None, **options: Any
    ) -> None:
        """As `expressions`, and a second case with the gradients in regard to every float placeholder and variable."""
        self.expressions(block, **options)
        self.gradients(block, tolerance=gradient_tolerance or options.get("tolerance"))

    def gradients(self, block: str, order: int = 1, **options: Any) -> None:
        """A case for each expression: its first or second order gradients."""
        label = {1: "grad", 2: "grad of grad"}[order]
        options.setdefault("names", "none")
        options.setdefault("refined", True)
        for line in _lines(block):
            self._add("%s %s" % (label, line), line, _differentiator(line, order), options)

    def case(self, **options: Any) -> Callable[[Callable[[Any, Tools], Any]], Callable[[Any, Tools], Any]]:
        """Decorates `def name(tf, t)`: it builds, and may run; what it returns is the result."""

        def declare(function: Callable[[Any, Tools], Any]) -> Callable[[Any, Tools], Any]:
            source = inspect.getsource(function)
            self._add(function.__name__, source, lambda tools: function(tools.tf, tools), options)
            return function

        return declare

    def generated(
        self, name: str, function: Callable[[Any, Tools], Any], source: str, **options: Any
    ) -> None:
        """A case made in a loop over parameters."""
        self._add(name, source, lambda tools: function(tools.tf, tools), options)


# -- running -----------------------------------------------------------------------------------------------------
def _array_record(array: Any) -> Dict[str, Any]:
    array = np.asarray(array)
    kind = array.dtype.kind
    if kind in "SUO":
        values = [v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in array.ravel()]
        return {"dtype": "string", "shape": list(array.shape), "values": values}
    if kind == "f":
        # str gives the shortest text that reads back as the same number.
        values = [float(str(v)) for v in array.ravel()]
    elif array.dtype.name == "bfloat16":
        values = [float(v) for v in array.ravel()]
    elif kind == "c":
        values = [[float(v.real), float(v.imag)] for v in array.ravel()]
    else:
        values = [int(v) for v in array.ravel()]
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": values}


def _static_shape(tensor: Any) -> Any:
    shape = tensor.shape
    return None if shape.ndims is None else shape.as_list()


def _tensor_record(tensor: Any, values: List[Any], kind: str) -> Dict[str, Any]:
    record = {
        "kind": kind,
        "name": tensor.name,
        "dtype": tensor.dtype.base_dtype.name,
        "static": _static_shape(tensor),
    }
    record["runs"] = [_array_record(value) for value in values]
    return record


class _Collector:
    """Walks a built structure, gathers what must be fetched, and turns it into records after the runs."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.fetches: List[Any] = []
        self.values: List[List[Any]] = []

    def _fetch(self, tensor: Any) -> int:
        self.fetches.append(tensor)
        return len(self.fetches) - 1

    def _values(self, slot: int) -> List[Any]:
        return [values[slot] for values in self.values]

    def plan(self, leaf: Any) -> Callable[[], Any]:
        """A function that gives the leaf's record once `values` are there."""
        tf = self.tf
        if isinstance(leaf, Raised):
            classes = [c.__name__ for c in type(leaf.error).__mro__]
            return lambda: {"kind": "error", "class": classes[0], "stage": leaf.stage, "classes": classes}
        if isinstance(leaf, dict):
            parts = [(str(key), self.plan(leaf[key])) for key in sorted(leaf, key=str)]
            return lambda: {"kind": "dict", "parts": {key: part() for key, part in parts}}
        if isinstance(leaf, tf.TensorShape):
            return lambda: {"kind": "plain", "value": str(leaf)}
        if isinstance(leaf, tf.DType):
            return lambda: {"kind": "plain", "value": leaf.name}
        if isinstance(leaf, (tf.IndexedSlices, tf.SparseTensor)):
            fields = ("values", "indices", "dense_shape")
            present = [name for name in fields if getattr(leaf, name) is not None]
            inner = {name: self.plan(getattr(leaf, name)) for name in present}
            kind = type(leaf).__name__
            return lambda: {"kind": kind, "parts": {name: make() for name, make in inner.items()}}
        if isinstance(leaf, (list, tuple)) and not isinstance(leaf, str):
            items = [self.plan(part) for part in leaf]
            return lambda: {"kind": "list", "parts": {str(k): item() for k, item in enumerate(items)}}
        if isinstance(leaf, tf.Variable):
            slot = self._fetch(leaf)
            return lambda: _tensor_record(leaf, self._values(slot), "variable")
        if isinstance(leaf, tf.Tensor):
            slot = self._fetch(leaf)
            return lambda: _tensor_record(leaf, self._values(slot), "tensor")
        if isinstance(leaf, tf.Operation):
            self._fetch(leaf)
            return lambda: {"kind": "operation", "name": leaf.name, "type": leaf.type}
        if isinstance(leaf, np.bool_):
            return lambda: {"kind": "plain", "value": bool(leaf)}
        if isinstance(leaf, (np.ndarray, np.generic)):
            return lambda: {"kind": "array", "runs": [_array_record(leaf)]}
        if leaf is None or isinstance(leaf, (bool, int, float, str)):
            return lambda: {"kind": "plain", "value": leaf}
        if isinstance(leaf, bytes):
            return lambda: {"kind": "plain", "value": leaf.decode("latin-1")}
        raise TypeError("a case returned %r, which cannot be recorded" % (leaf,))


def perform(tf: Any, case: Case) -> Any:
    """Build and run `case` under the module `tf`; its record, or CaseFailed with the error it raised."""
    graph = tf.Graph()
    tools = Tools(tf)
    try:
        with graph.as_default():
            tf.set_random_seed(GRAPH_SEED)
            built = case.build(tools)
            collector = _Collector(tf)
            record = collector.plan(built)
            if case.initialize and tools._session is None:
                tools.initialize()
            for _ in range(case.runs if collector.fetches else 0):
                collector.values.append(tools.run(collector.fetches))
            return record()
    except Exception as error:
        raise CaseFailed(error, "run" if tools.running else "build") from error
    finally:
        tools.close()


def record_of_failure(failed: CaseFailed) -> Dict[str, Any]:
    classes = [c.__name__ for c in type(failed.error).__mro__]
    return {"kind": "error", "class": classes[0], "stage": failed.stage, "classes": classes}


# -- files -------------------------------------------------------------------------------------------------------
def families() -> Dict[str, Family]:
    """Every family, by name, from the modules of `cases/`."""
    import importlib
    import sys

    if HERE not in sys.path:
        sys.path.insert(0, HERE)
    found: Dict[str, Family] = {}
    for name in sorted(os.listdir(os.path.join(HERE, "cases"))):
        if name.endswith(".py") and not name.startswith("_"):
            module = importlib.import_module("cases." + name[:-3])
            family = module.FAMILY
            if family.name in found:
                raise ValueError("two families are called %s" % family.name)
            found[family.name] = family
    return found


def recording_path(family: str) -> str:
    return os.path.join(HERE, "recorded", family + ".json")


def load_recording(family: str) -> Dict[str, Any]:
    path = recording_path(family)
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        recording: Dict[str, Any] = json.load(file)
    return recording


def save_recording(family: str, recording: Dict[str, Any]) -> None:
    """One line a case, so that a change shows as a change of its line."""
    lines = [
        "%s: %s" % (json.dumps(name), json.dumps(recording[name], separators=(",", ":")))
        for name in recording
    ]
    with open(recording_path(family), "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
