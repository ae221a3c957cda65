"""Protects the simulated cluster: steps whose times can be worked out take them, and rounds go as real ones do."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from graphflow._core.simulation import rounds as rounds_module
from graphflow._core.simulation.cluster_run import ClusterRun
from graphflow._core.simulation.machine import MessageCosts, SimulatedCluster
from graphflow._core.simulation.pictures import svg, text_plot
from graphflow._core.simulation.planned import Contribution, PlannedStep, Round, Stage
from graphflow._core.simulation.report import Simulation, simulated

FREE = MessageCosts(
    step=0, own_step=0, stage=0, send=0, receive=0, wake=0, contribution=0, thread_switch=0, network_message=0,
    network_rate=1e15, interrupt_rate=1e15, shared_rate=1e15, reduce_rate=1e15, unevenness=0, payload=1,
)  # fmt: skip
OWN = "/job:worker/replica:0/task:0"
MB = 1_000_000


def _device(task: str) -> str:
    return f"{task}/device:CPU:0"


def _ps(index: int) -> str:
    return f"/job:ps/replica:0/task:{index}"


def pull(size: int, computes: float = 0.0, pushes: int = 0) -> PlannedStep:
    """A step in which a worker gets `size` bytes of a ps, computes, and sends some back."""
    first = Stage("read", _device(_ps(0)), sends=((OWN, (0,), size),))
    last = Stage("update", _device(_ps(0)), receives=(1,))
    sends = ((_ps(0), (1,), pushes),) if pushes else ()
    work = Stage("train", _device(OWN), seconds=computes, receives=(0,), sends=sends)
    return PlannedStep(OWN, {
        OWN: {_device(OWN): [work]},
        _ps(0): {_device(_ps(0)): [first, last] if pushes else [first]},
    })  # fmt: skip


def run(step: PlannedStep, cluster: SimulatedCluster, steps: int = 10, replicated: bool = True) -> Simulation:
    return simulated(step, cluster, replicated, steps)


def test_a_step_of_one_worker_is_the_sum_of_what_it_does() -> None:
    cluster = SimulatedCluster(1, 1, link="1Gbit", latency="1ms", costs=FREE)
    found = run(pull(50_000, computes=0.02), cluster)
    # The word to begin is on the way for 1 ms, and so is the value, whose bytes take 0.4 ms; then 20 ms of work.
    assert found.step_seconds == pytest.approx(1e-3 + 1e-3 + 0.4e-3 + 20e-3, rel=1e-3)


def test_a_message_is_on_both_links_at_once() -> None:
    found = run(pull(125 * MB), SimulatedCluster(1, 1, link="1Gbit", costs=FREE))
    assert found.step_seconds == pytest.approx(1.0, rel=0.01)


def test_headers_take_their_part_of_a_link() -> None:
    found = run(pull(125 * MB), SimulatedCluster(1, 1, link="1Gbit", costs=replace(FREE, payload=0.8)))
    assert found.step_seconds == pytest.approx(1 / 0.8)


def test_workers_share_the_link_of_a_ps() -> None:
    found = run(pull(125 * MB), SimulatedCluster(1, 10, link="1Gbit", costs=FREE))
    assert found.steps_per_second == pytest.approx(1.0, rel=0.05)
    assert found.usage[0].name == "ps 0's outgoing link" and found.usage[0].share > 0.95
    assert found.bottleneck.startswith("Ps 0's outgoing link is full")
    assert "with 10 ps it would be the chain of what a worker computes" in found.bottleneck


def test_workers_keep_no_rhythm_that_depends_on_how_they_began() -> None:
    """Four of them leave links idle now and then: mean value analysis of such a closed network says 7.8 steps a second.

    If all got the same of a link, they would make 6.9 or 9.2 for ever, as they have begun.
    """
    step, costs = pull(12_500_000, computes=0.05, pushes=12_500_000), replace(FREE, unevenness=0.25)
    cluster = SimulatedCluster(1, 4, link="1Gbit", costs=costs)
    found = [simulated(step, cluster, True, 200, seed).steps_per_second for seed in (0, 1, 2, 0)]
    assert found == pytest.approx([7.8] * 4, rel=0.08) and found[0] == found[3]


def test_tasks_of_one_host_share_its_cores_and_hand_values_over() -> None:
    cluster = SimulatedCluster(1, 4, link="1Gbit", hosts=1, cores=2, costs=FREE)
    found = run(pull(125 * MB, computes=0.1), cluster)
    assert found.step_seconds == pytest.approx(0.2, rel=0.02)
    assert found.usage[0].name == "host 0's processors"
    apart = SimulatedCluster(1, 4, link="1Gbit", hosts=1, cores=2, costs=FREE, shares_memory=False)
    assert run(pull(125 * MB, computes=0.1), apart).step_seconds == pytest.approx(4.0, rel=0.01)


def test_a_faster_job_computes_faster() -> None:
    cluster = SimulatedCluster(1, 1, costs=FREE, speed={"worker": 4.0})
    assert run(pull(0, computes=0.02), cluster).step_seconds == pytest.approx(0.005, rel=0.01)


def test_messages_take_the_thread_of_the_sockets_one_after_the_other() -> None:
    costs = MessageCosts(**{**vars_of(FREE), "receive": 1e-3})
    found = run(pull(0), SimulatedCluster(1, 20, costs=costs, cores=8))
    assert found.steps_per_second == pytest.approx(1000, rel=0.05)
    assert found.usage[0].name == "ps 0's thread of messages"


def test_a_message_between_hosts_takes_cores_at_both_ends_and_the_thread_that_brings_it_there() -> None:
    costs = MessageCosts(**{**vars_of(FREE), "network_message": 1e-3})
    # The word to begin and the value: each is brought to the network, and taken from it.
    assert run(pull(0), SimulatedCluster(1, 1, costs=costs)).step_seconds == pytest.approx(4e-3, rel=0.01)
    crowd = run(pull(0), SimulatedCluster(1, 20, costs=costs, cores=8))
    assert crowd.steps_per_second == pytest.approx(500, rel=0.05)
    assert crowd.usage[0].name == "ps 0's thread of the network"
    near = SimulatedCluster(1, 1, hosts=1, costs=costs)
    assert run(pull(0, computes=0.01), near).step_seconds == pytest.approx(0.01, rel=0.01)


def test_bytes_of_the_network_take_cores_in_interrupts_beside_the_thread_that_brings_them_there() -> None:
    costs = MessageCosts(**{**vars_of(FREE), "interrupt_rate": 100 * MB})
    found = run(pull(100 * MB), SimulatedCluster(1, 4, hosts=1, cores=2, shares_memory=False, costs=costs))
    assert found.step_seconds == pytest.approx(4 * 2.0 / 2, rel=0.02)  # Two cores take each byte twice.
    assert found.usage[0].name == "host 0's processors"


def vars_of(costs: MessageCosts) -> dict[str, float]:
    return {name: getattr(costs, name) for name in MessageCosts.__dataclass_fields__}


@pytest.mark.parametrize(
    ("cores", "threads", "divisible", "seconds"),
    [
        (2, None, 1.0, 0.05),
        (2, None, 0.5, 0.075),
        (2, 1, 1.0, 0.1),
        (4, None, 1.0, 0.025),
        (4, 2, 1.0, 0.05),
        (2, None, 0.0, 0.1),
    ],
)
def test_as_much_of_a_stage_as_can_be_is_divided_among_the_cores_of_its_host(
    cores: int, threads: int | None, divisible: float, seconds: float
) -> None:
    work = Stage("train", _device(OWN), seconds=0.1, divisible=divisible)
    cluster = SimulatedCluster(0, 1, cores=cores, threads=threads, costs=FREE)
    found = run(PlannedStep(OWN, {OWN: {_device(OWN): [work]}}), cluster)
    assert found.step_seconds == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize(("workers", "each"), [(2, 0.1), (4, 2 * 0.15)])
def test_tasks_that_outnumber_the_cores_of_their_host_take_caches_from_each_other(
    workers: int, each: float
) -> None:
    work = Stage("train", _device(OWN), seconds=0.1, crowded=0.05)
    cluster = SimulatedCluster(0, workers, cores=2, hosts=1, costs=FREE)
    found = run(PlannedStep(OWN, {OWN: {_device(OWN): [work]}}), cluster)
    assert found.step_seconds == pytest.approx(each, rel=0.02)


@pytest.mark.parametrize(("workers", "change"), [(4, 0.04), (8, 0.08), (1, 0.01)])
def test_rows_of_a_round_are_those_of_all_its_workers(workers: int, change: float) -> None:
    step = rounds(4, 4, 0.1).for_workers(workers)
    for stage in step.all_stages():
        if stage.claims:
            stage.seconds, stage.rows_of = 0.04, 4
    found = run(step, SimulatedCluster(1, workers, costs=FREE))
    assert found.step_seconds == pytest.approx(0.1 + change, rel=0.01)


def rounds(needed: int, total: int, computes: float) -> PlannedStep:
    """A step of synchronous training: its ps begins the round, takes the gradient, waits, and makes the change."""
    place, device = Round("sync", needed, total), _device(_ps(0))
    stages = [
        Stage("begin", device, begins=place, sends=((OWN, (0,), 8),)),
        Stage("push", device, receives=(1,)),
        Stage("arrive", device, blocks=True, arrives=place),
        Stage("change", device, seconds=0.01, again=0.0, claims=True, advances=True),
    ]
    work = Stage("train", _device(OWN), seconds=computes, receives=(0,), sends=((_ps(0), (1,), 8),))
    return PlannedStep(OWN, {OWN: {_device(OWN): [work]}, _ps(0): {device: stages}})


def test_a_round_waits_for_all_and_is_applied_once() -> None:
    cluster = SimulatedCluster(1, 4, costs=FREE, stragglers=None)
    found = run(rounds(4, 4, 0.1), cluster)
    assert found.step_seconds == pytest.approx(0.11, rel=0.01)
    assert found.steps_per_second == pytest.approx(1 / 0.11, rel=0.01)
    assert found.late == 0


def test_backup_workers_make_rounds_of_stragglers_shorter_and_some_come_late() -> None:
    def cluster(workers: int) -> SimulatedCluster:
        return SimulatedCluster(1, workers, costs=FREE, stragglers="exponential:0.5")

    without = run(rounds(8, 8, 0.1), cluster(8), 60)
    backed = run(rounds(8, 10, 0.1), cluster(10), 60)
    assert backed.steps_per_second > 1.15 * without.steps_per_second
    assert without.late == 0 and 0.05 < backed.late < 0.25


def test_another_number_of_workers_keeps_the_backups() -> None:
    step = rounds(8, 10, 0.1).for_workers(4)
    assert {s.arrives for s in step.all_stages() if s.arrives} == {Round("sync", 2, 4)}


def group(size: int, members: int) -> PlannedStep:
    what = Contribution("1/1", size, members)
    stages = [
        Stage("gradients", _device(OWN), seconds=0.01, brings=("1/1",)),
        Stage("sum", _device(OWN), awaits=(what,)),
    ]
    return PlannedStep(OWN, {OWN: {_device(OWN): stages}}, alone=True)


def test_an_allreduce_takes_each_link_twice_the_value_whatever_the_number_of_members() -> None:
    for members in (2, 4, 16):
        found = run(group(125 * MB, members), SimulatedCluster(0, members, link="1Gbit", costs=FREE))
        share = (members - 1) / members
        # Each member sends its shares, and then its sum.
        assert found.step_seconds - 0.01 == pytest.approx(2 * share, rel=0.1)
        assert found.steps_per_second == pytest.approx(1 / found.step_seconds, rel=0.1)


def exchanged(members: int, **more: Any) -> Simulation:
    what = Contribution("sum", 40 * MB, members)
    begin = Stage("work", _device(OWN), seconds=0.05, brings=("sum",))
    step = PlannedStep(
        OWN, {OWN: {_device(OWN): [begin, Stage("sum", _device(OWN), awaits=(what,))]}}, alone=True
    )
    return run(step, SimulatedCluster(0, members, latency="50us", **more))


@pytest.mark.parametrize(
    "more",
    [
        {"link": "10Gbit"},
        {"link": "100Mbit", "hosts": 10, "cores": 4},
        {"hosts": 1, "cores": 8},
        {"stragglers": "lognormal:0.1"},
    ],
)
def test_what_many_members_exchange_takes_as_long_as_its_messages_one_by_one(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one_by_one = exchanged(20, **more).step_seconds
    monkeypatch.setattr(rounds_module, "_MANY", 2)
    assert exchanged(20, **more).step_seconds == pytest.approx(one_by_one, rel=0.06)


def test_a_thousand_members_are_soon_simulated() -> None:
    begun = time.process_time()
    assert exchanged(1000, link="10Gbit").step_seconds > 0.05
    assert time.process_time() - begun < 60


def test_what_is_waited_for_is_said() -> None:
    slow = exchanged(8, stragglers=lambda random: 5.0 if random.random() < 0.2 else 1.0)
    assert re.search(
        r"A round takes \d+ ms on average, for about 1\d\d ms of which it waits for the slowest",
        slow.bottleneck,
    )
    assert "waits" not in exchanged(8).bottleneck


def test_a_variable_that_no_number_of_ps_makes_smaller_is_named() -> None:
    def text(largest: int) -> str:
        step = pull(100 * MB, computes=0.01, pushes=1)
        step.stages[_ps(0)][_device(_ps(0))][0].largest = largest * MB
        return run(step, SimulatedCluster(1, 20, link="1Gbit", costs=FREE)).bottleneck

    assert "more ps would change little: one variable is 95% of what ps 0 sends, and may be" in text(95)
    assert "with 2 ps it would be that of the largest variable, which is 60% of what ps 0 sends" in text(60)
    assert "largest" not in text(2)


def test_what_cannot_go_on_is_said() -> None:
    with pytest.raises(RuntimeError, match="came to rest"):
        run(rounds(3, 3, 0.1), SimulatedCluster(1, 2, costs=FREE))


def test_the_same_seed_gives_the_same_figures() -> None:
    cluster = SimulatedCluster(1, 6, link="1Gbit", stragglers="lognormal:0.3")
    first, second = (run(pull(MB, 0.01, MB), cluster) for _ in range(2))
    assert (first.step_seconds, first.usage) == (second.step_seconds, second.usage)


def test_one_client_for_all_is_one_step_after_the_other() -> None:
    found = run(pull(0, computes=0.02), SimulatedCluster(1, 3, costs=FREE), replicated=False)
    assert found.steps_per_second == pytest.approx(50, rel=0.01)
    with pytest.raises(ValueError, match=r"call gf\.distribute\.simulate for each"):
        found.over_workers([1, 2])


def test_the_trace_is_for_chrome() -> None:
    found = run(pull(MB, 0.01, MB), SimulatedCluster(1, 2, link="1Gbit"))
    events = json.loads(found.chrome_trace(2))["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {
        "ps 0",
        "worker 0",
        "worker 1",
    }
    assert {"train", "read", "update"} <= {e["name"] for e in spans}
    assert {e["cat"] for e in spans} == {"CPU:0", "step", "link out", "link in"}
    rows: dict[object, float] = {}
    for event in sorted(spans, key=lambda e: e["ts"]):
        row = event["pid"], event["tid"]
        assert event["dur"] >= 0 and event["ts"] >= rows.get(row, 0.0) - 1e-3, "spans of one row lie apart"
        rows[row] = event["ts"] + event["dur"]


def test_the_page_and_the_plots_show_each_number_of_workers() -> None:
    found = run(pull(MB, 0.01, MB), SimulatedCluster(1, 4, link="1Gbit"))
    points = found.over_workers([1, 2, 4])
    assert [p.workers for p in points] == [1, 2, 4]
    assert points[2].steps_per_second == pytest.approx(found.steps_per_second, rel=0.02)
    assert len(found.plot(points).splitlines()) == 4
    page = found.html(points)
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "<script" not in page
    picture = ElementTree.fromstring(svg([(p.workers, p.steps_per_second) for p in points]))
    assert len(picture.findall(".//{*}circle")) == 3
    crowded = ElementTree.fromstring(svg([(n, float(n)) for n in (1, 2, 4, 64)]))
    labels = [e.text for e in crowded.findall(".//{*}text") if e.get("y") == "328"]
    assert labels in (["4", "64"], ["1", "4", "64"]), "1 and 2 would be read as 12"
    assert text_plot([(1, 2.0), (1000, 4.0)]).splitlines()[-1].startswith("  1,000")


def test_gpus_compute_beside_the_cores() -> None:
    device = f"{OWN}/device:GPU:0"
    stages = {OWN: {device: [Stage("train", device, seconds=0.05)]}}
    found = run(PlannedStep(OWN, stages), SimulatedCluster(0, 1, costs=FREE))
    assert found.step_seconds == pytest.approx(0.05, rel=0.01)
    assert found.usage[0].name == "worker 0's GPU" and found.usage[0].share > 0.95
    assert sum(u.share for u in found.usage if u.kind == "processors") < 0.01


def test_many_workers_are_soon_simulated() -> None:
    run_ = ClusterRun(pull(MB, 0.01, MB), SimulatedCluster(1, 1000, link="10Gbit"), True)
    run_.run(2)
    assert sum(len(c.ended) for c in run_.clients) == 2000
