"""The surroundings of a pod's process: its address, its environment and its files."""

import base64
import ipaddress
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scale_tests.cluster.kube import Json
from scale_tests.localkube.settings import CLUSTER_DOMAIN

NETWORK = ipaddress.IPv4Network("10.204.0.0/17")
"""Addresses of pods. All of them are this machine's own, by one route; the API server talks to no
loopback address."""

_LABEL = re.compile(r"metadata\.labels\['(.+)'\]")


class UnsupportedError(Exception):
    """A pod has a field that a plain process does not support."""


def addresses() -> Iterator[str]:
    """Addresses for pods, each once."""
    return (str(address) for address in NETWORK.hosts())


@dataclass(frozen=True)
class Sandbox:
    """The directory of one pod; its volumes are directories in it, by name."""

    directory: Path

    def write(self, volume: str, files: Mapping[str, bytes], user: int) -> None:
        """Makes a volume with these files, which that user alone can read."""
        place = self.directory / volume
        place.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (place / name).write_bytes(content)
            os.chown(place / name, user, user)
            (place / name).chmod(0o400)
        os.chown(place, user, user)

    def remove(self) -> None:
        """Removes the files of the pod."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def environment(self, pod: Json, address: str) -> dict[str, str]:
        """The process's environment: the pod's variables and paths. Raises UnsupportedError."""
        bearer = self.directory / "bearer" / "bearer"
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            **dict(_variables(pod, address)),
            "PARTISAN_LISTEN_IP": address,
            "PARTISAN_CONFIG": str(self.directory / "config" / "node.config"),
            "PARTISAN_TOKEN_FILE": str(self.directory / "secret" / "token"),
            # A pod of a previous operator has none.
            **({"PARTISAN_BEARER_FILE": str(bearer)} if bearer.exists() else {}),
            "PARTISAN_STATE_DIR": str(self.directory / "state"),
        }

    def resolver(self, pod: Json, dns: str) -> tuple[str, ...]:
        """The emulator's flags by which it finds names as in the pod.

        It uses its own resolver: the machine's file is not the pod's. The start script unsets the
        variable that would also name these rules.
        """
        resolver, rules = self.directory / "resolv.conf", self.directory / "inetrc"
        # As a kubelet writes it: the namespace's names come first.
        services = f"svc.{CLUSTER_DOMAIN}"
        search = f"{pod['metadata']['namespace']}.{services} {services} {CLUSTER_DOMAIN}"
        resolver.write_text(f"nameserver {dns}\nsearch {search}\n")
        rules.write_text(f'{{resolv_conf, "{resolver}"}}.\n{{lookup, [dns]}}.\n')
        return ("-kernel", "inetrc", f'"{rules}"')


def sources(pod: Json) -> dict[str, tuple[str, str]]:
    """The volumes of a pod, with the resource and the name of their source, if they have one.

    >>> sources({"spec": {"volumes": [{"name": "config", "configMap": {"name": "ads-config"}}]}})
    {'config': ('configmaps', 'ads-config')}

    Raises UnsupportedError: a volume is of another kind.
    """
    found = {}
    for volume in pod["spec"].get("volumes", []):
        if "configMap" in volume:
            found[volume["name"]] = ("configmaps", volume["configMap"]["name"])
        elif "secret" in volume:
            found[volume["name"]] = ("secrets", volume["secret"]["secretName"])
        elif "emptyDir" in volume:
            found[volume["name"]] = ("", "")
        else:
            raise UnsupportedError(f"volume {volume['name']}: only configMap, secret and emptyDir")
    return found


def files(resource: str, document: Json) -> dict[str, bytes]:
    """The files that a ConfigMap or a Secret stands for."""
    data = document.get("data", {})
    if resource == "secrets":
        return {name: base64.b64decode(content) for name, content in data.items()}
    return {name: content.encode() for name, content in data.items()}


def _variables(pod: Json, address: str) -> Iterator[tuple[str, str]]:
    container = pod["spec"]["containers"][0]
    if container.get("envFrom"):
        raise UnsupportedError("envFrom: variables are taken from the pod alone")
    for variable in container.get("env", []):
        source = variable.get("valueFrom")
        if source is None:
            yield variable["name"], variable.get("value", "")
        elif "fieldRef" in source:
            yield variable["name"], _field(pod, source["fieldRef"]["fieldPath"], address)
        else:
            raise UnsupportedError(f"{variable['name']}: only values and fieldRef")


def _field(pod: Json, path: str, address: str) -> str:
    metadata = pod["metadata"]
    known = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "spec.nodeName": pod["spec"]["nodeName"],
        "status.podIP": address,
    }
    label = _LABEL.fullmatch(path)
    if label:
        return str(metadata.get("labels", {}).get(label[1], ""))
    if path not in known:
        raise UnsupportedError(f"the field {path} is not known here")
    return str(known[path])
