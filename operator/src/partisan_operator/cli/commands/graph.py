"""`graph NAME`: the overlay as its nodes report it, in the terminal, as DOT or as SVG."""

from argparse import Namespace
from collections import Counter
from pathlib import Path

from partisan_operator.cli import access, picture
from partisan_operator.cli.access import CommandError, Context, Scrape
from partisan_operator.cli.layout import place
from partisan_operator.cli.text import plural, table
from partisan_operator.observe.graph import analyse, links_of

MAX_LISTED = 64
"""Most nodes whose neighbours are listed in the terminal; larger clusters show the picture and the
degrees only."""


def run(context: Context, arguments: Namespace) -> int:
    """Write the graph, to a file where one is named."""
    cluster = access.cluster_of(context, arguments.name)
    found = access.scrape(context, access.pods_of(context, cluster.name))
    if not found.seen:
        raise CommandError(no_answer(cluster.name, found))
    drawn = draw(cluster.name, found, arguments.output)
    if arguments.file is None:
        context.write(drawn)
    else:
        write_file(arguments.file, drawn)
        context.write(f"{arguments.file}: {summary(found)}")
    return 0


def draw(cluster: str, found: Scrape, form: str) -> str:
    """Return the graph in one of the forms `text`, `dot` and `svg`."""
    links = links_of(found.views)
    nodes = sorted(found.views, key=access.ordinal)
    if form == "dot":
        return picture.dot(cluster, nodes, links)
    positions = place(nodes, links)
    title = f"{cluster}: {summary(found)}"
    if form == "svg":
        return picture.svg(title, positions, links)
    return "\n".join([title, "", picture.braille(positions, links), "", *_listing(found)])


def summary(found: Scrape) -> str:
    """Return the figures of the graph on one line."""
    figures = analyse(found.views)
    text = (
        f"{plural(figures.nodes, 'node')}, {plural(figures.links, 'link')},"
        f" {plural(figures.components, 'component')}, {figures.isolated} isolated,"
        f" mean degree {figures.mean_degree:.1f}"
    )
    return f"{text}; {len(found.failures)} did not answer" if found.failures else text


def no_answer(cluster: str, found: Scrape) -> str:
    """Return the reason why there is nothing to show."""
    if not found.failures:
        return f"{cluster} has no pods yet: see kubectl partisan status {cluster}"
    node, why = next(iter(found.failures.items()))
    return f"no node of {cluster} answers, {node} for this reason: {why}"


def write_file(path: Path, text: str) -> None:
    """Write a file. Raises `CommandError` when that cannot be done."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None


def _listing(found: Scrape) -> list[str]:
    links = links_of(found.views)
    neighbours: dict[str, list[str]] = {node: [] for node in found.views}
    for left, right in links:
        neighbours[left].append(right)
        neighbours[right].append(left)
    if len(neighbours) <= MAX_LISTED:
        rows = [("NODE", "DEGREE", "NEIGHBOURS")] + [
            (node, str(len(peers)), " ".join(sorted(peers, key=access.ordinal)) or "none: isolated")
            for node, peers in sorted(neighbours.items(), key=lambda item: access.ordinal(item[0]))
        ]
    else:
        degrees = Counter(len(peers) for peers in neighbours.values())
        widest = max(degrees.values())
        rows = [("DEGREE", "NODES", "")] + [
            (str(degree), str(count), "#" * max(1, 40 * count // widest))
            for degree, count in sorted(degrees.items())
        ]
    silent = [f"{node} did not answer: {why}" for node, why in sorted(found.failures.items())]
    return [table(rows), *silent]
