"""Pictures of the built site, light and dark: `python -m docs.tools.screenshots [DIRECTORY]`."""

import asyncio
import sys
from pathlib import Path
from typing import Literal

from scale_tests.host.commands import ROOT, relative
from scale_tests.measure.browser import chromium

SITE = ROOT / "build/site"
PAGES = ("index", "explanation/overlays", "reference/api", "tutorials/elixir-app")
COLOURS: tuple[Literal["light", "dark"], ...] = ("light", "dark")


async def take(directory: Path) -> None:
    """Writes a PNG of the first screen of some pages in both colours."""
    directory.mkdir(parents=True, exist_ok=True)
    async with chromium() as browser:
        for colours in COLOURS:
            tab = await browser.new_page(
                viewport={"width": 1280, "height": 900}, color_scheme=colours
            )
            for page in PAGES:
                await tab.goto((SITE / f"{page}.html").as_uri())
                picture = directory / f"{page.replace('/', '-')}-{colours}.png"
                await tab.screenshot(path=picture)
                print(relative(picture))


if __name__ == "__main__":
    asyncio.run(take(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build/results/site"))
