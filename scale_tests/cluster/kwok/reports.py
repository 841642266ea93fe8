"""A simulated pod's `GET /status`: joined, without a workload, as large as a node's own.

The overlay is one component of any size: neighbours are the ordinals before and after, and those of
a binary tree.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from scale_tests.cluster.partisan import node_name

_PASSIVE = 30
_CHANNELS = ("overlay", "default", "gossip")
_REVISION = re.compile(r'revision => <<"([^"]*)">>')
_MESSAGES_PER_SECOND = 4
_BYTES_PER_MESSAGE = 400
_END_OF_HEAD = b"\r\n\r\n"


@dataclass(slots=True)
class Pod:
    """A simulated pod."""

    cluster: str
    ordinal: int
    started: float
    """In seconds since 1970; also its incarnation."""

    revision: str
    """Of the configuration that it follows."""

    @property
    def name(self) -> str:
        """Its name, which is the node's."""
        return node_name(self.cluster, self.ordinal)


def revision_in(configuration: str) -> str:
    """The revision that the text of a node's configuration bears; empty when there is none."""
    found = _REVISION.search(configuration)
    return found[1] if found else ""


def status(pod: Pod, now: float) -> str:
    """A node's report on itself, as JSON. Its counters of traffic rise with time."""
    own = pod.ordinal
    neighbours = {own - 1, own + 1, (own - 1) // 2, 2 * own + 1, 2 * own + 2} - {own}
    active = sorted(ordinal for ordinal in neighbours if ordinal >= 0)
    passive = range(own + 3, own + 3 + _PASSIVE)
    messages = int((now - pod.started) * _MESSAGES_PER_SECOND)
    counted = {"messages": messages, "bytes": messages * _BYTES_PER_MESSAGE}
    traffic = {f"{way}_{k}": n for way in ("sent", "received") for k, n in counted.items()}
    traffic |= {"dropped": 0, "queue_bytes": 0, "connections": len(active)}
    return json.dumps(
        {
            "node": pod.name,
            "incarnation": int(pod.started * 1e6),
            "version": "simulated",
            "otp": "simulated",
            "uptime_seconds": round(now - pod.started, 3),
            "revision": pod.revision,
            "overlay": {
                "kind": "hyparview",
                "former": None,
                "joined": True,
                "active": [node_name(pod.cluster, ordinal) for ordinal in active],
                "passive": [node_name(pod.cluster, ordinal) for ordinal in passive],
            },
            "channels": dict.fromkeys(_CHANNELS, traffic),
            "memory_bytes": 12_000_000,
            "sync_payload_bytes": 0,
            "workload": None,
        }
    )


def answer(pod: Pod | None, request: bytes, now: Callable[[], float]) -> bytes | None:
    """The answer to a request; None while more of the request has to arrive.

    Without a `pod` it is an error. A configuration's revision is adopted; tokens are not checked.
    """
    head, found, body = request.partition(_END_OF_HEAD)
    if not found:
        return None
    method, path, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    if length and len(body) < int(length[1]):
        return None
    match (method, path):
        case _ if pod is None:
            return _response(HTTPStatus.SERVICE_UNAVAILABLE, "no such pod\n")
        case ("GET", "/status"):
            return _response(HTTPStatus.OK, status(pod, now()), "application/json")
        case ("POST", "/configuration"):
            pod.revision = revision_in(body.decode())
            return _response(HTTPStatus.OK, "ok\n")
        case _:
            return _response(HTTPStatus.NOT_FOUND, "a simulated pod does not answer this\n")


def _response(code: HTTPStatus, text: str, kind: str = "text/plain") -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {code.value} {code.phrase}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
