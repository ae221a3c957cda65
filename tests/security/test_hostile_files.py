"""Protects: a file that somebody else has made is data. It writes nothing, removes nothing and runs nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.plan.encode import BadPlan, PlanReader, PlanWriter
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.runtime.agreement import report
from graphflow.cli.main import main


def writing_plan(path: str) -> tuple[Plan, list[Any]]:
    """A plan that writes a file, and what is fed to it."""
    with gf.Graph().as_default():
        names = [gf.placeholder(gf.string, [], name=n) for n in ("f", "c")]
        x = gf.placeholder(gf.float32, [1], name="x")
        watched: list[Plan] = []
        with gf.Session() as session:
            session.plan(
                [gf.write_file(*names), x * 2.0],
                [*names, x],
                watch=lambda name, plan: watched.append(plan),
            )
    fed = {"f:0": path.encode(), "c:0": b"owned", "x:0": np.ones(1, np.float32)}
    return watched[-1], [fed[name] for name in watched[-1].feeds]


DISGUISES: list[Callable[[Instruction], Instruction]] = [
    lambda i: i,
    lambda i: replace(i, bodies=(Plan((), (), (), ()),)),
    lambda i: replace(i, definition=None),
    lambda i: replace(i, definition=None, bodies=(Plan((), (), (), ()), Plan((), (), (), ()))),
]


@pytest.mark.parametrize("disguise", DISGUISES)
def test_replaying_a_file_writes_nothing(
    tmp_path: Path, disguise: Callable[[Instruction], Instruction], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`graphflow replay` runs what only computes; what an instruction may do cannot be hidden in the file."""
    target = tmp_path / "target"
    plan, feeds = writing_plan(str(target))
    plan = plan.with_instructions([disguise(i) if i.type == "WriteFile" else i for i in plan.instructions])
    found = SimpleNamespace(
        plan=plan,
        left=SimpleNamespace(feeds=feeds),
        variables=SimpleNamespace(before={}),
        tape=SimpleNamespace(results={}),
        random={},
    )
    monkeypatch.setattr(report, "plain_plan", lambda plan: plan)
    with open(tmp_path / "file.npz", "wb") as file:
        report.save(file, found, {})  # type: ignore[arg-type]
    try:
        main(["replay", str(tmp_path / "file.npz")])
    except gf.errors.OpError as error:
        assert "was called more often" in str(error)
    assert not target.exists()


def test_a_plan_from_elsewhere_cannot_hide_what_its_instructions_do(tmp_path: Path) -> None:
    plan, _ = writing_plan(str(tmp_path))
    for number, disguise in enumerate(DISGUISES):
        writer = PlanWriter()
        tree = writer.plan(
            plan.with_instructions([disguise(i) if i.type == "WriteFile" else i for i in plan.instructions])
        )
        reader = PlanReader(writer.arrays)
        if not number:
            assert len(reader.plan(tree).instructions) == len(plan.instructions)
            continue
        with pytest.raises(BadPlan, match="none that a plan can have"):
            reader.plan(tree)


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"\x93NUMPY\1\0\xff\xff", b"no file of ours"])
def test_replaying_what_is_no_such_file_says_so(tmp_path: Path, content: bytes, capsys: Any) -> None:
    (tmp_path / "file").write_bytes(content)
    assert main(["replay", str(tmp_path / "file")]) == 2
    assert "no file of a disagreement" in capsys.readouterr().err
    np.savez(tmp_path / "other.npz", a=np.arange(3))
    assert main(["replay", str(tmp_path / "other.npz")]) == 2
    assert "no file of a disagreement" in capsys.readouterr().err


@pytest.mark.parametrize("outside", ["absolute", "above", "link"])
def test_old_checkpoints_are_removed_from_the_folder_that_names_them_and_from_nowhere_else(
    tmp_path: Path, outside: str
) -> None:
    """The `checkpoint` file of a folder from elsewhere names a file of the user's as its oldest checkpoint."""
    folder, precious = tmp_path / "training", tmp_path / "precious"
    folder.mkdir()
    precious.mkdir()
    with gf.Graph().as_default(), gf.Session() as session:
        gf.Variable(1.0, name="v")
        gf.train.get_or_create_global_step()
        session.run(gf.global_variables_initializer())
        gf.train.Saver().save(session, str(folder / "model.ckpt-1"))
        mine = gf.train.Saver().save(session, str(precious / "mine"), latest_filename="other")
    assert Path(mine + ".safetensors").exists()
    named = {"absolute": mine, "above": "../precious/mine", "link": "link/mine"}[outside]
    (folder / "link").symlink_to(precious)
    (folder / "checkpoint").write_text(
        'model_checkpoint_path: "model.ckpt-1"\n'
        f'all_model_checkpoint_paths: "{named}"\nall_model_checkpoint_paths: "model.ckpt-1"\n'
    )
    with gf.Graph().as_default():
        v = gf.Variable(1.0, name="v")
        step = gf.train.get_or_create_global_step()
        train = gf.group(v.assign_add(1.0), step.assign_add(1))
        scaffold = gf.train.Scaffold(saver=gf.train.Saver(max_to_keep=1))
        with gf.train.MonitoredTrainingSession(
            checkpoint_dir=str(folder), scaffold=scaffold, save_checkpoint_steps=1, save_summaries_steps=None
        ) as session:
            for _ in range(4):
                session.run(train)
    assert Path(mine + ".safetensors").exists()
    kept = [p.name for p in folder.glob("*.safetensors")]
    assert len(kept) == 1 and "model.ckpt-1.safetensors" not in kept


def test_a_cache_of_a_dataset_follows_no_link_that_waits_for_it(tmp_path: Path) -> None:
    """In a folder that others may write, under the name that the unfinished file had in earlier versions."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in (f"cache.npz.{os.getpid()}.tmp", "cache.npz.tmp", "cache.npz"):
        (tmp_path / name).symlink_to(victim)
    (tmp_path / "cache.npz").unlink()
    dataset = lambda: gf.data.Dataset.range(3).cache(str(tmp_path / "cache"))  # noqa: E731
    for _ in range(2):
        with gf.Graph().as_default(), gf.Session() as session:
            element = dataset().make_one_shot_iterator().get_next()
            assert [session.run(element) for _ in range(3)] == [0, 1, 2]
            with pytest.raises(gf.errors.OutOfRangeError):
                session.run(element)
    assert victim.read_text() == "precious"
    assert stat.S_ISREG((tmp_path / "cache.npz").lstat().st_mode)


def test_a_graph_from_a_file_calls_no_python_function_of_this_process(tmp_path: Path) -> None:
    """Whatever it names: the functions that the program has made, by the names that they have in files."""
    called = []
    with gf.Graph().as_default() as graph:
        gf.py_func(lambda: called.append(1) or np.float32(1), [], gf.float32, name="mine")  # type: ignore[func-returns-value]
        proto = graph.as_graph_def()
        with gf.Session() as session:
            session.run("mine:0")
    assert called == [1]
    (node,) = (n for n in proto.node if n.name == "mine")
    for token in (node.attr["token"].s, b"pyfunc_0", b"os.system", b"builtins.exec"):
        node.attr["token"].s = token
        with gf.Graph().as_default(), gf.Session() as session:
            gf.import_graph_def(proto, name="")
            with pytest.raises(gf.errors.OpError, match="not in the file"):
                session.run("mine:0")
    assert called == [1]
