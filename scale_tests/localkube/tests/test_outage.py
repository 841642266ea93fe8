"""A node that fails: the packet filter's rules, and that it comes back whatever happens."""

import subprocess

import pytest

from scale_tests.host import procfs
from scale_tests.host.commands import ExpectedError
from scale_tests.localkube import cgroups, firewall, outage, waiting
from scale_tests.localkube.nodes import nodes
from scale_tests.localkube.settings import Settings

FIRST, SECOND, THIRD = nodes(Settings(nodes=3))


def test_everything_that_comes_from_a_node_or_goes_to_it_is_dropped() -> None:
    lines = outage.rules(THIRD).splitlines()
    assert lines[0] == "*filter"
    assert lines[-1] == "COMMIT"
    chain = outage.chain(THIRD)
    assert {f"-A {chain} -i partisan2 -j DROP", f"-A {chain} -o partisan2 -j DROP"} <= set(lines)
    # Before any other rule, on each way through the machine.
    assert {f"-I {hook} -j {chain}" for hook in ("INPUT", "FORWARD", "OUTPUT")} <= set(lines)
    assert len(chain) <= 28  # the kernel's limit


def test_one_node_comes_back_without_another() -> None:
    saved = "".join(outage.rules(node) for node in (SECOND, THIRD)).replace("-I ", "-A ")
    removal = firewall.removal(saved, (outage.chain(SECOND),))
    assert removal.count("-X ") == 1
    assert removal.count("-D ") == 3
    assert outage.chain(THIRD) not in removal


def test_the_machine_itself_cannot_fail() -> None:
    with pytest.raises(ExpectedError, match="localkube is this machine, with the control plane"):
        outage.rules(FIRST)


def test_an_outage_of_another_process_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(argv: list[str], **_stdin: str) -> str:
        commands.append(argv)
        return f":{outage.chain(SECOND)} - [0:0]\n"

    monkeypatch.setattr(firewall, "capture", run)
    with pytest.raises(ExpectedError, match="localkube-2 is away already"):
        outage.outage(SECOND).__enter__()
    assert commands == [["iptables-save", "-t", "filter"]]


def test_a_node_comes_back_after_an_error_in_the_meantime(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[tuple[str, object]] = []

    def run(argv: list[str], **_stdin: str) -> str:
        steps.append(("run", argv[0]))
        return ""

    monkeypatch.setattr(firewall, "capture", run)
    monkeypatch.setattr(outage, "remove_chains", lambda _p, chains: steps.append(("open", chains)))
    for step in ("freeze", "thaw"):
        monkeypatch.setattr(cgroups, step, lambda group, step=step: steps.append((step, group)))
    with pytest.raises(RuntimeError, match="meanwhile"), outage.outage(SECOND):
        raise RuntimeError("meanwhile")
    assert steps == [
        ("run", "iptables-save"),
        ("run", "iptables-restore"),
        ("freeze", SECOND.cgroup),
        ("thaw", SECOND.cgroup),
        ("open", (outage.chain(SECOND),)),
    ]


def test_processes_that_are_started_while_others_are_stopped_are_stopped_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = (subprocess.Popen(["sleep", "600"]) for _ in range(2))
    both = {old.pid, new.pid}
    try:
        seen = iter([{old.pid}, both, both])
        monkeypatch.setattr(cgroups, "members", lambda _group: next(seen))
        cgroups.freeze("a-node")
        waiting.until_none(lambda: "" if _states(both) == {"T"} else "some run", seconds=60)
        monkeypatch.setattr(cgroups, "members", lambda _group: both)
        cgroups.thaw("a-node")
        waiting.until_none(lambda: "some stand" if "T" in _states(both) else "", seconds=60)
    finally:
        for process in (old, new):
            process.kill()
            process.wait()


def _states(pids: set[int]) -> set[str]:
    """The kernel's letters for the states of processes; `T` for a stopped one."""
    stats = [(procfs.PROC / str(pid) / "stat").read_text() for pid in pids]
    return {stat.rpartition(") ")[2].split()[0] for stat in stats}
