"""`plan -f FILE`: predicts the behaviour and costs of a cluster before its launch."""

import json
import sys
from argparse import Namespace
from pathlib import Path

from partisan_operator.cli import plan_page
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.kubectl import KubectlError
from partisan_operator.models import PartisanCluster
from partisan_operator.predict import Assumptions, manifest, predict, simulator
from partisan_operator.predict.manifest import ManifestError
from partisan_operator.predict.simulator import SimulatorError

_MOST = 1e6
"""Of seconds, zones and pods per second."""


def run(context: Context, arguments: Namespace) -> int:
    """Simulate the cluster of a file, and write the prediction."""
    cluster, assumptions = _cluster(arguments.filename), _assumptions(arguments)
    if arguments.server:
        _check(context, arguments.filename)
    try:
        prediction = predict(
            cluster,
            simulator.find(command=arguments.simulator, image=arguments.image),
            assumptions,
            budget=arguments.budget,
            timeout=arguments.timeout,
            progress=_progress,
        )
    except SimulatorError as error:
        raise CommandError(str(error)) from None
    if arguments.output == "json":
        document = {"cluster": cluster.name, **prediction.json()}
        context.write(json.dumps(document, indent=2))
    else:
        context.write(plan_page.text(cluster.name, prediction))
    if arguments.directory is not None:
        directory: Path = arguments.directory
        directory.mkdir(parents=True, exist_ok=True)
        page = directory / "README.md"
        page.write_text(plan_page.markdown(cluster.name, prediction), encoding="utf-8")
        picture = directory / plan_page.PICTURE
        picture.write_text(plan_page.svg(cluster.name, prediction), encoding="utf-8")
        sys.stderr.write(f"{page} and {picture}\n")
    return 0


def _cluster(name: str) -> PartisanCluster:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        return manifest.load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} cannot be read: {error}") from None
    except ManifestError as error:
        raise CommandError(f"{name}: {error}") from None


def _check(context: Context, name: str) -> None:
    """Check the rules across fields by a dry run at the API server."""
    if name == "-":
        raise CommandError("--server needs a file: give its name with -f")
    try:
        context.api.run(["apply", "--dry-run=server", f"--filename={name}", "--output=name"])
    except KubectlError as error:
        raise CommandError(f"the API server refuses {name}: {error}") from None


def _assumptions(arguments: Namespace) -> Assumptions:
    least, _, most = arguments.latency.partition("-")
    if not least.isdecimal() or not (most or least).isdecimal():
        raise CommandError(f"--latency: {arguments.latency!r} is not a range such as 1-20")
    latency = (int(least), int(most or least))
    if not 1 <= latency[0] <= latency[1]:
        raise CommandError("--latency: at least 1 ms, and the larger one last, such as 1-20")
    for option in ("pods_per_second", "zones", "budget", "timeout"):
        if not 0 < getattr(arguments, option) <= _MOST:
            name = option.replace("_", "-")
            raise CommandError(f"--{name}: must be above 0 and at most a million")
    return Assumptions(
        seed=arguments.seed,
        latency_ms=latency,
        pods_per_second=arguments.pods_per_second,
        zones=arguments.zones,
    )


def _progress(line: str) -> None:
    sys.stderr.write(f"{line}\n")
