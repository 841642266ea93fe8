"""The live page in a browser, opened by `kubectl partisan web`: a real cluster and its changes."""

import json
import os
import re
import time
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from scale_tests.benches.churn.faults import Faults
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.operator import kubectl, tool
from scale_tests.cluster.subject import counter, kill_pod, manifest
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.page_viewer import printed
from scale_tests.e2e.reader import install_plugin
from scale_tests.host.commands import ROOT
from scale_tests.measure.browser import PATIENCE_MS, Watched, chromium, tab, until
from scale_tests.measure.document import RESULTS

NODES = 32
SPREAD = {"workload": {"adCounter": counter(NODES, 600)}}
"""A run that outlasts the test."""

_OBSERVE = """(_, cells) => {
    window.changed = new Promise(done => {
        const observer = new MutationObserver(() => done(Date.now()));
        for (const cell of cells) {
            observer.observe(cell, { characterData: true, childList: true, subtree: true });
        }
    });
}"""

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def url(
    environment: Environment, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The URL that the plugin prints for a ServiceAccount that may view the file's namespace."""
    account = ["create", "-n", namespace]
    kubectl(environment, *account, "serviceaccount", "viewer")
    granted = ["--clusterrole=view", f"--serviceaccount={namespace}:viewer"]
    kubectl(environment, *account, "rolebinding", "viewer", *granted)
    programs = tmp_path_factory.mktemp("programs")
    (programs / "kubectl").symlink_to(tool("kubectl"))
    install_plugin(programs)
    variables = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "operator" / "src"),
    }
    words = ["partisan", "web", "--no-open", "--service-account", "viewer", "-n", namespace]
    command = [str(programs / "kubectl"), *words]
    with printed(environment, command, r"(http://127\.0\.0\.1:\S+)", **variables) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def opened(url: str, namespace: str) -> AsyncIterator[Watched]:
    """A browser with the page of a cluster that does not exist yet."""
    async with chromium() as browser, tab(browser) as watched:
        await watched.open(f"{url}#{namespace}/seen")
        yield watched


async def test_the_page_follows_a_cluster_from_its_start_through_faults(
    opened: Watched, new_subject: NewSubject, environment: Environment
) -> None:
    page = opened.page
    await expect(page.get_by_role("status").first).to_have_text("Live")
    await expect(page.get_by_text("There is no cluster seen")).to_be_visible()
    subject = new_subject("seen").apply(manifest("seen", NODES, **SPREAD))
    head = page.locator("h1").first
    subject.wait_steady()
    await expect(head).to_contain_text(f"{NODES} of {NODES} nodes joined, HyParView")

    await page.locator('nav[aria-label="Views"] a[href$="/nodes"]').click()
    incarnation = await column(page, "seen-5", "Incarnation")
    before = await incarnation.inner_text()
    await observe(await column(page, "seen-5", "State"), incarnation)
    killed_at = time.time()
    kill_pod(subject, "seen-5")
    shown = await page.evaluate("window.changed") / 1000 - killed_at
    record = {"nodes": NODES, "killed_pod_shown_after_s": round(shown, 2)}
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "console-e2e.json").write_text(json.dumps(record))
    await expect(incarnation).not_to_have_text(re.compile(f"^({re.escape(before)})?$"))
    subject.wait_steady()
    await expect(await column(page, "seen-5", "State")).to_have_text("joined")
    await expect(head).to_contain_text(f"{NODES} of {NODES} nodes joined")

    # The network is cut in this machine's own packet filter.
    if environment.local:
        with Faults(subject, seed=1).partition():
            await expect(head).to_contain_text("2 components")
            await expect(page.get_by_text("OverlayPartitioned").first).to_be_visible()
        subject.wait_healthy(NODES)
        await expect(head).not_to_contain_text("components")

    subject.patch(overlay={"kind": "Cyclon"})
    subject.wait_reconfigured()
    await expect(head).to_contain_text("nodes joined, Cyclon")
    await expect(page.locator("[data-view=nodes] tbody tr", has_text="Cyclon")).to_have_count(NODES)
    assert await opened.faults() == []


async def test_all_views_of_a_real_cluster_are_drawn_without_an_error(opened: Watched) -> None:
    page = opened.page
    links = page.locator('nav[aria-label="Views"] a')
    for index in range(await links.count()):
        link = links.nth(index)
        name = str(await link.get_attribute("href")).rpartition("/")[2]
        await link.click()
        await expect(page.locator(f'[data-view="{name}"]')).to_be_visible()
        if name == "overlay":
            await until(page, "performance.getEntriesByName('overlay-drawn').length > 0")
    assert await opened.faults() == []


async def observe(*cells: Locator) -> None:
    """Has the page note when one of the cells changes, as `window.changed`, in ms since 1970."""
    await cells[0].evaluate(_OBSERVE, [await cell.element_handle() for cell in cells])


async def column(page: Page, name: str, title: str) -> Locator:
    """The cell of a node under this title in the table of nodes."""
    table = page.locator("[data-view=nodes] table")
    titles = await table.locator("thead th").all_inner_texts()
    row = table.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True))
    return row.locator("th, td").nth(titles.index(title))
