"""Kubeconfig files: how a client finds the API server and proves who it is."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from scale_tests.localkube.settings import Settings

CONTEXT = "partisan-localkube"


def render(settings: Settings, identity: str) -> str:
    """The kubeconfig of a certificate's owner, as JSON with embedded certificates."""
    certificates = settings.certificates

    def embedded(name: str) -> str:
        return base64.b64encode((certificates / name).read_bytes()).decode()

    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": CONTEXT,
                    "cluster": {
                        "server": settings.server,
                        "certificate-authority-data": embedded("ca.crt"),
                    },
                }
            ],
            "users": [
                {
                    "name": identity,
                    "user": {
                        "client-certificate-data": embedded(f"{identity}.crt"),
                        "client-key-data": embedded(f"{identity}.key"),
                    },
                }
            ],
            "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": identity}}],
            "current-context": CONTEXT,
        },
        indent=2,
    )


def write_secret(path: Path, text: str) -> None:
    """Writes a file that only its owner may read, replacing it in one step."""
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=0o600)
    partial.write_text(text)
    partial.rename(path)
