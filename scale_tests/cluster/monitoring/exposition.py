"""Figures out of a page of metrics in Prometheus's format, and what came between two of them."""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

Labels = tuple[tuple[str, str], ...]

READS = frozenset({"get", "list", "watch"})
"""The verbs of requests to the API server that change nothing."""

_NO_CLUSTER = ("Lease", "APIResourceList")
"""Kinds that the operator asks for without any cluster: leader election, and what is served."""


@dataclass(frozen=True)
class Page:
    """The samples of a page."""

    samples: Mapping[tuple[str, Labels], float]

    @classmethod
    def parse(cls, text: str) -> "Page":
        """Reads a page."""
        return cls(
            {
                (sample.name, tuple(sorted(sample.labels.items()))): sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
            }
        )

    @classmethod
    def at(cls, url: str) -> "Page":
        """Fetches a page. Raises OSError."""
        with urlopen(url, timeout=30) as answer:
            return cls.parse(answer.read().decode())

    def total(self, name: str) -> float:
        """The sum of a series over all of its labels; 0 where it has no sample."""
        return sum(value for (found, _), value in self.samples.items() if found == name)

    def calls(self) -> dict[str, float]:
        """The operator's requests to the API server for its clusters so far, by verb."""
        found: dict[str, float] = defaultdict(float)
        for (name, labels), value in self.samples.items():
            if name == "partisan_operator_api_calls_total":
                by = dict(labels)
                found[by["verb"]] += value if by["kind"] not in _NO_CLUSTER else 0
        return found

    def buckets(self, histogram: str) -> dict[float, float]:
        """The cumulative counts of a histogram by upper bound, summed over its other labels."""
        counts: dict[float, float] = defaultdict(float)
        for (found, labels), value in self.samples.items():
            if found == f"{histogram}_bucket":
                counts[float(dict(labels)["le"])] += value
        return dict(sorted(counts.items()))


def quantile(share: float, earlier: Page, later: Page, histogram: str) -> float:
    """The quantile of a histogram's growth between two pages, as Prometheus estimates it.

    Linear within a bucket; infinite above the last finite bound; NaN without observations.
    """
    before, after = earlier.buckets(histogram), later.buckets(histogram)
    bounds = [0.0, *after]
    counts = [0.0, *(count - before.get(bound, 0.0) for bound, count in after.items())]
    # The last bucket holds all that the histogram has counted.
    if counts[-1] == 0:
        return math.nan
    rank = share * counts[-1]
    bucket = bisect_left(counts, rank, lo=1)
    low, high = bounds[bucket - 1], bounds[bucket]
    if math.isinf(high):
        return high
    below = counts[bucket - 1]
    return low + (high - low) * (rank - below) / (counts[bucket] - below)
