"""The bearer token by which kubectl authenticates, for a server that is not the API server.

kubectl has no command that prints it. It is read from the kubeconfig as kubectl merges it: a token,
a file with one, or an exec plugin, which is run as kubectl runs it. A user with a client
certificate has no token: one of a ServiceAccount is requested instead.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from partisan_operator.cli.access import CommandError
from partisan_operator.cli.kubectl import Kubectl

_EXEC_API = "client.authentication.k8s.io/v1"


def bearer_token(api: Kubectl, namespace: str, service_account: str = "") -> str:
    """Return a token of the user, or of a ServiceAccount in the namespace.

    Raises `CommandError` where the user has none, and `KubectlError`.
    """
    if service_account:
        return api.run(["create", "token", service_account, f"--namespace={namespace}"]).strip()
    users = json.loads(api.run(["config", "view", "--minify", "--raw", "--output=json"])).get(
        "users"
    )
    user: Mapping[str, Any] = (users or [{}])[0].get("user") or {}
    token = user.get("token") or _from_file(user) or _from_plugin(user)
    if not token:
        raise CommandError(
            "your kubeconfig has no token (a client certificate says nothing to the operator):"
            " choose a ServiceAccount that may get partisanclusters with --service-account"
        )
    return token.strip()


def _from_file(user: Mapping[str, Any]) -> str:
    path = user.get("tokenFile")
    try:
        return Path(path).read_text() if path else ""
    except (OSError, ValueError) as error:  # the latter of a file that is no text
        raise CommandError(f"the token file of your kubeconfig: {error}") from None


def _from_plugin(user: Mapping[str, Any]) -> str:
    """Run the exec plugin of a kubeconfig, by the protocol of client-go."""
    plugin = user.get("exec")
    if not plugin:
        return ""
    version = plugin.get("apiVersion") or _EXEC_API
    request = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": True}}
    extra = {entry["name"]: entry["value"] for entry in plugin.get("env") or ()}
    environment = {**os.environ, **extra, "KUBERNETES_EXEC_INFO": json.dumps(request)}
    argv = [plugin["command"], *(plugin.get("args") or ())]
    try:
        # Its questions and errors go to the terminal.
        done = subprocess.run(argv, env=environment, stdout=subprocess.PIPE, check=True)
        token = json.loads(done.stdout)["status"].get("token")
    except (
        OSError,
        subprocess.CalledProcessError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ):
        raise CommandError(
            f"the plugin {argv[0]} of your kubeconfig gave no token: run a kubectl command first"
        ) from None
    return str(token or "")
