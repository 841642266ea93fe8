"""One question to a name server, to see that the cluster's resolver answers."""

import secrets
import socket
import struct

ADDRESS_QUERY = struct.pack("!HH", 1, 1)
"""Type A, class IN."""


def query(name: str, identifier: int) -> bytes:
    """The packet that asks for the IPv4 addresses of `name` (RFC 1035, section 4)."""
    header = struct.pack("!6H", identifier, 0x0100, 1, 0, 0, 0)
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return header + labels + b"\0" + ADDRESS_QUERY


def obstacle(server: str, name: str) -> str:
    """The reason why `server` (an address) does not resolve `name`; empty when it does."""
    identifier = secrets.randbelow(1 << 16)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.settimeout(1)
        try:
            connection.connect((server, 53))
            connection.send(query(name, identifier))
            answer = connection.recv(512)
        except OSError as error:
            return f"resolver {server}: {error}"
    answered, flags, _questions, answers = struct.unpack("!4H", answer[:8])
    if answered != identifier or flags & 0x000F or not answers:
        return f"resolver {server} knows no {name} yet (code {flags & 0x000F})"
    return ""
