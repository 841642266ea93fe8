"""The cluster's rules in the machine's packet filter, as text for iptables-restore.

One transaction per table; rules of others are not touched.
"""

import re

from scale_tests.host.commands import capture
from scale_tests.localkube.settings import Settings

CHAIN = "PARTISAN-LOCALKUBE"
"""The prefix of our own chains."""

KUBERNETES_CHAINS = "KUBE-"
"""The prefix of the chains that kube-proxy and the kubelet make."""


def rules(settings: Settings) -> str:
    """The rules of the pod network: pods reach everything, and only this machine reaches them."""
    pods, node = settings.pod_network, settings.node_address
    return f"""\
*filter
:{CHAIN}-FORWARD - [0:0]
-I FORWARD -j {CHAIN}-FORWARD
-A {CHAIN}-FORWARD -s {pods} -j ACCEPT
-A {CHAIN}-FORWARD -d {pods} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A {CHAIN}-FORWARD -d {pods} -j DROP
:{CHAIN}-INPUT - [0:0]
-I INPUT -j {CHAIN}-INPUT
-A {CHAIN}-INPUT -s {pods} -j RETURN
-A {CHAIN}-INPUT -d {node}/32 ! -i lo -j DROP
COMMIT
*nat
:{CHAIN}-NAT - [0:0]
-I POSTROUTING -j {CHAIN}-NAT
-A {CHAIN}-NAT -s {pods} ! -d {pods} -j MASQUERADE
COMMIT
"""


def removal(saved: str, prefixes: tuple[str, ...]) -> str:
    """The iptables-restore script that removes all chains with these prefixes, or an empty one.

    `saved` is the output of iptables-save. Jumps to removed chains go, too.
    """
    script = []
    for table in re.findall(r"^\*.*?^COMMIT$", saved, re.MULTILINE | re.DOTALL):
        lines = table.splitlines()
        chains = [line[1:].split()[0] for line in lines if line.startswith(":")]
        doomed = [chain for chain in chains if chain.startswith(prefixes)]
        if not doomed:
            continue
        jumps = [
            line
            for line in lines
            if line.startswith("-A ")
            and not line.split()[1].startswith(prefixes)
            and _target(line) in doomed
        ]
        script += [
            lines[0],
            *(f":{chain} - [0:0]" for chain in doomed),  # empties it
            *(f"-D {jump.removeprefix('-A ')}" for jump in jumps),
            *(f"-X {chain}" for chain in doomed),
            "COMMIT",
        ]
    return "".join(f"{line}\n" for line in script)


def install(settings: Settings) -> None:
    """Puts our rules in place unless they are, whole. Raises CommandError."""
    saved = capture(["iptables-save"]).splitlines()
    wanted = rules(settings).replace("-I ", "-A ").splitlines()
    if not all(line in saved for line in wanted if line.startswith("-A ")):
        remove_chains("iptables", (CHAIN,))
        add(rules(settings))


def add(script: str, program: str = "iptables") -> None:
    """Runs a script of iptables-restore, which adds to the rules there are. Raises CommandError."""
    capture([f"{program}-restore", "--noflush", "--wait"], stdin=script)


def exists(chain: str) -> bool:
    """Whether there is a chain of this name in the table of filters. Raises CommandError."""
    return f":{chain} " in capture(["iptables-save", "-t", "filter"])


def remove() -> None:
    """Removes our rules and those of kube-proxy and the kubelet. Raises CommandError."""
    for program in ("iptables", "ip6tables"):
        remove_chains(program, (CHAIN, KUBERNETES_CHAINS))


def remove_chains(program: str, prefixes: tuple[str, ...]) -> None:
    """Removes the chains with these prefixes and the jumps to them. Raises CommandError.

    `program` is `iptables` or `ip6tables`.
    """
    if script := removal(capture([f"{program}-save"]), prefixes):
        add(script, program)


def _target(rule: str) -> str:
    """The chain that a rule jumps or goes to; a comment may say anything."""
    found = re.search(r" -[jg] (\S+)", re.sub(r'"[^"]*"', '""', rule))
    return found[1] if found else ""
