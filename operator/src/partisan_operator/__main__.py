"""Runs the operator: `python -m partisan_operator`, configured by the environment."""

import asyncio
import os
import sys

from partisan_operator import app, logs
from partisan_operator.settings import Settings, SettingsError


def main() -> int:
    """Run until SIGTERM or SIGINT; return the exit status."""
    try:
        settings = Settings.from_environment(os.environ)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    logs.configure(settings)
    asyncio.run(app.run(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
