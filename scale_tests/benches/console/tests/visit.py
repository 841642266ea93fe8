"""A person's visit of the page: actions, and waits for what it shows."""

import json
from dataclasses import dataclass
from xml.sax.saxutils import escape

from playwright.async_api import Locator, Page, expect

from scale_tests.benches.console.recording import Recording
from scale_tests.benches.console.served import Served
from scale_tests.host.commands import ROOT
from scale_tests.measure.browser import PATIENCE_MS, Watched

AXE = ROOT / "operator/console/node_modules/axe-core/axe.min.js"

SVG = "{http://www.w3.org/2000/svg}"

_XHTML = "http://www.w3.org/1999/xhtml"
_PARTS = """() => [
    document.documentElement.clientWidth,
    document.documentElement.scrollHeight,
    [...document.styleSheets]
        .flatMap(sheet => [...sheet.cssRules])
        .map(rule => rule.cssText)
        .join("\\n"),
    new XMLSerializer().serializeToString(document.body),
]"""

expect.set_options(timeout=PATIENCE_MS)


@dataclass(frozen=True)
class Visit:
    """A tab of the page, the server behind it, and the cluster that it shows."""

    watched: Watched
    site: Served
    recording: Recording

    @property
    def page(self) -> Page:
        """The page itself."""
        return self.watched.page

    @property
    def notices(self) -> Locator:
        """The notices about the stream."""
        return self.page.get_by_test_id("stream")

    @property
    def head(self) -> Locator:
        """The line about the open cluster."""
        return self.page.locator("h1").first

    def view(self, name: str) -> Locator:
        """A view that is open."""
        return self.page.locator(f'[data-view="{name}"]')

    async def views(self) -> list[str]:
        """The views to choose from."""
        links = await self.page.locator('nav[aria-label="Views"] a').all()
        return [str(await link.get_attribute("href")).rpartition("/")[2] for link in links]

    async def choose(self, name: str) -> Locator:
        """Opens a view, as with the mouse."""
        await self.page.locator(f'nav[aria-label="Views"] a[href$="/{name}"]').click()
        await expect(self.view(name)).to_be_visible()
        return self.view(name)

    async def save(self) -> str:
        """Saves the picture of the overlay; returns the file's text."""
        async with self.page.expect_download() as downloading:
            await self.page.get_by_role("button", name="Save SVG").click()
        download = await downloading.value
        assert download.suggested_filename == "ads-overlay.svg"
        return (await download.path()).read_text()

    async def picture(self) -> str:
        """The page as an SVG file with its own styles: sharp at any size, in light and dark.

        Without what is drawn on a canvas.
        """
        width, height, styles, body = await self.page.evaluate(_PARTS)
        return (
            f'<svg xmlns="{SVG[1:-1]}" viewBox="0 0 {width} {height}">\n'
            f'<foreignObject width="{width}" height="{height}">\n'
            f'<html xmlns="{_XHTML}"><style>{escape(styles)}</style>\n{body}</html>\n'
            "</foreignObject></svg>\n"
        )

    async def leave(self) -> None:
        """Goes to the list of clusters."""
        await self.page.get_by_role("link", name="Clusters").first.click()
        await expect(self.view("clusters")).to_be_visible()

    def forgive(self, text: str) -> None:
        """Forgets errors with this text, which are part of the test."""
        self.watched.wrong[:] = [wrong for wrong in self.watched.wrong if text not in wrong]

    async def connected(self) -> None:
        """Waits until the stream runs."""
        await expect(self.page.get_by_role("status").first).to_have_text("Live")

    async def shows(self, text: str) -> None:
        """Waits for a text in the line about the cluster."""
        await expect(self.head).to_contain_text(text)

    async def inaccessible(self) -> list[str]:
        """Findings of axe that are serious or critical."""
        await self.page.evaluate(AXE.read_text())
        found = json.loads(await self.page.evaluate("axe.run().then(JSON.stringify)"))
        return [
            f"{violation['id']}: {violation['help']}: {node['html']}"
            for violation in found["violations"]
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        ]

    async def too_wide(self) -> int:
        """Pixels by which the page is wider than the window."""
        wide: int = await self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wide
