"""`python -m scale_tests BENCH [OPTION ...]` runs a benchmark; without BENCH it lists them."""

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules

from scale_tests import benches


def names() -> Iterator[str]:
    """The benchmarks, by the names of their packages."""
    for module in iter_modules(benches.__path__):
        yield module.name.replace("_", "-")


def package(name: str) -> str:
    """The package of a benchmark; its `cli` has what runs, `BENCH`."""
    return f"{benches.__name__}.{name.replace('-', '_')}"


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark that the first argument names; returns the exit status."""
    known = list(names())
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__, end="\n\n")
        for name in known:
            summary = (import_module(package(name)).__doc__ or "").partition("\n")[0]
            print(f"  {name:14}  {summary}")
        return 0
    name, *options = arguments
    if name not in known:
        print(f"{name} is no benchmark; there are {', '.join(known)}", file=sys.stderr)
        return 2
    status: int = import_module(f"{package(name)}.cli").BENCH.main(options)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
