"""The number of pods that this machine's memory holds."""

import math
import os
from dataclasses import dataclass

from scale_tests.localkube import cluster
from scale_tests.localkube.settings import MOST_PODS, MOST_ZRAM_MIB, Settings

POD_MIB = 22.0
"""Memory that a pod with an Erlang node uses, measured with 128 of them: its process 14.7 MiB (the
proportional share), the shim 3.0, pause 0.6, the resolver of its name 0.4, the kernel about 3."""

ELSE_MIB = 2560.0
"""Memory that the control plane, the operator and the machine itself use."""

COMPRESSION = 2.0
"""Swapped bytes per byte of memory that compressed swap uses: a lower bound, as idle heaps compress
better."""

ZRAM_STEP_MIB = 1024


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The memory that is left for pods."""

    machine_mib: float
    zram_mib: int
    """Compressed swap, before compression."""

    @property
    def pods(self) -> int:
        """The number of pods it holds, at most the largest limit of the cluster."""
        gained = self.zram_mib * (1 - 1 / COMPRESSION)
        return min(MOST_PODS, max(0, int((self.machine_mib + gained - ELSE_MIB) / POD_MIB)))

    def zram_for(self, pods: int) -> int | None:
        """The MiB of compressed swap needed for so many; None where no amount is enough.

        Swap uses memory, too: more than twice the machine's is no use.
        """
        short = pods * POD_MIB + ELSE_MIB - self.machine_mib
        wanted = math.ceil(short / (1 - 1 / COMPRESSION) / ZRAM_STEP_MIB) * ZRAM_STEP_MIB
        most = min(MOST_ZRAM_MIB, COMPRESSION * self.machine_mib)
        return max(0, wanted) if pods <= MOST_PODS and wanted <= most else None

    def advice(self, pods: int) -> str:
        """The command by which the local cluster accepts so many pods in all."""
        command = f"`python -m scale_tests.localkube up --max-pods {pods}"
        if pods <= self.pods:
            return f"{command}` makes more"
        swap = f" with {self.zram_mib / 1024:.1f} GiB of compressed swap" if self.zram_mib else ""
        holds = (
            f"the {self.machine_mib / 1024:.1f} GiB of this machine{swap} hold {self.pods:,} pods "
            f"of {POD_MIB:g} MiB next to {ELSE_MIB / 1024:g} GiB for the rest"
        )
        zram = self.zram_for(pods)
        if zram is None:
            return holds
        return f"{holds}; {command} --zram-mib {zram}` adds compressed swap"


def of_machine() -> Memory:
    """This machine's, with the swap that its local cluster was brought up with."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Memory(machine_mib=pages / (1 << 20), zram_mib=cluster.stored(Settings()).zram_mib)
