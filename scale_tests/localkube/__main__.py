"""Runs the command line."""

import sys

from scale_tests.localkube.cli import main

sys.exit(main())
