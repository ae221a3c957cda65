"""The outputs of layers by name (tf.contrib.slim.utils)."""

from graphflow.layers.named_outputs import append_tensor_alias as append_tensor_alias
from graphflow.layers.named_outputs import collect_named_outputs as collect_named_outputs
from graphflow.layers.named_outputs import convert_collection_to_dict as convert_collection_to_dict
from graphflow.layers.named_outputs import gather_tensors_aliases as gather_tensors_aliases
from graphflow.layers.named_outputs import get_tensor_aliases as get_tensor_aliases
from graphflow.layers.named_outputs import last_dimension as last_dimension
