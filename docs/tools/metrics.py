"""Writes the operator's metrics into docs/reference/metrics.md, and reads those of the nodes.

`python -m docs.tools.metrics` writes; tests compare.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from partisan_operator.api import metrics
from partisan_operator.api.cluster_metrics import HELP, LABELS, PREFIX
from prometheus_client.metrics import MetricWrapperBase

from scale_tests.host.commands import ROOT
from scale_tests.host.documents import with_part

PAGE = ROOT / "docs/reference/metrics.md"
SOURCES = ROOT / "erlang_node/apps"

_DECLARED = re.compile(
    r"\b(?P<kind>counter|gauge|histogram),\s*(?P<name>\??\w+),\s*"
    r'(?:"(?:[^"\\]|\\.)*"\s*)+,\s*\[(?P<labels>[a-z_,\s]*)\]'
)


@dataclass(frozen=True)
class Metric:
    """A metric with its labels, in the order of its declaration."""

    name: str
    labels: tuple[str, ...]

    def __str__(self) -> str:
        return self.name + (f"{{{','.join(self.labels)}}}" if self.labels else "")


def operator_table() -> str:
    """The metrics of the operator, and those that it has of each cluster."""
    rows = [f"| `{metric}` | {kind} | {text} |" for metric, kind, text in _own()]
    rows += [
        f"| `{Metric(PREFIX + name, LABELS)}` | gauge | {text} |" for name, text in HELP.items()
    ]
    return "\n".join(["| metric | type | meaning |", "|---|---|---|", *rows])


def _own() -> Iterator[tuple[Metric, str, str]]:
    for wrapper in vars(metrics).values():
        if isinstance(wrapper, MetricWrapperBase):
            (family,) = wrapper.describe()
            name = family.name + ("_total" if family.type == "counter" else "")
            yield Metric(name, wrapper._labelnames), family.type, family.documentation


def generated(text: str) -> str:
    """The page with a generated table. Raises ValueError without the marks of its place."""
    return with_part(text, "operator", operator_table())


def declared() -> set[Metric]:
    """The metrics that modules of the nodes declare in one expression, which are most."""
    found = set()
    for source in SOURCES.glob("*/src/**/*.erl"):
        text = source.read_text()
        macro = re.search(r"^-define\(METRIC, (\w+)\)", text, re.MULTILINE)
        for each in _DECLARED.finditer(text):
            name = macro[1] if macro and each["name"] == "?METRIC" else each["name"]
            found.add(Metric(name, tuple(re.findall(r"\w+", each["labels"]))))
    return found


def listed(text: str) -> set[Metric]:
    """The metrics that a page names in code, such as `a_{b,c}_total{channel}`."""
    found = set()
    for code in re.findall(r"`((?:partisan|lasp|adcounter|erlang|process)_[^`*]+)`", text):
        whole = re.fullmatch(r"(\w+?)(?:\{([a-z,]+)\}(?=_))?(\w*?)(?:\{([a-z,]+)\})?", code)
        if whole is not None:
            begin, middle, end, labels = whole.groups(default="")
            names = [f"{begin}{part}{end}" for part in middle.split(",")]
            found |= {Metric(name, tuple(filter(None, labels.split(",")))) for name in names}
    return found


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
