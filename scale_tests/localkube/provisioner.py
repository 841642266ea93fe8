"""The provisioner of the StorageClass `standard`: directories of this machine as volumes.

A process of the cluster, which reads claims every second. A claim's directory is made once its
first pod has a node, and removed after the claim. The nodes share the machine's file system, so any
of them can mount it. The volumes are `local` ones: in these, unlike in `hostPath`, the kubelet
gives the files to a pod's `fsGroup`.
"""

import shutil
import socket
from pathlib import Path
from typing import Any

from scale_tests.host.templates import filled
from scale_tests.localkube.api import ApiError, Client
from scale_tests.localkube.configs import table
from scale_tests.localkube.settings import Settings

NAME = "partisan.dev/localkube"
"""The provisioner, as the StorageClass names it in `addons.toml`."""

PERIOD = 1.0
"""Seconds between two reads."""

CLAIMS = "/api/v1/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"

_WANTED_FROM = "volume.kubernetes.io/storage-provisioner"
_MADE_BY = "pv.kubernetes.io/provisioned-by"

Json = dict[str, Any]


class Provisioner:
    """Volumes below one directory."""

    def __init__(self, api: Client, directory: Path) -> None:
        self._api = api
        self._directory = directory
        self._has_volumes = True

    def step(self) -> None:
        """Makes the volumes of claims that wait, removes those of claims that are gone.

        Without claims and volumes it is one request. Raises ApiError.
        """
        waiting = [claim for claim in self._api.get(CLAIMS)["items"] if _waits(claim)]
        if not (waiting or self._has_volumes):
            return
        own = [item for item in self._api.get(VOLUMES)["items"] if _annotation(item, _MADE_BY)]
        known = {item["metadata"]["name"] for item in own}
        for claim in waiting:
            if (name := f"pvc-{claim['metadata']['uid']}") not in known:
                self._make(name, claim)
        for name in [item["metadata"]["name"] for item in own if _is_released(item)]:
            shutil.rmtree(self._directory / name, ignore_errors=True)
            self._api.delete(f"{VOLUMES}/{name}")
            print(f"removed {name}", flush=True)
        self._has_volumes = bool(own or waiting)

    def _make(self, name: str, claim: Json) -> None:
        path = self._directory / name
        path.mkdir(parents=True, exist_ok=True)
        # For pods of any user.
        path.chmod(0o777)
        volume = filled(
            table("volume.toml"),
            name=name,
            provisioner=NAME,
            made_by=_MADE_BY,
            claim=claim,
            access=claim["spec"]["accessModes"],
            path=path,
        )
        self._api.apply(f"{VOLUMES}/{name}", volume)
        metadata = claim["metadata"]
        print(f"made {name} for {metadata['namespace']}/{metadata['name']}", flush=True)


def _waits(claim: Json) -> bool:
    """Whether a claim waits for a volume of this provisioner."""
    going = "deletionTimestamp" in claim["metadata"]
    return _annotation(claim, _WANTED_FROM) and not (going or claim["spec"].get("volumeName"))


def _is_released(volume: Json) -> bool:
    """Whether a volume is to go, as its claim is gone."""
    gone = volume.get("status", {}).get("phase") in ("Released", "Failed")
    return gone and volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"


def _annotation(item: Json, key: str) -> bool:
    """Whether an annotation names this provisioner."""
    return (item["metadata"].get("annotations") or {}).get(key) == NAME


def main() -> None:
    """Serves the cluster of this machine; a connection to its socket shows that it runs."""
    settings = Settings()
    provisioner = Provisioner(Client(settings), settings.state / "volumes")
    settings.provisioner_socket.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(settings.provisioner_socket))
        listener.listen()
        listener.settimeout(PERIOD)
        while True:
            try:
                provisioner.step()
            except ApiError as error:
                print(error, flush=True)
            try:
                listener.accept()[0].close()
            except TimeoutError:
                continue


if __name__ == "__main__":
    main()
