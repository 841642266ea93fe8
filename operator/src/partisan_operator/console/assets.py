"""The files of the page, as `make console` bundles them into the package."""

import hashlib
import mimetypes
from importlib import resources
from importlib.resources.abc import Traversable

from aiohttp import web

DIRECTORY = resources.files(__package__).joinpath("page")

_MISSING = (
    "<!doctype html><title>Partisan</title><p>This operator was installed without the page:"
    " `make console` bundles it. The stream under /v1/stream is complete."
)


class Assets:
    """All files of a directory, by name; read once."""

    def __init__(self, directory: Traversable = DIRECTORY) -> None:
        """Read the files; a directory that does not exist has none."""
        found = directory.iterdir() if directory.is_dir() else ()
        self._files = {file.name: file.read_bytes() for file in found if file.is_file()}
        self._files.setdefault("index.html", _MISSING.encode())

    def answer(self, request: web.Request, name: str) -> web.Response:
        """Answer with a file, or with 304 if the browser has it. Raises `HTTPNotFound`."""
        body = self._files.get(name)
        if body is None:
            raise web.HTTPNotFound(text="there is no such file\n")
        tag = hashlib.sha256(body).hexdigest()[:32]
        # A newer operator has other contents under the same names: browsers ask each time.
        headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
        if any(known.value == tag for known in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        charset = None if kind == "application/octet-stream" else "utf-8"
        return web.Response(body=body, headers=headers, content_type=kind, charset=charset)
