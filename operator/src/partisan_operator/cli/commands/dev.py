"""`dev NAME [DIRECTORY]`: from an edit to running code, with one command."""

import base64
import shlex
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from partisan_operator.cli import access
from partisan_operator.cli.access import AT_ONCE, CommandError, Context
from partisan_operator.cli.commands import rollout
from partisan_operator.cli.kubectl import Json, KubectlError
from partisan_operator.cli.project import Project, project_in, run_in, sources
from partisan_operator.cli.session import session
from partisan_operator.cli.text import plural

PERIOD = 0.5
"""Seconds between two checks of the sources."""

_BUILD, _PUSH = "docker build -t {image} .", "docker push {image}"


def run(
    context: Context,
    arguments: Namespace,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Bring the code of a directory into the nodes, once or after each change.

    Raises `CommandError`; with `watch` an error waits for the next change instead.
    """
    step = _step(context, arguments)
    while True:
        seen = sources(arguments.directory)
        try:
            step()
        except (CommandError, KubectlError) as error:
            if not arguments.watch:
                raise
            context.write(f"{error}\nWaiting for a change")
        if not arguments.watch:
            return 0
        while sources(arguments.directory) == seen:
            sleep(PERIOD)


def _step(context: Context, arguments: Namespace) -> Callable[[], None]:
    name: str = arguments.name
    directory: Path = arguments.directory
    if not directory.is_dir():
        raise CommandError(f"there is no directory {directory}")
    if arguments.image:
        if arguments.beams:
            raise CommandError("--beams is for modules in running nodes: omit it with --image")
        if ":" in arguments.image.rpartition("/")[2]:
            raise CommandError("--image takes no tag: each build gets its own")
        commands = (arguments.build or _BUILD, arguments.load or _PUSH)
        return lambda: _roll(context, name, directory, arguments.image, commands)
    if arguments.load:
        raise CommandError("--load is the command that makes an image available: set --image")
    project = project_in(directory, build=arguments.build, beams=arguments.beams)
    return lambda: _replace(context, name, project)


def _roll(
    context: Context, name: str, directory: Path, repository: str, commands: Sequence[str]
) -> None:
    """Build an image, make it available, and replace the pods."""
    cluster = access.cluster_of(context, name)
    image = f"{repository}:dev-{context.now():%Y%m%d%H%M%S}"
    for command in commands:
        run_in(directory, command.replace("{image}", shlex.quote(image)))
    context.api.merge(context.namespace, access.RESOURCE, cluster.name, {"spec": {"image": image}})
    context.write(f"spec.image: {image}")
    rollout.run_status(context, Namespace(name=name, timeout=0.0, watch=True))


def _replace(context: Context, name: str, project: Project) -> None:
    """Compile the project, and replace its changed modules in the running nodes."""
    started = time.monotonic()
    cluster = access.cluster_of(context, name)
    if not cluster.spec.development:
        patch = """'{"spec": {"development": true}}'"""
        raise CommandError(
            f"{name} is not for development: kubectl -n {context.namespace} patch pcl/{name}"
            f" --type merge -p {patch} (replaces the pods; never in production), or roll an image"
            " with --image"
        )
    run_in(project.directory, project.build)
    modules = project.modules()
    pods = access.pods_of(context, name)
    nodes = [pod["metadata"]["name"] for pod in pods if pod["status"].get("phase") == "Running"]
    if not nodes:
        own = f"kubectl partisan -n {context.namespace}"
        raise CommandError(f"no node of {name} runs: see {own} status {name}")
    with ThreadPoolExecutor(AT_ONCE) as executor:
        answers = list(executor.map(lambda node: _load(context, node, modules), nodes))
    for line in outcome(answers):
        context.write(line)
    context.write(
        f"{plural(len(modules), 'module')} on {plural(len(nodes), 'node')},"
        f" {time.monotonic() - started:.1f} s with the build"
    )


def _load(context: Context, node: str, modules: Sequence[bytes]) -> list[Json]:
    with session(context, node) as opened:
        return [opened.ask("load", base64.b64encode(code).decode()) for code in modules]


def outcome(answers: Sequence[Sequence[Json]]) -> list[str]:
    """Return a line for each module that some node has loaded, from the answers of all nodes."""
    lines = []
    for of_nodes in zip(*answers, strict=True):
        loaded = sum(answer["loaded"] for answer in of_nodes)
        old = sum(answer["old"] for answer in of_nodes)
        if loaded:
            still = f"; {plural(old, 'process', 'es')} still in the version before" if old else ""
            lines.append(f"{of_nodes[0]['module']}: loaded on {plural(loaded, 'node')}{still}")
    return lines or ["No module has changed"]
