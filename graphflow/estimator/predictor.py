"""Functions that give a model's predictions for arrays (tf.contrib.predictor)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.ops.state.initializers import tables_initializer
from graphflow._core.ops.state.variable_collections import local_variables_initializer
from graphflow._core.session import Session
from graphflow.estimator.signatures import signatures_of
from graphflow.estimator.spec import ModeKeys
from graphflow.saved_model import loader, signature_constants, tag_constants
from graphflow.train.saving.checkpoint_management import latest_checkpoint
from graphflow.train.saving.saver import Saver
from graphflow.train.steps import get_or_create_global_step

if TYPE_CHECKING:
    from os import PathLike

    from graphflow.config import ConfigProto
    from graphflow.estimator.estimator import Estimator


class Predictor:
    """A session, and the names of what is fed and fetched in it. `predictor({name: array})` gives {name: array}.

    Args:
        session: A session whose graph has its values.
        feed_tensors: The tensors to feed, by name.
        fetch_tensors: The tensors to fetch, by name.
    """

    def __init__(
        self, session: Session, feed_tensors: Mapping[str, Tensor], fetch_tensors: Mapping[str, Tensor]
    ) -> None:
        self._session = session
        self._feed_tensors, self._fetch_tensors = dict(feed_tensors), dict(fetch_tensors)

    @property
    def session(self) -> Session:
        """The session."""
        return self._session

    @property
    def graph(self) -> Graph:
        """The session's graph."""
        return self._session.graph

    @property
    def feed_tensors(self) -> dict[str, Tensor]:
        """The tensors to feed, by name."""
        return self._feed_tensors

    @property
    def fetch_tensors(self) -> dict[str, Tensor]:
        """The tensors to fetch, by name."""
        return self._fetch_tensors

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """The predictions, by name.

        Args:
            input_dict: {name: array}, the names among those of `feed_tensors`.

        Returns:
            An array for each of `fetch_tensors`.

        Raises:
            ValueError: For a name that is not among `feed_tensors`.
        """
        unexpected = sorted(set(input_dict) - set(self._feed_tensors))
        if unexpected:
            raise ValueError(
                f"Got unexpected keys in input_dict: {unexpected}\nexpected: {sorted(self._feed_tensors)}"
            )
        feeds = {self._feed_tensors[name]: value for name, value in input_dict.items()}
        found: dict[str, Any] = self._session.run(self._fetch_tensors, feeds)
        return found


def from_saved_model(
    export_dir: str | PathLike[str],
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: Iterable[str] | str | None = None,
    graph: Graph | None = None,
    config: ConfigProto | None = None,
) -> Predictor:
    """A function of a SavedModel's predictions (tf.contrib.predictor.from_saved_model).

    Args:
        export_dir: The folder of the SavedModel.
        signature_def_key: The signature to use; by default "serving_default".
        signature_def: A SignatureDef to use instead of one of the SavedModel's.
        input_names: {name: name of a tensor}: what to feed, instead of a signature.
        output_names: {name: name of a tensor}: what to fetch, instead of a signature.
        tags: The tags of the meta graph, or a text with commas between them; by default "serve".
        graph: The graph that it is read into; by default one of its own.
        config: The session's.

    Returns:
        The Predictor, which keeps its session open.

    Raises:
        ValueError: If there is no such signature, or more than one of the ways to choose is used.
    """
    ways = [signature_def_key is not None, signature_def is not None, input_names is not None]
    if sum(ways) > 1:
        raise ValueError("You must specify at most one of signature_def_key OR signature_def OR input_names.")
    if (input_names is None) != (output_names is None):
        raise ValueError("input_names and output_names must both be specified or both be unspecified.")
    wanted = tags.split(",") if isinstance(tags, str) else list(tags or [tag_constants.SERVING])
    with (graph or Graph()).as_default() as own:
        session = Session(graph=own, config=config)
        meta_graph = loader.load(session, wanted, export_dir)
    if input_names is None or output_names is None:
        if signature_def is None:
            key = signature_def_key or signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
            signature_def = _signature(meta_graph, key)
        input_names = {name: info.name for name, info in signature_def.inputs.items()}
        output_names = {name: info.name for name, info in signature_def.outputs.items()}
    return _predictor(session, input_names, output_names)


def from_estimator(
    estimator: Estimator,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: Graph | None = None,
    config: ConfigProto | None = None,
) -> Predictor:
    """A function of an estimator's predictions, from its newest checkpoint (tf.contrib.predictor.from_estimator).

    Args:
        estimator: A gf.estimator.Estimator that was trained.
        serving_input_receiver_fn: What builds the features, as for export_savedmodel().
        output_key: The name among `export_outputs`; by default "serving_default".
        graph: The graph that it is built in; by default one of its own.
        config: The session's.

    Returns:
        The Predictor, which keeps its session open.

    Raises:
        ValueError: If there is no checkpoint, or no such output.
    """
    path = latest_checkpoint(estimator.model_dir)
    if path is None:
        raise ValueError(f"Could not find a checkpoint in {estimator.model_dir}: train the estimator first.")
    with (graph or Graph()).as_default() as own:
        get_or_create_global_step()
        receiver = serving_input_receiver_fn()
        spec = estimator._call_model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config)
        signatures = signatures_of(spec, receiver)
        key = output_key or signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        if key not in signatures:
            raise ValueError(f"The model has no output {key!r}, only: {', '.join(sorted(signatures))}.")
        session = Session(graph=own, config=config)
        Saver().restore(session, path)
        session.run([local_variables_initializer(), tables_initializer()])
    signature = signatures[key]
    return _predictor(
        session,
        {name: info.name for name, info in signature.inputs.items()},
        {name: info.name for name, info in signature.outputs.items()},
    )


def _signature(meta_graph: Any, key: str) -> Any:
    if key not in meta_graph.signature_def:
        found = ", ".join(sorted(meta_graph.signature_def)) or "none"
        raise ValueError(f"Got signature_def_key {key!r}. Available signatures are: {found}.")
    return meta_graph.signature_def[key]


def _predictor(session: Session, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> Predictor:
    graph = session.graph
    return Predictor(
        session,
        {name: graph.get_tensor_by_name(tensor) for name, tensor in inputs.items()},
        {name: graph.get_tensor_by_name(tensor) for name, tensor in outputs.items()},
    )
