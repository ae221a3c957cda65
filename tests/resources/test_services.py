"""What the owner of a store gives to those who use it is no resource: no name can be taken for it, no reset ends it."""

from __future__ import annotations

from graphflow._core.resources.services import AbsentTasks
from graphflow._core.resources.store import ResourceStore


def test_who_is_absent_is_known_after_a_reset_and_is_no_resource() -> None:
    store = ResourceStore()
    store.absent.leaves("/job:worker/task:1", 2.0)
    store.absent.expect(["/job:worker/task:2"], 1.0)
    store.other("queue", list)
    assert list(store.others()) == ["queue"]
    store.reset(None)
    assert store.others() == {}
    assert list(store.absent.since(also_unmet=True)) == ["/job:worker/task:2", "/job:worker/task:1"]


def test_a_task_is_absent_from_when_it_was_awaited_or_left_until_it_comes() -> None:
    absent = AbsentTasks()
    absent.expect(["a", "b"], 1.0)
    assert absent.since(also_unmet=False) == {}
    absent.comes("a")
    absent.leaves("a", 2.0)
    assert absent.since(also_unmet=True) == {"a": 2.0, "b": 1.0}
    assert set(absent.since(also_unmet=False)) == {"a"}
    absent.comes("b")
    absent.comes("a")
    assert absent.since(also_unmet=True) == {}


def test_what_was_read_does_not_change_while_tasks_come_and_go() -> None:
    absent = AbsentTasks()
    absent.leaves("a", 1.0)
    found = absent.since(also_unmet=False)
    absent.comes("a")
    assert set(found) == {"a"}
