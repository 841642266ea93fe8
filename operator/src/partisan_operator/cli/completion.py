"""`kubectl_complete-partisan`: kubectl's shell completion for the plugin.

kubectl (1.26 and later) runs the program of this name with the words typed so far, the last one
unfinished, and reads a choice on each line, with an explanation after a tab, then `:` and a sum of
bits: 4 for no file names, 2 for no space after the choice.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from partisan_operator.children import naming
from partisan_operator.cli import access, catalogue
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.catalogue import COMMANDS, COMMON, Argument, Command
from partisan_operator.cli.commands import overlay
from partisan_operator.cli.kubectl import Kubectl, KubectlError, core
from partisan_operator.models.overlay import OverlayKind

NO_SPACE, NO_FILES = 2, 4

_COMMON = {flag: flags[-1] for *flags, _ in COMMON for flag in flags}
"""The common options, and their long forms."""


@dataclass(frozen=True)
class Typed:
    """A command line that is not finished."""

    command: Command
    positional: tuple[str, ...]
    """The finished arguments that are not options."""

    options: dict[str, str]


def main() -> int:
    """Write the choices for the words of the command line; an error leaves no choice."""
    words = sys.argv[1:] or [""]
    sys.stdout.write("\n".join(complete(words, _context)) + "\n")
    return 0


def complete(words: Sequence[str], connect: Callable[[dict[str, str]], Context]) -> list[str]:
    """Return the lines that kubectl reads; `connect` makes a context of the options typed."""
    *before, last = words
    try:
        choices = list(_choices(before, last, connect))
    except (CommandError, KubectlError):
        # An error must not appear in an unfinished command line.
        choices = []
    matching = [
        choice for choice in dict.fromkeys(choices) if choice.partition("\t")[0].startswith(last)
    ]
    no_space = NO_SPACE if any(choice.endswith("=") for choice in matching) else 0
    return [*matching, f":{NO_FILES + no_space}"]


def _choices(
    before: Sequence[str], last: str, connect: Callable[[dict[str, str]], Context]
) -> Iterator[str]:
    words, options = _without_common(before)
    if before and before[-1] in _COMMON:
        return
    typed = _typed(words, options)
    if typed is None:
        depth = len(words)
        for command in COMMANDS:
            if command.words[:depth] == tuple(words) and depth < len(command.words):
                whole = depth + 1 == len(command.words)
                yield command.words[depth] + (f"\t{command.summary}" if whole else "")
        return
    if last.startswith("-"):
        yield from (f"{flags[-1]}\t{text}" for *flags, text in COMMON)
        for argument in typed.command.arguments:
            if argument.flags[-1].startswith("--"):
                yield f"{argument.flags[-1]}\t{argument.settings.get('help', '')}"
        return
    yield from _values(typed, words[-1], connect)


def _values(
    typed: Typed, previous: str, connect: Callable[[dict[str, str]], Context]
) -> Iterator[str]:
    """Yield the values of the argument at this place."""
    options = {flag: entry for entry in typed.command.arguments for flag in entry.flags}
    if previous.startswith("-") and previous in options and _takes_value(options[previous]):
        if previous == "--node":
            # Before the name is typed, those of all clusters.
            yield from _nodes(connect(typed.options), next(iter(typed.positional), ""))
        yield from options[previous].settings.get("choices", ())
        return
    places = [entry for entry in typed.command.arguments if not entry.flags[0].startswith("-")]
    if not places:
        return
    place = len(typed.positional)
    what = places[min(place, len(places) - 1)]
    if place >= len(places) and what.settings.get("nargs") != "*":
        return
    match what.flags[0]:
        case catalogue.NAME:
            yield from access.cluster_names(connect(typed.options))
        case catalogue.NODE:
            yield from _nodes(connect(typed.options), "")
        case "kind":
            yield from OverlayKind
        case "parameters":
            kind = overlay.kind_named(typed.positional[1])
            yield from (f"{name}=" for name in overlay.parameter_names(kind))


def _without_common(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the words without the common options, and these options by their long forms."""
    rest, options, left = [], {}, iter(words)
    for word in left:
        flag, equals, value = word.partition("=")
        if flag in _COMMON:
            options[_COMMON[flag]] = value if equals else next(left, "")
        else:
            rest.append(word)
    return rest, options


def _typed(words: Sequence[str], options: dict[str, str]) -> Typed | None:
    """Parse the finished words; None while they are not a complete command."""
    command = next((c for c in COMMANDS if tuple(words[: len(c.words)]) == c.words), None)
    if command is None:
        return None
    own = {flag: entry for entry in command.arguments for flag in entry.flags}
    positional: list[str] = []
    rest = iter(words[len(command.words) :])
    for word in rest:
        if not word.startswith("-"):
            positional.append(word)
        elif word in own and _takes_value(own[word]):
            next(rest, "")
    return Typed(command, tuple(positional), options)


def _takes_value(argument: Argument) -> bool:
    action = argument.settings.get("action")
    return action not in ("store_true", argparse.BooleanOptionalAction)


def _nodes(context: Context, cluster: str) -> list[str]:
    labels = naming.selector(cluster) if cluster else naming.CLUSTER_LABEL
    pods = context.api.items(core(context.namespace, "pods"), labels=labels)
    return sorted((pod["metadata"]["name"] for pod in pods), key=access.ordinal)


def _context(options: dict[str, str]) -> Context:
    api = Kubectl(kubeconfig=options.get("--kubeconfig", ""), context=options.get("--context", ""))
    return Context(api, options.get("--namespace") or api.namespace(), sys.stdout)


if __name__ == "__main__":
    sys.exit(main())
