"""Chromium without a window, and the record of what a page must not do."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, Page, Request, async_playwright

from scale_tests.host.commands import ExpectedError

PATIENCE_MS = 120_000
"""Milliseconds that a condition may take on a busy machine."""

_VIOLATIONS = """
window.violations = [];
document.addEventListener('securitypolicyviolation', event =>
    window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""

_SOFTWARE_GL = "GL Driver Message (OpenGL, Performance"
"""Part of the remark of the renderer that reading pixels is slow, where there is no GPU."""


@dataclass
class Watched:
    """A page and what went wrong in it."""

    page: Page
    origin: str = ""
    """Where requests may go; none elsewhere."""

    wrong: list[str] = field(default_factory=list)
    """Errors of scripts and of the console, and requests to other origins."""

    async def open(self, url: str) -> None:
        """Opens a page, to whose origin requests may go."""
        self.origin = "/".join(url.split("/")[:3])
        await self.page.goto(url)

    async def faults(self) -> list[str]:
        """All that went wrong so far, violations of the Content-Security-Policy included."""
        violations: list[str] = await self.page.evaluate("window.violations")
        return [*self.wrong, *violations]

    def _requested(self, request: Request) -> None:
        if not request.url.startswith((f"{self.origin}/", "data:")):
            self.wrong.append(f"a request to {request.url}")


async def until(page: Page, condition: str) -> None:
    """Waits for an expression to be true, without Playwright's own way, which the policy refuses.

    Raises TimeoutError.
    """
    async with asyncio.timeout(PATIENCE_MS / 1000):
        while not await page.evaluate(condition):
            await asyncio.sleep(0.02)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """The browser, until the block is left. Raises ExpectedError: there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise ExpectedError("there is no chromium: `make bootstrap` installs it on Debian")
    arguments = ["--enable-precise-memory-info"]
    # Its sandbox refuses to work for root.
    arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found, args=arguments)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def tab(browser: Browser, **options: Any) -> AsyncIterator[Watched]:
    """A new page in a context of its own; `options` are those of Playwright's `new_context`."""
    context = await browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    await page.add_init_script(_VIOLATIONS)
    watched = Watched(page)
    page.on("pageerror", lambda error: watched.wrong.append(f"an error: {error}"))
    page.on("request", watched._requested)
    page.on(
        "console",
        lambda message: (
            watched.wrong.append(f"{message.type}: {message.text} ({message.location['url']})")
            if message.type in ("error", "warning") and _SOFTWARE_GL not in message.text
            else None
        ),
    )
    try:
        yield watched
    finally:
        await context.close()
