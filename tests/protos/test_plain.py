"""Protects the options of sessions as protobuf messages: what programs of TensorFlow call on them, and its bytes.

Bytes and texts are what TensorFlow 1.15.5 wrote.
"""

from __future__ import annotations

import copy
import pickle

import pytest
from google.protobuf import json_format, text_format

import graphflow as gf
from graphflow import protos
from graphflow.config import RPCOptions


def filled() -> gf.ConfigProto:
    config = gf.ConfigProto(
        allow_soft_placement=True,
        intra_op_parallelism_threads=2,
        device_count={"GPU": 0},
        gpu_options=gf.GPUOptions(allocator_type="BFC", per_process_gpu_memory_fraction=0.25),
    )
    config.gpu_options.allow_growth = True
    config.graph_options.optimizer_options.global_jit_level = gf.OptimizerOptions.ON_1
    config.graph_options.rewrite_options.optimizers.extend(["a"])
    config.graph_options.rewrite_options.auto_parallel.enable = True
    config.device_filters.append("/job:ps")
    config.device_filters.extend(["/job:worker/task:1"])
    config.cluster_def.CopyFrom(gf.train.ClusterSpec({"a": ["h:1"]}).as_cluster_def())
    config.session_inter_op_thread_pool.add().num_threads = 3
    config.experimental.collective_group_leader = "/job:w"
    config.rpc_options.use_rpc_for_inprocess_master = True
    config.device_count["CPU"] = 3
    return config


def test_messages_are_written_read_copied_and_compared() -> None:
    config = filled()
    written = config.SerializeToString()
    assert gf.ConfigProto.FromString(written) == config and config.ByteSize() == len(written)
    real = protos.config_pb2.ConfigProto.FromString(written)
    assert real.gpu_options.allocator_type == "BFC" and dict(real.device_count) == {"GPU": 0, "CPU": 3}
    assert real.session_inter_op_thread_pool[0].num_threads == 3 and real.cluster_def.job[0].tasks[0] == "h:1"
    for how in ("CopyFrom", "MergeFrom"):
        for given in (config, real):
            made = gf.ConfigProto()
            getattr(made, how)(given)
            assert made == config
    assert copy.deepcopy(config) == config and pickle.loads(pickle.dumps(config)) == config
    other = gf.ConfigProto(inter_op_parallelism_threads=4)
    other.ParseFromString(written)
    assert other == config
    other.MergeFrom(gf.ConfigProto(intra_op_parallelism_threads=7))
    assert other.intra_op_parallelism_threads == 7 and other.allow_soft_placement
    assert {field.name for field, _ in config.ListFields()} >= {"cluster_def", "device_count", "rpc_options"}


def test_bytes_and_text_are_those_of_tensorflow() -> None:
    config = gf.ConfigProto(allow_soft_placement=True, gpu_options=gf.GPUOptions(allow_growth=True))
    assert config.SerializeToString() == b"2\x02 \x018\x01"
    text = "gpu_options {\n  allow_growth: true\n}\nallow_soft_placement: true\n"
    assert str(config) == text == text_format.MessageToString(config)
    assert text_format.Parse(text + "device_count {key: 'CPU' value: 2}", gf.ConfigProto()).device_count == {
        "CPU": 2
    }
    assert json_format.MessageToDict(config) == {
        "gpuOptions": {"allowGrowth": True},
        "allowSoftPlacement": True,
    }


def test_presence_and_defaults() -> None:
    config = filled()
    assert config.HasField("gpu_options") and not gf.ConfigProto().HasField("graph_options")
    assert not gf.ConfigProto().HasField("experimental") and config.HasField("cluster_def")
    config.ClearField("device_filters")
    assert config.device_filters == [] and config.IsInitialized()
    config.Clear()
    assert config == gf.ConfigProto()
    for wrong in ("allow_soft_placement", "nothing"):
        with pytest.raises(ValueError, match=wrong):
            config.HasField(wrong)
    with pytest.raises(ValueError, match="nothing"):
        config.ClearField("nothing")
    with pytest.raises(TypeError, match="expected ConfigProto got GPUOptions"):
        config.CopyFrom(gf.GPUOptions())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="oneof"):
        config.WhichOneof("a")


def test_a_misspelt_field_is_an_error() -> None:
    config = gf.ConfigProto()
    with pytest.raises(AttributeError, match="Did you mean 'allow_growth'"):
        config.gpu_options.alow_growth = True  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="bool"):
        config.allow_soft_placement = "yes"  # type: ignore[assignment]
    with pytest.raises(TypeError, match="intra_op_parallelism_threads"):
        gf.ConfigProto(intra_op_parallelism_threads="2")  # type: ignore[arg-type]


def test_own_options_are_copied() -> None:
    config = gf.ConfigProto()
    config.CopyFrom(gf.ConfigProto(compiled="never", verify_compiled=False))
    assert (config.compiled, config.verify_compiled) == ("never", False)


@pytest.mark.parametrize(
    "kind", [gf.GPUOptions, gf.GraphOptions, gf.OptimizerOptions, gf.RunOptions, RPCOptions]
)
def test_every_kind_of_option_is_written(kind: type[gf.GPUOptions]) -> None:
    assert kind.FromString(kind().SerializeToString()) == kind()
    assert kind.DESCRIPTOR.name == kind.__name__


def test_servers_and_clusters_are_written() -> None:
    cluster = gf.train.ClusterSpec({"ps": ["a:1"], "worker": {1: "b:2"}}).as_cluster_def()
    assert type(cluster).FromString(cluster.SerializeToString()) == cluster
    server = gf.train.ServerDef(cluster=cluster, job_name="ps", task_index=0)
    server.default_session_config.allow_soft_placement = True
    again = gf.train.ServerDef.FromString(server.SerializeToString())
    assert again == server and again.cluster.job[1].tasks == {1: "b:2"}


def test_a_record_of_a_run_is_read_again() -> None:
    metadata = gf.RunMetadata()
    with gf.Session() as session:
        product = gf.matmul(
            gf.placeholder_with_default(gf.ones([2, 2]), [2, 2]), gf.ones([2, 2]), name="product"
        )
        session.run(
            product, options=gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE), run_metadata=metadata
        )
    assert metadata.HasField("step_stats")
    again = gf.RunMetadata.FromString(metadata.SerializeToString())
    node = next(n for n in again.step_stats.nodes() if n.node_name == "product")
    assert (node.op, node.outputs[0].dtype, node.outputs[0].shape) == ("MatMul", "float32", (2, 2))
