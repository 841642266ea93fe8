"""`python -m scale_tests`: the experiments of `scale_tests.experiments`."""

import sys

from scale_tests.experiments.cli import main

sys.exit(main(sys.argv[1:]))
