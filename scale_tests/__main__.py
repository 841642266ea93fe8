"""`python -m scale_tests BENCH [OPTION ...]` runs a benchmark; without BENCH it lists them."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

from scale_tests import benches


def packages() -> dict[str, str]:
    """The package of each benchmark, by its name; its `cli` has what runs, `BENCH`."""
    modules = [module.name for module in iter_modules(benches.__path__)]
    return {name.replace("_", "-"): f"{benches.__name__}.{name}" for name in modules}


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark that the first argument names; returns the exit status."""
    known = packages()
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__, end="\n\n")
        for name, package in known.items():
            summary = (import_module(package).__doc__ or "").partition("\n")[0]
            print(f"  {name:14}  {summary}")
        return 0
    name, *options = arguments
    if name not in known:
        print(f"{name} is no benchmark; there are {', '.join(known)}", file=sys.stderr)
        return 2
    status: int = import_module(f"{known[name]}.cli").BENCH.main(options)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
