"""Single names of TensorFlow's modules that have another name here, or stand in another module than the table says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_CORE: Final = "graphflow._core"

NAMES: Final[Mapping[str, tuple[str, str]]] = {
    **{
        f"python.feature_column.feature_column._{name}": ("graphflow.feature_column", name)
        for name in (
            "numeric_column",
            "bucketized_column",
            "crossed_column",
            "embedding_column",
            "indicator_column",
            "weighted_categorical_column",
            "categorical_column_with_hash_bucket",
            "categorical_column_with_identity",
            "categorical_column_with_vocabulary_file",
            "categorical_column_with_vocabulary_list",
        )
    },
    **{
        f"python.feature_column.feature_column.{old}": ("graphflow.feature_column.base", name)
        for old, name in (
            ("_FeatureColumn", "FeatureColumn"),
            ("_DenseColumn", "DenseColumn"),
            ("_CategoricalColumn", "CategoricalColumn"),
            ("_SequenceDenseColumn", "SequenceDenseColumn"),
            ("_LazyBuilder", "FeatureTransformationCache"),
            ("_transform_features", "transform_features"),
        )
    },
    "python.feature_column.feature_column._LinearModel": (
        "graphflow.as_tensorflow.inside.linear_model",
        "OldLinearModel",
    ),
    "python.feature_column.feature_column_v2.make_parse_example_spec_v2": (
        "graphflow.feature_column",
        "make_parse_example_spec",
    ),
    **{
        f"python.ops.{module}.string_{name}": ("graphflow.strings", name)
        for module in ("string_ops", "gen_string_ops")
        for name in ("format", "length", "lower", "upper")
    },
    **{
        f"{where}.concatenate_context_input": (
            "graphflow.feature_column.layers",
            "concatenate_context_input",
        )
        for where in ("python.feature_column.sequence_feature_column", "contrib.feature_column")
    },
    **{
        f"python.ops.gen_string_ops.static_{name}": ("graphflow.strings", name)
        for name in ("regex_full_match", "regex_replace")
    },
    **{
        f"python.ops.{module}.sparse_{name}": ("graphflow.sparse", name)
        for module in ("sparse_ops", "gen_sparse_ops")
        for name in ("cross", "cross_hashed")
    },
    "python.ops.math_ops._bucketize": ("graphflow._core.ops.math.sorting", "bucketize"),
    "python.ops.data_flow_ops.Barrier": (f"{_CORE}.ops.distributed.barriers", "Barrier"),
    "python.ops.data_flow_ops.MapStagingArea": ("graphflow.contrib.staging.map_area", "MapStagingArea"),
    "python.ops.data_flow_ops.RecordInput": (f"{_CORE}.ops.io.readers", "RecordInput"),
    "python.ops.data_flow_ops.parallel_dynamic_stitch": ("graphflow", "dynamic_stitch"),
    "python.ops.nn_impl._compute_sampled_logits": ("graphflow.nn.sampling", "sampled_logits"),
    **{
        f"python.ops.{module}.ResizeMethodV1": ("graphflow.image", "ResizeMethod")
        for module in ("image_ops", "image_ops_impl")
    },
    "python.ops.variable_scope.variable": ("graphflow", "Variable"),
    "python.ops.variables.VariableAggregationV2": ("graphflow", "VariableAggregation"),
    "python.ops.linalg.linalg_impl.matrix_exponential": ("graphflow.linalg", "expm"),
    **{
        f"python.ops.{module}.nth_element": ("graphflow.contrib.nn", "nth_element")
        for module in ("nn_ops", "gen_nn_ops")
    },
    "python.ops.sparse_ops.deserialize_sparse": (
        f"{_CORE}.ops.sparse.serializing",
        "deserialize_sparse",
    ),
    "python.ops.array_ops.scatter_nd_non_aliasing_add": ("graphflow", "tensor_scatter_add"),
    **{
        f"python.ops.init_ops.convolutional_{kind}": ("graphflow.contrib.framework", f"convolutional_{kind}")
        for kind in ("delta_orthogonal", "orthogonal_1d", "orthogonal_2d", "orthogonal_3d")
    },
    "python.ops.init_ops.identity_initializer": ("graphflow.initializers", "identity"),
    "python.ops.confusion_matrix.remove_squeezable_dimensions": (
        "graphflow.as_tensorflow.inside.weights",
        "remove_squeezable_dimensions",
    ),
    "python.ops.control_flow_ops.with_dependencies": (
        f"{_CORE}.ops.control_flow.flow_basics",
        "with_dependencies",
    ),
    "python.training.training_util._increment_global_step": (
        "graphflow.as_tensorflow.inside.small",
        "increment_global_step",
    ),
    "python.distribute.mirrored_strategy.MirroredStrategy": ("graphflow.distribute", "MirroredStrategy"),
    "python.saved_model.simple_save": ("graphflow.saved_model", "builder"),
    **{
        f"python.saved_model.{module}._SavedModelBuilder": (
            "graphflow.as_tensorflow.inside.saved_models",
            "InnerSavedModelBuilder",
        )
        for module in ("builder", "builder_impl")
    },
    "python.estimator.canned.kmeans.KMeansClustering": ("graphflow.estimator.experimental", "KMeans"),
    "python.estimator.canned.head._Head": ("graphflow.estimator.canned.heads", "Head"),
    **{
        f"python.estimator.canned.head.{old}": ("graphflow.as_tensorflow.inside.heads", name)
        for old, name in (
            ("_binary_logistic_head_with_sigmoid_cross_entropy_loss", "binary_logistic_head"),
            ("_multi_class_head_with_softmax_cross_entropy_loss", "multi_class_head"),
            ("_regression_head", "regression_head"),
        )
    },
    "python.estimator.hooks.hooks._StopAtCheckpointStepHook": (
        "graphflow.estimator.checkpoint_hook",
        "StopAtCheckpointStepHook",
    ),
    "python.estimator.canned.optimizers.get_optimizer_instance": (
        "graphflow.estimator.canned.optimizers",
        "optimizer_of",
    ),
    "python.training.monitored_session._HookedSession": (
        "graphflow.as_tensorflow.inside.hooked_session",
        "HookedSession",
    ),
    **{
        path: ("graphflow.as_tensorflow.inside.estimators", name)
        for path, name in (
            ("python.estimator.estimator._write_dict_to_summary", "write_dict_to_summary"),
            (
                "python.estimator.estimator._load_global_step_from_checkpoint_dir",
                "load_global_step_from_checkpoint_dir",
            ),
            ("python.estimator.model_fn.LOSS_METRIC_KEY", "LOSS_METRIC_KEY"),
            ("python.estimator.model_fn.AVERAGE_LOSS_METRIC_KEY", "AVERAGE_LOSS_METRIC_KEY"),
            ("python.estimator.util.parse_input_fn_result", "parse_input_fn_result"),
            ("python.estimator.util._DatasetInitializerHook", "DatasetInitializerHook"),
            ("python.ops.variables._all_saveable_objects", "all_saveable_objects"),
        )
    },
    "python.estimator.estimator.EstimatorV2": ("graphflow.estimator", "Estimator"),
    "python.saved_model.loader_impl._parse_saved_model": (
        "graphflow.as_tensorflow.inside.saved_models",
        "parse_saved_model",
    ),
    "python.estimator.run_config.TaskType": ("graphflow.estimator.run_config", "TaskType"),
    "keras.utils.losses_utils.ReductionV2": ("graphflow.keras.losses", "Reduction"),
    "keras.optimizer_v2.optimizer_v2.OptimizerV2": ("graphflow.keras.optimizers", "Optimizer"),
    "keras.backend._preprocess_conv2d_input": ("graphflow.keras.backend.convolutions", "channels_behind"),
    "keras.backend._preprocess_padding": ("graphflow.keras.backend.convolutions", "padding_of_operations"),
    "keras.preprocessing.sequence._remove_long_seq": (
        "graphflow.keras.preprocessing.sequence",
        "shorter_ones",
    ),
    **{
        f"core.protobuf.config_pb2.{name}": ("graphflow", name)
        for name in (
            "ConfigProto",
            "GPUOptions",
            "GraphOptions",
            "OptimizerOptions",
            "RunMetadata",
            "RunOptions",
        )
    },
    "core.protobuf.config_pb2.RPCOptions": ("graphflow.config", "RPCOptions"),
    "python.distribute.collective_all_reduce_strategy.CollectiveAllReduceStrategy": (
        "graphflow.distribute",
        "CollectiveAllReduceStrategy",
    ),
    "python.training.saver.BaseSaverBuilder": ("graphflow.as_tensorflow.inside.small", "BaseSaverBuilder"),
    "python.training.checkpoint_management.update_checkpoint_state_internal": (
        "graphflow.train",
        "update_checkpoint_state",
    ),
    "python.ops.data_flow_ops.StagingArea": ("graphflow.contrib.staging", "StagingArea"),
    "python.framework.sparse_tensor.is_sparse": ("graphflow.as_tensorflow.inside.small", "is_sparse"),
    "python.framework.test_util.TensorFlowTestCase": ("graphflow.test", "TestCase"),
    "python.lib.io.file_io.file_exists": ("graphflow.gfile", "Exists"),
    "python.lib.io.file_io.FileIO": ("graphflow.gfile", "GFile"),
    "python.util.compat.collections_abc": ("collections", "abc"),
    "python.lib.io.file_io.recursive_create_dir": ("graphflow.gfile", "MakeDirs"),
    "python.lib.io.file_io.create_dir": ("graphflow.gfile", "MkDir"),
    "python.lib.io.file_io.delete_file": ("graphflow.gfile", "Remove"),
    "python.lib.io.file_io.delete_recursively": ("graphflow.gfile", "DeleteRecursively"),
    "python.lib.io.file_io.get_matching_files": ("graphflow.gfile", "Glob"),
    "python.lib.io.file_io.is_directory": ("graphflow.gfile", "IsDirectory"),
    "python.lib.io.file_io.list_directory": ("graphflow.gfile", "ListDirectory"),
    "python.framework.ops.internal_convert_to_tensor": ("graphflow", "convert_to_tensor"),
    "python.framework.tensor_util.constant_value": (f"{_CORE}.ops.core", "constant_value"),
    "python.client.session.BaseSession": ("graphflow", "Session"),
    **{
        name: ("graphflow.as_tensorflow.inside.variables", name)
        for name in ("disable_resource_variables", "enable_resource_variables")
    },
    "compat.forward_compatible": ("graphflow.as_tensorflow.version", "forward_compatible"),
    "VariableV1": ("graphflow", "Variable"),
    "python.ops.variables.VariableV1": ("graphflow", "Variable"),
    "python.ops.variables.RefVariable": ("graphflow", "Variable"),
    "python.ops.rnn.rnn_cell_impl": ("graphflow.nn", "rnn_cell"),
    **{
        f"python.data.ops.dataset_ops.get_legacy_output_{what}": ("graphflow.data", f"get_output_{what}")
        for what in ("classes", "shapes", "types")
    },
    **{
        f"python.ops.control_flow_ops.{name}": ("graphflow.as_tensorflow.inside.switches", name)
        for name in ("merge", "switch")
    },
    "python.ops.ragged.ragged_tensor.is_ragged": ("graphflow.as_tensorflow.inside.small", "is_ragged"),
    "python.ops.session_ops.TensorHandle": (f"{_CORE}.ops.state.session_handles", "TensorHandle"),
    "python.data.ops.optional_ops.Optional": ("graphflow.data.experimental", "Optional"),
    "python.data.ops.optional_ops._OptionalImpl": ("graphflow.data.experimental", "Optional"),
    "python.data.ops.optional_ops.OptionalSpec": ("graphflow", "OptionalSpec"),
    "python.data.ops.dataset_ops.AUTOTUNE": ("graphflow.data.experimental", "AUTOTUNE"),
    "python.data.ops.iterator_ops.GET_NEXT_CALL_WARNING_THRESHOLD": (
        "graphflow.data.iterators",
        "MANY_CALLS",
    ),
    "python.data.ops.iterator_ops.GET_NEXT_CALL_WARNING_MESSAGE": (
        "graphflow.data.iterators",
        "MANY_CALLS_TEXT",
    ),
    "python.data.ops.dataset_ops.DatasetV1": ("graphflow.data", "Dataset"),
    "python.data.ops.dataset_ops.DatasetV2": ("graphflow.data", "Dataset"),
    "python.ops.lookup_ops.StaticHashTableV1": ("graphflow.lookup", "StaticHashTable"),
    "python.ops.lookup_ops.StaticVocabularyTableV1": ("graphflow.lookup", "StaticVocabularyTable"),
    "python.ops.lookup_ops.DenseHashTable": ("graphflow.lookup.experimental", "DenseHashTable"),
    "python.ops.variables.PartitionedVariable": (f"{_CORE}.ops.state.partitioning", "PartitionedVariable"),
    **{
        f"python.ops.resource_variable_ops.{name}": ("graphflow.as_tensorflow.inside.variables", name)
        for name in ("ResourceVariable", "is_resource_variable")
    },
    "python.ops.rnn_cell_impl.assert_like_rnncell": ("graphflow.nn.rnn", "assert_like_rnncell"),
    "python.ops.rnn_cell_impl.ASSERT_LIKE_RNNCELL_ERROR_REGEXP": (
        "graphflow.as_tensorflow.inside.linear",
        "ASSERT_LIKE_RNNCELL_ERROR_REGEXP",
    ),
    "python.ops.rnn_cell_impl._zero_state_tensors": ("graphflow.nn.zero_states", "zero_state_of"),
    "python.ops.rnn._transpose_batch_time": ("graphflow.contrib.seq2seq.decoder", "swap_batch_and_time"),
    **{
        f"python.ops.rnn_cell_impl._{name}": ("graphflow.as_tensorflow.inside.linear", name)
        for name in ("WEIGHTS_VARIABLE_NAME", "BIAS_VARIABLE_NAME")
    },
    **{
        f"{place}.{name}": ("graphflow.as_tensorflow.inside.building", where)
        for place, name, where in (
            ("python.framework.ops", "uid", "uid"),
            ("python.framework.ops", "convert_to_tensor_v2", "convert_to_tensor_v2"),
            ("python.ops", "convert_to_tensor_v2", "convert_to_tensor_v2"),
            ("python.framework.ops", "register_proto_function", "register_proto_function"),
            ("python.ops.rnn_cell_impl", "_concat", "concatenated_shape"),
            ("python.util.tf_inspect", "getargspec", "getargspec"),
            ("python.layers.utils", "conv_output_length", "conv_output_length"),
            ("python.ops.metrics_impl", "_streaming_confusion_matrix", "streaming_confusion_matrix"),
        )
    },
    "python.layers.normalization.batch_norm": ("graphflow.layers", "batch_normalization"),
    "python.util.tf_inspect.ArgSpec": ("graphflow.as_tensorflow.age", "ArgSpec"),
    "python.ops.math_ops.mul": ("graphflow", "multiply"),
    "python.ops.math_ops.sub": ("graphflow", "subtract"),
    "python.training.evaluation._StopAfterNEvalsHook": (
        "graphflow.contrib.evaluation",
        "StopAfterNEvalsHook",
    ),
    "python.training.evaluation._get_or_create_eval_step": (
        "graphflow.contrib.evaluation",
        "get_or_create_eval_step",
    ),
    "contrib.rnn._linear": ("graphflow.as_tensorflow.inside.linear", "linear"),
    "contrib.seq2seq._BaseAttentionMechanism": (
        "graphflow.contrib.seq2seq.attention",
        "BaseAttentionMechanism",
    ),
    "contrib.seq2seq._bahdanau_score": ("graphflow.contrib.seq2seq.attention", "bahdanau_score"),
    "contrib.seq2seq._luong_score": ("graphflow.contrib.seq2seq.attention", "luong_score"),
    "contrib.seq2seq._maybe_mask_score": ("graphflow.contrib.seq2seq.attention", "mask_score"),
    "contrib.seq2seq._prepare_memory": ("graphflow.contrib.seq2seq.attention", "prepare_memory"),
    "contrib.seq2seq._BaseMonotonicAttentionMechanism": (
        "graphflow.contrib.seq2seq.monotonic",
        "BaseMonotonicAttentionMechanism",
    ),
    "contrib.seq2seq._monotonic_probability_fn": (
        "graphflow.contrib.seq2seq.monotonic",
        "monotonic_probability_fn",
    ),
    "contrib.seq2seq._transpose_batch_time": ("graphflow.contrib.seq2seq.decoder", "swap_batch_and_time"),
    "contrib.seq2seq.gather_tree_from_array": ("graphflow.contrib.seq2seq.beams", "sort_by_beams"),
    **{
        f"random.{kind}_candidate_sampler": ("graphflow.nn", f"{kind}_candidate_sampler")
        for kind in ("all", "fixed_unigram", "learned_unigram", "log_uniform", "uniform")
    },
    **{f"io.{kind}_base64": ("graphflow", f"{kind}_base64") for kind in ("encode", "decode")},
    **{f"io.{name}": ("graphflow.train", name) for name in ("match_filenames_once", "write_graph")},
    **{f"math.is_{name}": ("graphflow", f"is_{name}") for name in ("non_decreasing", "strictly_increasing")},
    **{
        f"sparse.segment_{kind}": ("graphflow", f"sparse_segment_{kind}")
        for kind in ("mean", "sum", "sqrt_n")
    },
    "get_logger": ("graphflow.logging", "get_logger"),
    **{
        f"contrib.framework.{name}": ("graphflow.as_tensorflow.deprecation", name)
        for name in ("deprecated", "deprecated_args", "deprecated_arg_values")
    },
    **{
        f"distribute.{name}": ("graphflow.distribute", ours)
        for name, ours in (
            ("ReplicaContext", "TowerContext"),
            ("StrategyExtended", "Strategy"),
            ("CrossDeviceOps", "Reducer"),
            ("HierarchicalCopyAllReduce", "HierarchicalReducer"),
            ("NcclAllReduce", "RingReducer"),
        )
    },
    "train.checkpoints_iterator": ("graphflow.contrib.training", "checkpoints_iterator"),
    "distribute.Server": ("graphflow.train", "Server"),
    "summary.initialize": ("graphflow.contrib.summary", "initialize"),
    "get_static_value": ("graphflow.contrib.util", "constant_value"),
    "no_gradient": ("graphflow", "NoGradient"),
    "data.experimental.map_and_batch_with_legacy_function": ("graphflow.data.experimental", "map_and_batch"),
    "pack": ("graphflow", "stack"),
    "unpack": ("graphflow", "unstack"),
    "mul": ("graphflow", "multiply"),
    "sub": ("graphflow", "subtract"),
    "neg": ("graphflow", "negative"),
    "inv": ("graphflow", "reciprocal"),
    "complex_abs": ("graphflow", "abs"),
    "concat_v2": ("graphflow", "concat"),
    "merge_summary": ("graphflow.summary", "merge"),
    "merge_all_summaries": ("graphflow.summary", "merge_all"),
    "initialize_all_tables": ("graphflow", "tables_initializer"),
    "train.SummaryWriter": ("graphflow.summary", "FileWriter"),
}
"""Single names that have another name here; the last ones are those of before 1.0."""
