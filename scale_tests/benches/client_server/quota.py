"""A server's processor time: a guaranteed and limited share of a CPU.

Otherwise it would be one of a thousand processes that compete for this machine.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube.cgroups import Hierarchy, hierarchies, remove

_GROUP = "partisan-client-server"
_PERIOD = 100_000
"""Microseconds, the kernel's default and Kubernetes's."""

Take = Callable[[int], None]
"""Gives a process its share; raises ExpectedError where that cannot be."""


@contextmanager
def quota(cpus: float) -> Iterator[Take]:
    """Limits each of some processes to so many CPUs. They have to end within the block."""
    with ExitStack() as groups:

        def take(pid: int) -> None:
            try:
                hierarchy = _cpu_hierarchy()
                group = f"{_GROUP}-{pid}"
                directory = hierarchy.mount / group
                directory.mkdir()
                groups.callback(remove, group)
                for file, value in _settings(hierarchy, cpus).items():
                    (directory / file).write_text(value)
                (directory / "cgroup.procs").write_text(str(pid))
            except OSError as error:
                raise ExpectedError(
                    f"a CPU limit for the server: {error}; run this as root"
                ) from error

        yield take


def _settings(hierarchy: Hierarchy, cpus: float) -> dict[str, str]:
    """The files of a control group that limit a process to so many CPUs, with priority for them."""
    quota = round(cpus * _PERIOD)
    if hierarchy.version == 1:
        return {
            "cpu.cfs_period_us": str(_PERIOD),
            "cpu.cfs_quota_us": str(quota),
            "cpu.shares": "262144",
        }
    return {"cpu.max": f"{quota} {_PERIOD}", "cpu.weight": "10000"}


def _cpu_hierarchy() -> Hierarchy:
    """The hierarchy that has the controller. Raises OSError: there is none."""
    for hierarchy in hierarchies():
        if hierarchy.version == 1 and "cpu" in hierarchy.options:
            return hierarchy
        controllers = hierarchy.mount / "cgroup.controllers"
        if hierarchy.version == 2 and "cpu" in controllers.read_text().split():
            Path(hierarchy.mount, "cgroup.subtree_control").write_text("+cpu")
            return hierarchy
    raise FileNotFoundError("no control group of this machine has the cpu controller")
