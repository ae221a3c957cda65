"""graphflow's graphs of the programs in graph_programs, written for TensorFlow to read; see record_graphs.py."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

import graphflow as gf
from tests.oracle import graph_programs


def as_arrays(feeds: Any, fetched: Any) -> Any:
    arrays = {f"feed {k}": np.asarray(v) for k, v in feeds.items()}
    for key, value in fetched.items():
        array = np.asarray(value)
        if array.dtype.kind in "OS":
            array = np.asarray(value, object)
            array = np.array([t.hex() for t in array.reshape(-1)]).reshape(array.shape)
        arrays[f"fetch {key}"] = array
    return arrays


def write(folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    for name, program in graph_programs.FROZEN.items():
        with gf.Graph().as_default() as graph, gf.Session() as session:
            feeds, fetches = program(gf)
            session.run(gf.global_variables_initializer())
            results = dict(zip(fetches, session.run(fetches, feeds)))
            outputs = sorted({f.split(":")[0] for f in fetches})
            frozen = gf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), outputs)
        with open(os.path.join(folder, f"{name}.pb"), "wb") as file:
            file.write(frozen.SerializeToString())
        np.savez_compressed(os.path.join(folder, f"{name}.npz"), **as_arrays(feeds, results))
    for name, program in graph_programs.TRAINED.items():
        with gf.Graph().as_default(), gf.Session() as session:
            feeds, fetches = program(gf)
            fetches = [f.replace("/Read/ReadVariableOp", "") for f in fetches]
            session.run(gf.global_variables_initializer())
            rounds = []
            for _ in range(3):
                rounds.append(session.run(fetches, feeds))
                session.run("train", feeds)
            gf.train.export_meta_graph(os.path.join(folder, f"{name}.meta"))
        stacked = {k: np.stack([r[i] for r in rounds]) for i, k in enumerate(fetches)}
        np.savez_compressed(os.path.join(folder, f"{name}.npz"), **as_arrays(feeds, stacked))


if __name__ == "__main__":
    write(sys.argv[1])
