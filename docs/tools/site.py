"""Hooks of MkDocs for the site, named in mkdocs.yml.

Runs in the environment of `make site`, which has MkDocs and not this project's requirements.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from docs.tools import site_text as text

ROOT = Path(__file__).resolve().parents[2]

_FOREIGN = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"?(https?:)?//[^>]*>")


def on_config(config: Any) -> Any:
    """Takes the navigation from the list of pages, and the anchors of GitHub."""
    listed = text.navigation((ROOT / "docs/README.md").read_text())
    config.nav = [{"Home": "index.md"}, "pages.md", *listed]
    config.mdx_configs["toc"]["slugify"] = text.anchor
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages from elsewhere, and the files that pages link to."""
    files.remove(files.get_file_from_path("README.md"))
    for path, place in text.PLACES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    linked = {
        text.resolved(target, text.path_of(file.src_uri))
        for file in files
        if file.is_documentation_page()
        for target in text.links(file.content_string)
    }
    for path in sorted(linked):
        if text.place(path).startswith(text.SOURCE) and (ROOT / path).is_file():
            source = str(ROOT / path)
            files.append(File.generated(config, text.place(path), abs_src_path=source))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Leads the links of a page to their places in the site."""
    path = text.path_of(page.file.src_uri)
    return text.page(markdown, path, is_directory=lambda goal: (ROOT / goal).is_dir())


def on_post_build(config: Any) -> None:
    """Fails when a page loads something from another host. Raises PluginError."""
    for page in sorted(Path(config.site_dir).rglob("*.html")):
        if found := _FOREIGN.search(page.read_text()):
            raise PluginError(f"{page}: {found[0]}")
