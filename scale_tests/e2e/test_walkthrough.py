"""docs/tutorials/first-cluster.md to the letter, typed by a user with kubectl and its plugin."""

from pathlib import Path

import pytest

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.subject import Subject
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.outcomes import assert_accounted
from scale_tests.e2e.reader import Reader, blocks
from scale_tests.host.commands import ROOT

PAGE = ROOT / "docs" / "tutorials" / "first-cluster.md"
NODES = 6
LONGER = {"--timeout=1m": "--timeout=15m", "--timeout=2m": "--timeout=15m"}
"""A user's machine may be too slow for the page; a test's has to be slow sometimes."""

PLACES = (("-n ", " "), ("ads in ", ","), ("partisan-", "-ads-"))
"""The texts before and after the page's namespace where the plugin shows it."""


@pytest.fixture
def reader(environment: Environment, namespace: str, tmp_path: Path) -> Reader:
    """A user with a namespace already, which step 1 of the page creates under another name."""
    place = {f"{before}walk{after}": f"{before}{namespace}{after}" for before, after in PLACES}
    return Reader(environment, tmp_path, namespace=namespace, replacing=LONGER | place)


def test_the_walkthrough_shows_what_the_page_says(
    reader: Reader, new_subject: NewSubject, tmp_path: Path
) -> None:
    ads = new_subject("ads")

    def walk(heading: str) -> str:
        steps = blocks(PAGE, heading)
        return "\n".join(reader.follows(step, directory=tmp_path) for step in steps)

    walk("A cluster")
    before = ads.uids()
    walk("An upgrade under load")
    upgraded = ads.uids()
    assert upgraded.keys() == before.keys()
    assert not set(upgraded.values()) & set(before.values())
    walk("A scale-down that is refused")
    assert ads.uids() == upgraded
    mistake, *undone = blocks(PAGE, "A mistake, undone")
    reader.follows(mistake, directory=tmp_path)
    # On a busy machine another reason may come first.
    ads.wait_degraded("ImagePullFailed")
    for step in undone:
        reader.follows(step, directory=tmp_path)
    kept = {name for name, uid in ads.uids().items() if upgraded[name] == uid}
    assert len(kept) == NODES - 2
    listed = walk("A diagnostic bundle")
    assert all(f"nodes/ads-{ordinal}.log" in listed for ordinal in range(NODES))
    counted(ads)
    # A user waits for eight minutes.
    ads.end_run()
    # The last one removes the place, which is not the test's to remove.
    account, removal, _ = blocks(PAGE, "The result")
    reader.follows(account)
    counted(ads)
    assert_accounted(ads, ads.status())
    reader.follows(removal)


def counted(ads: Subject) -> None:
    """Every pod was replaced, and nothing that one had counted was lost."""
    run = ads.status().workload
    assert (run.replaced_nodes >= NODES, run.lost_increments) == (True, 0)
