"""Manifests that must be refused: a spec, and the text that the refusal names.

By the kind of error. Each is a small valid cluster with some fields replaced.
"""

from scale_tests.e2e.hostile_applications import APPLICATIONS
from scale_tests.e2e.hostile_clusters import CHANNELS, DURATIONS, NUMBERS, OVERLAYS, WORKLOADS
from scale_tests.e2e.hostile_pods import PODS, REFERENCES, RESOURCES
from scale_tests.e2e.hostile_scheduling import SCHEDULING
from scale_tests.e2e.specs import Row

HOSTILE: dict[str, list[Row]] = {
    "overlay": OVERLAYS,
    "number": NUMBERS,
    "duration": DURATIONS,
    "channel": CHANNELS,
    "workload": WORKLOADS,
    "resource": RESOURCES,
    "pod": PODS,
    "application": APPLICATIONS,
    "reference": REFERENCES,
    "scheduling": SCHEDULING,
}
"""All of them, by class."""
