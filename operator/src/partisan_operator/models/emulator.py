"""Arguments of the Erlang emulator, without those that a node cannot run with.

This is no protection from the author of a cluster, whose image can do anything as the node. It
turns mistakes into messages.
"""

from typing import Annotated

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, listed, rules
from partisan_operator.models.names import matches, pattern

DISTRIBUTION = (
    "-connect_all",
    "-dist_listen",
    "-epmd_module",
    "-erl_epmd_port",
    "-hidden",
    "-kernel",
    "-name",
    "-nocookie",
    "-proto_dist",
    "-remsh",
    "-rsh",
    "-setcookie",
    "-sname",
    "-ssl_dist_opt",
    "-ssl_dist_optfile",
    "-start_epmd",
)
"""Flags that open or configure Distributed Erlang."""

START = (
    "+V",
    "+b",
    "+i",
    "-args_file",
    "-bindir",
    "-boot",
    "-boot_var",
    "-config",
    "-configfd",
    "-daemon",
    "-detached",
    "-emu_flavor",
    "-emu_type",
    "-env",
    "-extra",
    "-heart",
    "-home",
    "-loader",
    "-mode",
    "-noinput",
    "-noshell",
    "-progname",
    "-root",
    "-version",
)
"""Flags with which the start script starts the release, or with which the emulator would not start
it."""

OPERATOR = ("-lasp", "-node", "-partisan", "-workloads")
"""Applications that the operator configures."""

CODE = ("-eval", "-run", "-s")
"""Flags that run code next to the release."""

TABLES = ("+P", "+Q")
"""Sizes of the tables of processes and ports."""

LEAST_TABLE = 16_384
"""The size that the rules for connections assume, which vm.args has."""


def _refused(flags: tuple[str, ...], why: str) -> Rule:
    return Rule(f"!(self in {listed(flags)})", f"must not be one of {', '.join(flags)}: {why}")


class EmulatorArgument(Resource):
    """A flag of the emulator, with its values."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                f"!(self.flag in {listed(TABLES)}) || (has(self.values) && self.values.size() == 1"
                " && self.values[0].matches('^[0-9]{1,9}$')"
                f" && int(self.values[0]) >= {LEAST_TABLE})",
                f"values of {' and '.join(TABLES)} must be one number of at least {LEAST_TABLE},"
                " which the connections of a node need: raise it, or remove the flag",
                ".values",
            )
        )
    )

    flag: Annotated[
        str,
        Field(
            min_length=2,
            max_length=64,
            json_schema_extra=rules(
                Rule(
                    matches("self", "[+][A-Za-z]+|-[a-z][A-Za-z0-9_]*"),
                    "must be a flag such as +hmax or -my_application, whose values are in values",
                ),
                _refused(
                    DISTRIBUTION,
                    "nodes do not use Distributed Erlang, whose port is open to"
                    " all who know its cookie: remove it",
                ),
                _refused(START, "the start script sets how the release starts: remove it"),
                _refused(
                    OPERATOR,
                    "the operator configures these applications: remove it, and change the spec",
                ),
                _refused(
                    CODE,
                    "a node runs its release alone: make it a workload, and name that in"
                    " workload.custom",
                ),
            ),
        ),
    ]
    """The flag, such as +hmax or -my_application."""

    values: Annotated[
        tuple[Annotated[str, pattern("[^-+$][^$]*", most=1024)], ...], Field(max_length=16)
    ] = ()
    """Its values, each as one word: none starts like a flag, and variables are not expanded."""


EmulatorArguments = Annotated[
    tuple[EmulatorArgument, ...], Field(max_length=32, json_schema_extra=keyed_by("flag"))
]
"""Arguments of the emulator; flags are unique."""
