"""`web [NAME]`: the live page in the browser, with the user's own rights."""

import re
import webbrowser
from argparse import Namespace
from collections.abc import Callable, Iterator
from threading import Thread

from partisan_operator.cli import access
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.credential import bearer_token
from partisan_operator.cli.kubectl import Json, core
from partisan_operator.cli.local_page import LocalPage

LABELS = "partisan.dev/console=true"
"""Label of the Service in front of the page."""

OPERATOR_NAMESPACE = "partisan-system"
"""Where the Service is unless the user names another namespace.

It is not searched for: the user's token goes to it, and could be sent to the Service of anyone who
may create one somewhere.
"""

_FORWARDED = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+) ")


def run(
    context: Context, arguments: Namespace, browse: Callable[[str], object] = webbrowser.open
) -> int:
    """Serve the page on this host until interrupted, or until the port-forward ends."""
    fragment = ""
    if arguments.name:
        cluster = access.cluster_of(context, arguments.name)
        fragment = f"#{context.namespace}/{cluster.name}"
    service = _service(context, arguments.operator_namespace)
    namespace, name = service["metadata"]["namespace"], service["metadata"]["name"]
    token = bearer_token(context.api, context.namespace, arguments.service_account)
    lines = context.api.stream(
        [
            "port-forward",
            f"--namespace={namespace}",
            "--address=127.0.0.1",
            f"service/{name}",
            f":{service['spec']['ports'][0]['port']}",
        ]
    )
    page = LocalPage(_port(lines), token)
    Thread(target=page.serve_forever, daemon=True).start()
    try:
        url = page.url() + fragment
        context.write(f"The live page, until Ctrl-C: {url}")
        if not arguments.no_open:
            browse(url)
        for _ in lines:
            pass
    finally:
        page.shutdown()
        page.server_close()
    raise CommandError("the connection to the operator has ended: run the command again")


def _port(lines: Iterator[str]) -> int:
    for line in lines:
        if match := _FORWARDED.match(line):
            return int(match[1])
    raise CommandError("kubectl port-forward ended without a port, its error is above")


def _service(context: Context, namespace: str) -> Json:
    """Find the Service in front of the page; raises `CommandError` without exactly one."""
    found = context.api.items(core(namespace, "services"), labels=LABELS)
    if not found:
        raise CommandError(
            f"no operator serves the live page in the namespace {namespace}: set console.enabled in"
            " its chart, or name its namespace with --operator-namespace"
        )
    if len(found) > 1:
        names = ", ".join(sorted(item["metadata"]["name"] for item in found))
        raise CommandError(
            f"several Services of the namespace {namespace} have the label {LABELS}: {names}; the"
            " operator's alone may have it"
        )
    return found[0]
