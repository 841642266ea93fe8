"""The number of series of a cluster, and their cost to a Prometheus at full size.

Series depend on channels, not on the size of the cluster. For 1,024 nodes a Prometheus scrapes as
many addresses of this machine, each with a page of a real node.
"""

import json
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml

from images.builder.prometheus import TOOLSET
from scale_tests.cluster import programs
from scale_tests.cluster.monitoring.exposition import Page
from scale_tests.cluster.wait import wait_for

NODES = 1024
"""The size of the largest cluster."""

PER_CHANNEL = 35
"""The most series that a channel of a node makes; twelve of them are reasons to drop a message."""

FIXED = 80
"""All other series of a node, at most, including those that Prometheus adds for a target."""

OF_TARGET = 5
"""Series that Prometheus itself writes of each target: `up` and the duration of a scrape."""


@dataclass(frozen=True, kw_only=True)
class NodeSeries:
    """The series of one node."""

    fixed: int
    """Without those of channels, and with those that Prometheus makes of a target."""

    channels: dict[str, int]
    """By channel."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.fixed + sum(self.channels.values())


@dataclass(frozen=True, kw_only=True)
class Load:
    """The cost of a cluster of the largest size to a Prometheus that scrapes nothing else."""

    series: int
    memory_bytes: int
    scraped_nodes: int


def bound(channels: int) -> int:
    """The most series that a node may make, with so many channels, the overlay's included."""
    return FIXED + PER_CHANNEL * channels


def node_series(page: str) -> NodeSeries:
    """Counts the series of a node's `/metrics`."""
    found = Counter(dict(labels).get("channel", "") for _, labels in Page.parse(page).samples)
    return NodeSeries(fixed=OF_TARGET + found.pop("", 0), channels=dict(found))


def measure(page: str, *, nodes: int = NODES, interval: str = "15s") -> Load:
    """Scrapes `nodes` targets that answer with `page`, by a Prometheus of its own.

    The default of `interval` is the chart's. Raises ExpectedError, StalledError.
    """
    with tempfile.TemporaryDirectory() as directory, _answering(page) as port:
        # All of 127.0.0.0/8 is this machine.
        targets = [f"127.1.{n >> 8}.{n & 255}:{port}" for n in range(nodes)]
        static = [{"targets": targets, "labels": {"partisan_cluster": "large"}}]
        job = {"job_name": "nodes", "scrape_interval": interval, "static_configs": static}
        config = Path(directory) / "prometheus.yml"
        config.write_text(yaml.safe_dump({"scrape_configs": [job]}))
        with _prometheus(config) as address:
            scraped = wait_for(
                f"a scrape of {nodes} nodes",
                lambda: _value(address, "sum(up)"),
                lambda value: value == nodes,
            )
            # The second round finds all series there: what is held then is what it takes to stay.
            wait_for(
                "a second scrape of each node",
                lambda: _value(address, "count(count_over_time(up[5m]) >= 2)"),
                lambda value: value == nodes,
            )
            own = Page.at(f"{address}/metrics")
    return Load(
        series=int(own.total("prometheus_tsdb_head_series")),
        memory_bytes=int(own.total("process_resident_memory_bytes")),
        scraped_nodes=int(scraped),
    )


@contextmanager
def _answering(page: str) -> Iterator[int]:
    """A server on all addresses that answers every request with `page`; gives its port."""
    body = page.encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Says nothing: there are hundreds of requests a second."""

    with ThreadingHTTPServer(("0.0.0.0", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


@contextmanager
def _prometheus(config: Path) -> Iterator[str]:
    """A Prometheus with this configuration and an empty store; yields its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        address = f"127.0.0.1:{server.server_address[1]}"
    argv = [
        *(str(TOOLSET.ensure_built() / "prometheus"), f"--config.file={config}"),
        *(f"--storage.tsdb.path={config.parent / 'data'}", "--log.level=error"),
        f"--web.listen-address={address}",
    ]
    url = f"http://{address}"
    with programs.running("prometheus", argv, config.parent, obstacle=lambda: _obstacle(url)):
        yield url


def _obstacle(address: str) -> str:
    try:
        _page(f"{address}/-/ready")
    except URLError as error:
        return str(error)
    return ""


def _value(address: str, expression: str) -> float:
    answer = json.loads(_page(f"{address}/api/v1/query?{urlencode({'query': expression})}"))
    result = answer["data"]["result"]
    return float(result[0]["value"][1]) if result else 0.0


def _page(url: str) -> str:
    with urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())
