"""Plans for the Erlang side, and what a cell says."""

from dataclasses import replace

from scale_tests.host.wire import Host, Wire
from scale_tests.measure import systems
from scale_tests.measure.emulator import STOCK, release
from scale_tests.measure.systems import OURS, RAW, Job

LINE = Wire(
    rtt_ms=20,
    congestion="reno",
    hosts=(Host(ip="10.0.0.1", command=()), Host(ip="10.0.0.2", command=("ip", "netns"))),
    window=262144,
)


def test_the_plan_is_an_erlang_term() -> None:
    job = Job(
        system=replace(RAW, flags=STOCK), settings={"affinity": True, "pairs": 128}, repetition=0
    )
    assert systems.plan_text(LINE, [job]) == (
        "#{hosts => [#{ip => {10,0,0,1}, command => []}, "
        '#{ip => {10,0,0,2}, command => ["ip", "netns"]}], alive => all, '
        "systems => #{raw_stock => #{module => bench_raw, arguments => [], environment => [], "
        "nodes => 2, overlay => full_mesh}}, "
        "cells => [#{system => raw_stock, affinity => true, pairs => 128}]}.\n"
    )


def test_a_cell_says_all_that_its_figures_depend_on() -> None:
    job = Job(system=OURS, settings={}, repetition=3)
    cell = systems.labelled(job, LINE, {"channel": "lanes_16", "mb_per_s": 1.5, "system": "x"})
    assert cell == {
        "system": "ours",
        "flags": "release",
        "emulator_flags": " ".join(release().arguments),
        "attempt": 0,
        "lanes": 16,
        "rtt_ms": 20,
        "congestion": "reno",
        "window": 262144,
        "repetition": 3,
        "mb_per_s": 1.5,
    }


def test_a_system_may_have_channels_of_its_own() -> None:
    system = replace(RAW, flags=STOCK, channels=(("lanes_4", 4), ("single_1", 1)))
    text = systems.plan_text(LINE, [Job(system=system, settings={}, repetition=0)])
    assert "channels => [{lanes_4, 4}, {single_1, 1}]}" in text
