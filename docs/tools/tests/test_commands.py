"""Mistakes in commands are found."""

import pytest

from docs.tools import commands, shell
from docs.tools.commands import value_problems


def problems(script: str) -> list[str]:
    return [p for command in shell.commands(script) for p in commands.problems(command)]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("make demp", "make knows no target demp"),
        ("make e2e QUICKLY=1", "make knows no variable QUICKLY"),
        ("partisan_vreify list", "no script partisan_vreify"),
        ("kubctl get pcl", "unknown program kubctl"),
        ("kubectl gte pcl", "kubectl gte is on no other page"),
        ("kubectl apply -f examples/no.yaml", "no file examples/no.yaml"),
        ("kubectl partisan rollout redo ads", "argument COMMAND: invalid choice: 'redo'"),
        ("kubectl partisan top ads --cuont 1", "unrecognized arguments: --cuont 1"),
        ("kubectl wait pcl/ads --for=condition=Redy", "no condition Redy"),
        ("kubectl wait pcl/ads --for=jsonpath='{.status.fase}'=Ready", "no field status.fase"),
        ("kubectl wait pcl/ads --for=jsonpath='{.status.phase}'=Redy", "is never Redy"),
        ("kubectl get pcl ads -o jsonpath='{.spec.overlay.knid}'", "no field spec.overlay.knid"),
        ("kubectl patch pcl ads -p '{\"spec\": {\"size\": 1}}'", ".spec.size is unknown"),
        ('kubectl patch pcl ads -p \'[{"op": "remove", "path": "/spec/size"}]\'', "/spec/size"),
        ("helm upgrade x charts/partisan-operator --set imgae.tag=a", "has no value imgae.tag"),
        ("python -m images.bilder build", "no module images.bilder"),
        ("python -m images.builder bild", "argument COMMAND: invalid choice: 'bild'"),
        ("python -m images.builder build no-such-image", "no-such-image has no Dockerfile"),
        ("python -m scale_tests.localkube load-image build/images/no.tar", "no image no"),
    ],
)  # fmt: skip
def test_a_mistake_is_found(script: str, problem: str) -> None:
    (found,) = problems(script)
    assert problem in found


def test_values_may_lead_into_maps_of_the_chart() -> None:
    assert list(value_problems("metrics.podMonitor.labels.release")) == []
    assert list(value_problems("metrics.podMonitor")) == [
        "the chart has no value metrics.podMonitor"
    ]
