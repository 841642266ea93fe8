"""From the cells of an upgrade to targets and a table."""

from collections.abc import Sequence
from itertools import groupby

from images.builder.catalogue import IMAGE_OTP
from scale_tests.measure.checks import Check, equal
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell

PARTED_SAMPLES = 3
"""Neighbours of a pod that ends repair their views within this many samples."""


def parted(samples: Sequence[Cell]) -> int:
    """The most samples in a row in which the nodes that had joined were in several components."""
    runs = groupby(samples, key=lambda sample: sample["components"] > 1)
    return max((len(list(run)) for apart, run in runs if apart), default=0)


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets of an upgrade."""
    *samples, end = cells
    both = sum(len(sample["otp"]) > 1 for sample in samples)
    fewest = min((sample["joined"] for sample in samples), default=0)
    longest, half = parted(samples), end["wanted"] // 2
    return [
        Check(
            name="every count, on every node",
            value="{value} of {increments_sum} increments, {lost_increments} lost".format(**end),
            bar="all counted once, none lost, all replicas equal",
            ok=end["nodes"] == end["wanted"]
            and end["values"] == [end["value"]]
            and end["value"] == end["increments_sum"] >= end["threshold"]
            and end["lost_increments"] == 0
            and end["digests"] == 1,
        ),
        Check(
            name="samples in a row with several components",
            value=longest,
            bar=f"<= {PARTED_SAMPLES}, and one component at the end",
            ok=longest <= PARTED_SAMPLES and end["components"] == 1,
        ),
        Check(
            name="samples with nodes of both releases, at least half of the nodes joined",
            value=f"{both}, {fewest} joined",
            bar=f">= 1, >= {half}",
            ok=both >= 1 and fewest >= half,
        ),
        equal("OTP of the nodes at the end", ", ".join(end["otp"]), IMAGE_OTP),
        equal("restarts of containers", end["restarts"], 0),
    ]


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """The end of the run."""
    shown = ("seconds_operator", "seconds_nodes", "value", "increments_sum", "replaced_nodes")
    rows = [(name.replace("_", " "), str(cells[-1][name])) for name in shown]
    return {"Upgrade": Table(head=("", ""), rows=rows)}
