"""Two hundred clients that never end their request: `python -m scale_tests.e2e.slow_clients HOST`.

Each begins a request and waits for what comes; where the connection is closed it begins another.
"""

import asyncio
import sys

from scale_tests.cluster.nodes import HTTP_PORT

CLIENTS = 200


async def slow(host: str) -> None:
    """One client."""
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, HTTP_PORT)
            writer.write(b"GET /status HTTP/1.1\r\nhost:")
            await reader.read()
            writer.close()
        except OSError:
            pass
        # A client that is turned away at once shall not keep a processor busy.
        await asyncio.sleep(0.5)


async def main() -> None:
    """All of them, until the process is ended."""
    await asyncio.gather(*(slow(sys.argv[1]) for _ in range(CLIENTS)))


if __name__ == "__main__":
    asyncio.run(main())
