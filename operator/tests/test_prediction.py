"""Predictions: manifests, scenarios, the simulator's process, figures, and the command.

Over 300 lines: the cases share the simulator's results.
"""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from fake_kubectl import FakeKubectl, run
from partisan_operator.cli import main as entry
from partisan_operator.cli.access import CommandError
from partisan_operator.models import PartisanCluster
from partisan_operator.predict import Assumptions, manifest, predict, simulator
from partisan_operator.predict.figures import along_logarithm, power
from partisan_operator.predict.manifest import ManifestError
from partisan_operator.predict.prediction import combined
from partisan_operator.predict.scenario import Course, Scenario, counting_seconds, course
from partisan_operator.predict.simulator import Simulator, SimulatorError

MANIFEST = """
apiVersion: partisan.dev/v1alpha1
kind: PartisanCluster
metadata: {name: ads}
spec:
  replicas: REPLICAS
  workload:
    adCounter: {impressions: IMPRESSIONS, incrementInterval: 10s, propagationInterval: 5s}
    synchronization: State
"""


def text_of(replicas: int, increments: int = 180) -> str:
    return MANIFEST.replace("REPLICAS", str(replicas)).replace(
        "IMPRESSIONS", str(replicas * increments)
    )


def cluster(replicas: int, increments: int = 180) -> PartisanCluster:
    return manifest.load(text_of(replicas, increments))


def moment(at: float, payload: float) -> dict[str, Any]:
    return {
        "at_seconds": at,
        "payload_bytes": payload,
        "channels": {
            "overlay": {"messages": at, "bytes": 10 * at},
            "gossip": {"messages": payload / 100, "bytes": 2 * payload},
        },
    }


def simulated(nodes: int, *, counting: float = 120.0, warm: bool = True) -> dict[str, Any]:
    """Return the result for a cluster whose traffic per second is the square of its size."""
    start, rate = 10.0, float(nodes**2)
    moments = {
        "whole": moment(start - 1, 0.0),
        "started": moment(start, 100.0),
        "counted": moment(start + counting, 100 + rate * counting),
        "finished": moment(start + counting + 5, 100 + rate * (counting + 5)),
    }
    if warm:
        moments["warm"] = moment(start + 60, 100 + rate * 60)
    return {
        "nodes": nodes,
        "seed": 1,
        "join_seconds_median": 0.25,
        "join_seconds_most": 1.0,
        "whole_seconds": 0.5,
        "degree_mean": 5.0,
        "degree_least": 3,
        "degree_most": 6,
        "moments": moments,
        "run": {
            "value": nodes * counting / 10 + 8,
            "threshold": nodes * counting / 10,
            "running_seconds": counting + 5,
            "replica_bytes": 14 * nodes,
        },
    }


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("replicas: 8", "replicas: 0", "spec.replicas: Input should be greater than or equal to 1"),
        (
            "replicas: 8",
            'replicas: "8"',
            "spec.replicas: '8' is of another type than integer: write 8",
        ),
        ("replicas: 8", "replicas: true", "spec.replicas: True is of another type than integer"),
        ("replicas: 8", "paused: 1", "spec.paused: 1 is of another type than boolean: write true"),
        ("replicas: 8", "replicas: many", "spec.replicas: Input should be a valid integer"),
        ("replicas: 8", "replica: 8", "spec.replica: there is no such field: did you mean rep"),
        ("10s", "soon", "spec.workload.adCounter.incrementInterval: 'soon' is no duration"),
        ("10s", "30h", "incrementInterval: '30h' must be a duration between 10ms and 24h"),
        ("State", "Gossip", "spec.workload.synchronization: Input should be 'State'"),
        ("name: ads", "name: Ads", "metadata.name: 'Ads' must"),
        ("name: ads", "namespace: here", "metadata.name: give the cluster a name"),
        ("name: ads", "name: ads, namespace: [a]", "metadata.namespace: ['a'] must have at most"),
        ("name: ads", "name: ads, namespace: A", "metadata.namespace: 'A' must have at most 63"),
        ("v1alpha1", "v9", "apiVersion: 'partisan.dev/v9' is not partisan.dev/v1alpha1 or"),
        ("PartisanCluster", "Pod", "there are 0 objects of kind PartisanCluster"),
        ("replicas: 8", "replicas: [", "not YAML"),
        ("replicas: 8", "replicas: " + "[" * 1000, "not YAML"),
        ("replicas: 8", "replicas: 2026-99-99", "not YAML: month must be in 1..12"),
    ],
)
def test_errors_in_a_manifest_are_named(before: str, after: str, problem: str) -> None:
    text = text_of(8)
    assert before in text
    with pytest.raises(ManifestError, match="(?s)" + problem.replace("[", r"\[")) as error:
        manifest.load(text.replace(before, after))
    assert problem in str(error.value)


def test_a_manifest_of_either_version_is_the_same_cluster() -> None:
    text = text_of(8)
    assert manifest.load(text.replace("v1alpha1", "v1beta1")) == manifest.load(text)


def test_fields_in_lists_are_checked_too() -> None:
    text = text_of(8) + "  channels: [{name: default, lanes: 2}]\n"
    with pytest.raises(ManifestError, match=r"spec\.channels\[0\]\.lanes: there is no such field"):
        manifest.load(text)


def test_other_objects_in_the_manifest_are_ignored() -> None:
    text = "kind: Namespace\n---" + text_of(8)
    assert manifest.load(text).spec.replicas == 8


def only(wanted: Course) -> Scenario:
    """Return the only scenario there is."""
    assert wanted.overlay is None
    (run,) = wanted.runs
    return run


def test_a_small_cluster_is_simulated_to_its_end() -> None:
    wanted = course(cluster(16), Assumptions(), budget=60)
    run = only(wanted)
    assert (run.nodes, run.warm_seconds, run.missing_seconds) == (16, 0.0, 0.0)
    assert "replicas => 16" in run.config
    assert run.arguments(Assumptions(pods_per_second=4))["boot_gap_us"] == 250_000


def test_a_long_run_is_shortened() -> None:
    wanted = course(cluster(16, increments=1_000_000), Assumptions(), budget=60)
    run = only(wanted)
    assert run.nodes == 16
    assert run.warm_seconds == 60
    assert counting_seconds(run.cluster) == 120
    assert run.missing_seconds == 10_000_000 - 120


def test_a_large_cluster_is_predicted_from_smaller_ones_and_its_own_overlay() -> None:
    wanted = course(cluster(1000), Assumptions(), budget=30)
    assert wanted.overlay is not None
    assert wanted.overlay.nodes == 1000
    assert "workload => none" in wanted.overlay.config
    small, large = wanted.runs
    assert large.nodes == 2 * small.nodes < 1000
    assert counting_seconds(small.cluster) == pytest.approx(120, rel=0.01)


def test_a_cluster_that_cannot_shrink_is_simulated_at_full_size() -> None:
    edges = [[ordinal, ordinal + 1] for ordinal in range(999)]
    overlay = f"  overlay: {{kind: Static, static: {{edges: {edges}}}}}\n"
    wanted = course(manifest.load(text_of(1000) + overlay), Assumptions(), budget=1)
    assert only(wanted).nodes == 1000


def test_without_a_workload_there_is_one_scenario() -> None:
    text = text_of(1000).split("  workload")[0]
    assert only(course(manifest.load(text), Assumptions(), budget=1)).nodes == 1000


def test_the_rest_of_a_shortened_run_is_like_its_second_half() -> None:
    many = cluster(16, increments=1_000_000)
    wanted = course(many, Assumptions(), budget=60)
    found = combined(many, Assumptions(), wanted, None, [simulated(16)])
    assert found.bytes_payload == pytest.approx(100 + 256 * (10_000_000 + 5))
    assert found.channels["gossip"].bytes == pytest.approx(2 * found.bytes_payload)
    assert found.seconds_running == pytest.approx(10_000_005)
    assert found.simulated_share == pytest.approx(120 / 10_000_000)
    # Overcounting happens at the end, however long the run is.
    assert found.overcounting_percent == pytest.approx(100 * 8 / 16_000_000)
    assert not found.extrapolated


def test_traffic_grows_as_a_power_of_the_number_of_nodes() -> None:
    large = cluster(1024, increments=12)
    wanted = course(large, Assumptions(), budget=30)
    overlay = simulated(1024)
    overlay["moments"] = {"whole": moment(100, 0), "rested": moment(160, 0)}
    for each in overlay["moments"].values():
        del each["channels"]["gossip"]
    results = [simulated(run.nodes, warm=False) for run in wanted.runs]
    found = combined(large, Assumptions(), wanted, overlay, results)
    assert found.extrapolated
    assert found.bytes_payload == pytest.approx(100 + 1024**2 * 125)
    assert found.overlay_bytes_per_second == 10
    # The overlay's own, at its own size: 100 s of forming, a second, 120 s and 5 s.
    assert found.channels["overlay"].bytes == pytest.approx(10 * 226)


def test_quantities_of_other_sizes() -> None:
    assert power([16, 32], [10, 40], 64) == pytest.approx(160)
    assert power([32], [40], 32) == 40
    assert power([16, 32], [0, 40], 64) == 80
    assert along_logarithm([16, 32], [3, 4], 128) == pytest.approx(6)


def program(directory: Path, body: str) -> Path:
    """Make a simulator that is a shell script."""
    file = directory / simulator.PROGRAM
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return file


def answering(directory: Path) -> Path:
    result = directory / "result.json"
    result.write_text(json.dumps(simulated(8, counting=1800.0, warm=False)))
    return program(
        directory, f'cat > {directory}/config; echo "$@" > {directory}/said; cat {result}'
    )


def test_the_simulator_reads_the_configuration_of_the_pods(tmp_path: Path) -> None:
    found = predict(cluster(8), Simulator((str(answering(tmp_path)),)), Assumptions(seed=7))
    assert found.nodes == 8
    assert 'cluster => <<"ads">>' in (tmp_path / "config").read_text()
    assert "seed=7" in (tmp_path / "said").read_text()


def test_a_rejection_of_the_simulator_is_reported(tmp_path: Path) -> None:
    body = "cat > /dev/null; echo 'partisan_plan: overlay: no' >&2; exit 1"
    with pytest.raises(SimulatorError, match=r"^overlay: no$"):
        predict(cluster(8), Simulator((str(program(tmp_path, body)),)))


def test_a_simulator_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    body = "exec sleep 600"
    with pytest.raises(SimulatorError, match="not done after 0 s: give --timeout"):
        predict(cluster(8), Simulator((str(program(tmp_path, body)),)), timeout=0.2)


def test_the_simulator_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(simulator.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SimulatorError, match="put erlang_node/scripts/partisan_plan"):
        simulator.find()
    with pytest.raises(SimulatorError, match="--image needs one of docker, podman"):
        simulator.find(image="node:1")
    program(tmp_path, "exit 0")
    assert simulator.find() == Simulator(("partisan_plan",))
    assert simulator.find(command="a 'b c'") == Simulator(("a", "b c"))
    monkeypatch.setenv(simulator.VARIABLE, "elsewhere --fast")
    assert simulator.find() == Simulator(("elsewhere", "--fast"))


def test_the_nodes_image_runs_it_in_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(simulator.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    engine = tmp_path / "podman"
    engine.write_text("#!/bin/sh\n")
    engine.chmod(0o755)
    argv = simulator.find(image="node:1").argv
    assert argv[:2] == ("podman", "run")
    assert argv[-1] == "node:1"
    assert f"--entrypoint={simulator.IN_IMAGE}" in argv
    assert "--interactive" in argv


def run_command(*words: str) -> tuple[int, str]:
    return run(FakeKubectl(), "plan", *words)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text(text_of(8))
    return str(path)


def test_the_plan_says_that_it_is_simulated_and_what_it_assumes(file: str, tmp_path: Path) -> None:
    status, text = run_command("-f", file, "--simulator", str(answering(tmp_path)))
    assert status == 0
    assert text.startswith("ads: 8 nodes, HyParView, State (simulated)")
    assert "seed 1: latency 1 to 2 ms one way, 10 pods a second, 1 zone" in text
    assert "gossip" in text
    assert "1805.0 s" in text
    assert "until it has converged: 1800.0 s of counting and 5.0 s" in text


def test_the_plan_as_json(file: str, tmp_path: Path) -> None:
    _, text = run_command("-f", file, "-o", "json", "--simulator", str(answering(tmp_path)))
    document = json.loads(text)
    assert document["simulated"] is True
    assert document["cluster"] == "ads"
    assert document["assumptions"]["seed"] == 1
    assert document["channels"]["overlay"]["bytes"] > 0


def test_the_plan_as_a_page_with_a_picture(file: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_command("-f", file, "-d", str(out), "--simulator", str(answering(tmp_path)))
    assert "(simulated)" in (out / "README.md").read_text()
    root = ElementTree.parse(out / "plan.svg").getroot()
    assert "simulated" in "".join(root.itertext())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--latency", "fast"), "--latency: 'fast' is not a range"),
        (("--latency", "9-2"), "the larger one last"),
        (("--pods-per-second", "0"), "--pods-per-second: must be above 0"),
        (("--pods-per-second", "nan"), "--pods-per-second: must be above 0"),
        (("--budget", "inf"), "--budget: must be above 0 and at most"),
        (("--timeout", "1e300"), "--timeout: must be above 0 and at most"),
        (("--simulator", "a 'b"), '"a \'b" is no command'),
        (("--simulator", "true"), "true did not answer with JSON"),
        (("--simulator", "sh -c 'echo {}'"), "sh did not answer with a simulation"),
        (("--simulator", "sh -c 'echo 1'"), "sh did not answer with a simulation"),
        (("--simulator", "/nowhere/at-all"), "/nowhere/at-all cannot be run"),
    ],
)
def test_bad_options_are_named(file: str, words: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run_command("-f", file, *words)


def test_a_plan_needs_no_kubectl(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(simulator, "find", lambda **_: Simulator((str(answering(tmp_path)),)))
    monkeypatch.setattr("partisan_operator.cli.kubectl.PROGRAM", "no-such-program")
    assert entry.main(["plan", "-f", file]) == 0
    assert "(simulated)" in capsys.readouterr().out


def test_an_unusable_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["plan", "-f", str(tmp_path / "absent.yaml")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
