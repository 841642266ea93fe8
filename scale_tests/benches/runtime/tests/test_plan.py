"""The jobs of a run, and their plan for the Erlang side."""

from collections import Counter

from scale_tests.benches.runtime import plan


def test_a_full_run_repeats_jobs_with_targets_five_times() -> None:
    chosen = plan.plan(quick=False, controls=["reno"])
    jobs = plan.throughput(chosen, rtt_ms=0, congestion="reno")
    points = Counter(
        (job.system.label, job.settings["payload"], job.settings["channel"])
        for job in jobs
        if job.settings["pairs"] == 128
        and job.settings["affinity"]
        and job.system.flags.name == "release"
    )
    systems = {("ours", 1), ("ours", 16), ("raw", 1), ("raw", 16), ("disterl", 1)}
    assert points == {
        (f"{system}_release", payload, f"lanes_{lanes}"): 5
        for system, lanes in systems
        for payload in (1024, 65536, 524288, 8388608)
    }
    assert {rtt for rtt, _ in chosen.wires} == {0, 1, 20}


def test_a_near_miss_is_measured_ten_times() -> None:
    chosen = plan.plan(quick=False, controls=["reno"])
    jobs = plan.again(chosen, [(65536, 16)], ping=True, rtt_ms=1)
    found = Counter((job.settings["experiment"], job.system.label, job.attempt) for job in jobs)
    assert found == {
        ("throughput", "ours_release", 1): 10,
        ("throughput", "raw_release", 1): 10,
        ("throughput", "disterl_release", 1): 10,
        ("ping", "ours_release", 1): 10,
        ("ping", "raw_release", 1): 10,
    }


def test_the_systems_take_turns() -> None:
    chosen = plan.plan(quick=True, controls=[])
    names = [job.system.name for job in plan.throughput(chosen, rtt_ms=0, congestion="reno")]
    assert names[:5] == ["ours", "disterl", "raw", "ours", "raw"]


def test_another_congestion_control_is_measured_where_the_kernel_has_it() -> None:
    assert {c for _, c in plan.plan(quick=True, controls=["bbr"]).wires} == {"reno", "bbr"}
    assert {c for _, c in plan.plan(quick=True, controls=["cubic"]).wires} == {"reno"}


def test_windows_have_time_to_grow() -> None:
    chosen = plan.plan(quick=True, controls=[])
    near, far = (
        plan.throughput(chosen, rtt_ms=rtt_ms, congestion="reno")[0].settings["milliseconds"]
        for rtt_ms in (0, 20)
    )
    assert (near, far) == (1000, 3000)
