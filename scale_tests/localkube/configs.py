"""The configuration files of the components: `templates`, filled in from the settings.

Kubernetes reads JSON wherever it reads YAML, so the standard library is enough.
"""

import base64
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scale_tests.host.templates import filled
from scale_tests.localkube.nodes import Node, nodes
from scale_tests.localkube.settings import Settings

TEMPLATES = Path(__file__).with_name("templates")

CNI_NETWORK = "partisan-localkube"
"""The name of the pod network, which also begins the names of CNI's own records."""

CNI_PLUGINS = Path("/usr/lib/cni")
"""The directory of Debian's containernetworking-plugins."""


def table(template: str) -> dict[str, Any]:
    """The content of a template that is TOML."""
    return tomllib.loads((TEMPLATES / template).read_text())


def of_nodes(template: str, settings: Settings) -> Iterator[tuple[str, dict[str, Any], Node]]:
    """The entries of a table by their keys: of every node with `each_node`, else of the first."""
    members = nodes(settings)
    for key, entry in table(template).items():
        for node in members if entry.pop("each_node", False) else members[:1]:
            yield key, entry, node


def written(template: str, suffix: str = "", **values: Any) -> str:
    """The text of a file with this suffix. TOML becomes JSON, except for a file that is TOML."""
    if template.endswith(".toml") and suffix != ".toml":
        return json.dumps(filled(table(template), **values), indent=2, default=str) + "\n"
    return (TEMPLATES / template).read_text().format(**values).rstrip("\n") + "\n"


def kubeconfig(settings: Settings, identity: str) -> str:
    """The kubeconfig of a certificate's owner, as JSON with embedded certificates."""

    def embedded(name: str) -> str:
        return base64.b64encode((settings.certificates / name).read_bytes()).decode()

    return written(
        "kubeconfig.toml",
        settings=settings,
        identity=identity,
        authority=embedded("ca.crt"),
        certificate=embedded(f"{identity}.crt"),
        key=embedded(f"{identity}.key"),
    )


def name_servers(resolv_conf: str) -> list[str]:
    """The addresses that the text of a resolv.conf names, at most the three that are used."""
    words = [line.split() for line in resolv_conf.splitlines()]
    return [line[1] for line in words if len(line) > 1 and line[0] == "nameserver"][:3]
