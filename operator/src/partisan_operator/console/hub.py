"""Turns what the loops find into one numbered sequence of changes, and hands it to the viewers.

== Cost ==

Without viewers a reconcile stores three references. With viewers each cluster is rendered and
compared once per reconcile, and details only while a viewer has the cluster open; a change is
encoded once for all. Changes without viewers appear as one, when the next viewer comes.

== Order ==

All of it runs in the event loop without a wait in between, so a viewer that subscribes gets a
snapshot and every later change, and none twice.
"""

import logging
import secrets
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field

from partisan_operator.api import metrics
from partisan_operator.console.history import Change, History, Part, encoded
from partisan_operator.console.links import LinkRates
from partisan_operator.console.patches import Document, delta
from partisan_operator.console.view import VERSION, details, event, numbered, summary
from partisan_operator.console.viewer import MAX_PENDING, Selection, Viewer
from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.traffic import channel_names
from partisan_operator.status.announcements import Announcement
from partisan_operator.status.audience import Audience

logger = logging.getLogger(__name__)

KEEP_ALIVE = 15.0
"""Seconds of silence after which a comment is sent, so that proxies keep the connection."""

MAX_EVENTS = 64
"""Most Events of one cluster that are kept."""

MAX_DETAILS = 16
"""Clusters whose details are kept after their last viewer has left."""

NODES_PER_SECOND = 170
"""Nodes of an open cluster that are observed per second: 32 each second, 1,024 every 6 seconds."""

_Key = tuple[str, str]


@dataclass
class _Cluster:
    """The last reconcile of a cluster."""

    cluster: PartisanCluster
    status: PartisanClusterStatus
    observation: Observation | None = None
    events: deque[tuple[int, Document]] = field(default_factory=lambda: deque(maxlen=MAX_EVENTS))
    rates: LinkRates = field(default_factory=LinkRates)
    observations: int = 0
    """By this leader."""


class Hub(Audience):
    """The stream of one scope, while this process is its leader."""

    def __init__(self, clock: Callable[[], float] = time.time, *, limit: int | None = None) -> None:
        """Make a hub without an epoch; `clock` in seconds since 1970, `limit` of the history."""
        self._clock, self._limit = clock, limit
        self._wake: Callable[[str, str], None] = lambda namespace, name: None
        self._viewers: set[Viewer] = set()
        self._open: Counter[_Key] = Counter()
        self._reset()

    def _reset(self) -> None:
        for viewer in self._viewers:
            viewer.close()
        self.epoch = secrets.token_hex(4)
        self.began_at = round(self._clock(), 3)
        self._history = History() if self._limit is None else History(self._limit)
        self._clusters: dict[_Key, _Cluster] = {}
        self._documents: dict[Part, Document] = {}
        self._texts: dict[Part, bytes] = {}
        self._sequence = self._announcements = 0

    # What the loops report.

    def began(self, wake: Callable[[str, str], None]) -> None:
        """Begin a new epoch: the history starts anew."""
        self._wake = wake
        self._reset()

    def ended(self) -> None:
        """End all streams: the next leader continues."""
        self._reset()

    def observed(
        self, cluster: PartisanCluster, status: PartisanClusterStatus, observation: Observation
    ) -> None:
        """Take over the result of a reconcile."""
        entry = self._store(cluster, status)
        entry.observation = observation
        entry.observations += 1
        self._refresh(cluster)

    def failed(self, cluster: PartisanCluster, status: PartisanClusterStatus) -> None:
        """Take over the reason of a failed reconcile."""
        self._store(cluster, status)
        self._refresh(cluster)

    def announced(self, cluster: PartisanCluster, announcement: Announcement) -> None:
        """Add an Event, to the details as they are: the reconcile that follows renders them."""
        entry = self._store(cluster, None)
        self._announcements += 1
        entry.events.append((self._announcements, event(announcement, self._clock())))
        part = Part("details", cluster.namespace, cluster.name)
        if self.watches(cluster) and part in self._documents:
            self._publish(part, {**self._documents[part], "events": numbered(entry.events)})

    def forgotten(self, namespace: str, name: str) -> None:
        """Remove a cluster from the page."""
        self._clusters.pop((namespace, name), None)
        for section in ("clusters", "details"):
            self._publish(Part(section, namespace, name), None)

    def watches(self, cluster: PartisanCluster) -> bool:
        """Whether a viewer has the cluster open."""
        return self._open[cluster.namespace, cluster.name] > 0

    def pause(self, cluster: PartisanCluster, pause: float, elapsed: float) -> float:
        """Observe a cluster that a viewer has open more often."""
        if not self.watches(cluster):
            return pause
        period = max(1.0, cluster.spec.replicas / NODES_PER_SECOND)
        return min(pause, max(0.0, period - elapsed))

    def _store(self, cluster: PartisanCluster, status: PartisanClusterStatus | None) -> _Cluster:
        key = (cluster.namespace, cluster.name)
        entry = self._clusters.get(key)
        if entry is None or entry.cluster.uid != cluster.uid:
            entry = self._clusters[key] = _Cluster(cluster, status or cluster.status)
        entry.cluster = cluster
        entry.status = status or entry.status
        return entry

    # What the viewers receive.

    async def stream(self, selection: Selection, last: str = "") -> AsyncGenerator[bytes]:
        """Yield server-sent events, until this process is no longer the leader.

        `last` is the id of the last event that the viewer has, or empty.
        """
        viewer = self._subscribe(selection)
        try:
            replay = self._replay(selection, last)
            if replay is None:
                yield self._snapshot(selection, self._reason(last))
            else:
                yield b"".join(self._framed(change, selection) for change in replay) or b": ok\n\n"
            # What a closed viewer has left may be of another epoch than its ids would say.
            while await viewer.wait(KEEP_ALIVE):
                changes = viewer.take()
                if viewer.behind:
                    viewer.behind = False
                    yield self._snapshot(selection, "behind")
                elif changes:
                    yield b"".join(self._framed(change, selection) for change in changes)
                else:
                    yield b": keep-alive\n\n"
        finally:
            self._viewers.discard(viewer)
            if selection.cluster is not None:
                self._open.subtract([selection.cluster])
                # Without those that are not open: a viewer chooses the names.
                self._open = +self._open

    async def history(self, selection: Selection) -> AsyncGenerator[bytes]:
        """Yield the changes kept, as lines of JSON: first the document before them."""
        document: Document = {"clusters": {}, "details": {}}
        for part, content in self._history.base():
            if selection.admits(part):
                document[part.section][part.key] = content
        changes = self._history.changes()
        yield encoded({**self._head("history"), "document": document}) + b"\n"
        for change in changes:
            if selection.admits(change.part):
                yield change.data + b"\n"

    def _subscribe(self, selection: Selection) -> Viewer:
        viewer = Viewer(selection)
        first = not self._viewers
        self._viewers.add(viewer)
        if selection.cluster is not None:
            self._open[selection.cluster] += 1
            self._trim()
            if selection.cluster in self._clusters:
                # The loop may be in a long pause.
                self._wake(*selection.cluster)
        keys = [*self._clusters] if first else [selection.cluster] if selection.cluster else []
        for key in keys:
            if entry := self._clusters.get(key):
                self._refresh(entry.cluster)
        # Its first event shows all of that.
        viewer.take()
        viewer.behind = False
        return viewer

    def _trim(self) -> None:
        """Drop the details of some clusters that no viewer has open."""
        kept = [part for part in self._documents if part.section == "details"]
        for part in kept[: max(0, len(kept) - MAX_DETAILS)]:
            if not self._open[part.namespace, part.name]:
                self._publish(part, None)

    def _replay(self, selection: Selection, last: str) -> list[Change] | None:
        epoch, _, rest = last.partition("-")
        sequence, _, mark = rest.partition("-")
        if epoch != self.epoch or mark != selection.mark or not sequence.isdecimal():
            return None
        changes = self._history.since(int(sequence), self._sequence)
        if changes is None:
            return None
        seen = [change for change in changes if selection.admits(change.part)]
        return seen if sum(len(change.data) for change in seen) <= MAX_PENDING else None

    def _reason(self, last: str) -> str:
        if not last:
            return "start"
        return "resumed" if last.partition("-")[0] == self.epoch else "leader"

    def _snapshot(self, selection: Selection, reason: str) -> bytes:
        metrics.console_snapshots.labels(reason).inc()
        head = encoded(self._head(reason))
        sections = b",".join(
            b'"%s":{%s}' % (name.encode(), b",".join(self._parts(name, selection)))
            for name in ("clusters", "details")
        )
        data = head[:-1] + b',"document":{' + sections + b"}}"
        return self._frame("snapshot", self._sequence, selection, data)

    def _parts(self, section: str, selection: Selection) -> Iterator[bytes]:
        for part, document in self._documents.items():
            if part.section == section and selection.admits(part):
                if part not in self._texts:
                    self._texts[part] = encoded(part.key) + b":" + encoded(document)
                yield self._texts[part]

    def _head(self, reason: str) -> Document:
        return {
            "version": VERSION,
            "epoch": self.epoch,
            "began_at": self.began_at,
            "sequence": self._sequence,
            "reason": reason,
        }

    def _framed(self, change: Change, selection: Selection) -> bytes:
        return self._frame("change", change.sequence, selection, change.data)

    def _frame(self, kind: str, sequence: int, selection: Selection, data: bytes) -> bytes:
        number = f"{self.epoch}-{sequence}-{selection.mark}"
        return b"event: %s\nid: %s\ndata: %s\n\n" % (kind.encode(), number.encode(), data)

    # From the one to the other.

    def _refresh(self, cluster: PartisanCluster) -> None:
        """Publish the changes of a cluster, if there are viewers."""
        if not self._viewers:
            return
        try:
            self._render(self._clusters[cluster.namespace, cluster.name])
        except Exception:
            # The page must not keep a cluster from being reconciled.
            logger.exception("the page of %s/%s is stale", cluster.namespace, cluster.name)

    def _render(self, entry: _Cluster) -> None:
        cluster, status, observation = entry.cluster, entry.status, entry.observation
        key = (cluster.namespace, cluster.name)
        # The first observation has none to compare its counters with.
        shown = summary(cluster, status, rates=entry.observations != 1)
        self._publish(Part("clusters", *key), shown)
        if self._open[key] and observation is not None:
            rates = entry.rates.update(observation.seen, channel_names(cluster.spec))
            shown = details(cluster, status, observation, numbered(entry.events), rates)
            self._publish(Part("details", *key), shown)

    def _publish(self, part: Part, document: Document | None) -> None:
        before = self._documents.get(part)
        if document is None:
            if self._documents.pop(part, None) is None:
                return
            patch = None
        else:
            # A new part is in the patch even if it is empty.
            patch = document if before is None else delta(before, document)
            if before is not None and not patch:
                return
            self._documents[part] = document
        self._texts.pop(part, None)
        self._sequence += 1
        change = Change.of(self._sequence, part, round(self._clock(), 3), patch)
        self._history.append(change)
        for viewer in self._viewers:
            if viewer.selection.admits(part):
                viewer.put(change)
