"""Proxies a node's HTTP port and answers one path as a faulty node would.

    python -m scale_tests.e2e.faulty_node PORT NODE_PORT PATH MANNER

Requests for other paths are passed on to the node, and its answers back.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from functools import partial

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"


async def hang(client: Client, _asked: bytes, _node_port: int) -> None:
    """Accepts the request and sends nothing, until the client gives up."""
    await client[0].read()


async def nonsense(client: Client, _asked: bytes, _node_port: int) -> None:
    """Answers at once, with invalid JSON."""
    await _say(client, _HEAD + b'<html>{"node": ')


async def endless(client: Client, _asked: bytes, _node_port: int) -> None:
    """Answers without ever coming to an end."""
    await _say(client, _HEAD + b'{"node": "')
    while True:
        await _say(client, b"a" * 65536)


async def impostor(client: Client, asked: bytes, node_port: int) -> None:
    """Answers with the node's own report under the name of another."""
    report = await _report(asked, node_port)
    await _say(client, _HEAD + json.dumps(report | {"node": "another-node"}).encode())


async def boast(client: Client, asked: bytes, node_port: int) -> None:
    """Answers with the node's own report and an impossible figure."""
    report = await _report(asked, node_port)
    await _say(client, _HEAD + json.dumps(report | {"incarnation": 10**30}).encode())


MANNERS: dict[str, Callable[[Client, bytes, int], Awaitable[None]]] = {
    manner.__name__: manner for manner in (hang, nonsense, endless, impostor, boast)
}


async def serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, node: int, path: str, manner: str
) -> None:
    """Answers one connection, which carries one request."""
    try:
        asked = await reader.readuntil(b"\r\n\r\n")
        if asked.split(b" ", 2)[1].decode().partition("?")[0] == path:
            await MANNERS[manner]((reader, writer), asked, node)
        else:
            await _pass_on(reader, writer, asked, node)
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # the client has gone
    finally:
        writer.close()


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: bytes, node: int
) -> None:
    from_node, to_node = await asyncio.open_connection("127.0.0.1", node)
    to_node.write(asked)
    body = asyncio.create_task(_copy(reader, to_node))
    try:
        await _copy(from_node, writer)
    finally:
        body.cancel()
        to_node.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def _report(asked: bytes, node: int) -> dict[str, object]:
    """The report of the node itself."""
    from_node, to_node = await asyncio.open_connection("127.0.0.1", node)
    to_node.write(asked)
    answer = await from_node.read()
    to_node.close()
    report: dict[str, object] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return report


async def _say(client: Client, data: bytes) -> None:
    client[1].write(data)
    await client[1].drain()


async def main(port: int, node: int, path: str, manner: str) -> None:
    """Listens until it is killed."""
    handler = partial(serve, node=node, path=path, manner=manner)
    server = await asyncio.start_server(handler, port=port)
    print("listening", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]))
