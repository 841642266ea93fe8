"""Figures read off the samples of a run."""

from statistics import median

from scale_tests.benches.client_server.experiment import Run
from scale_tests.measure import spread
from scale_tests.measure.spread import Cell, read


def run_of(cell: Cell) -> Run:
    """The plan of a cell's run."""
    return read(Run, cell)


def lasted(cell: Cell) -> float:
    """Seconds from the start of the run to its end."""
    return float(cell["samples"][-1]["second"])


def peak(cell: Cell) -> float:
    """The most memory of a server, in MiB."""
    return max(_memory(cell))


def settled(cell: Cell) -> float:
    """The median memory of the largest server in the last quarter of a run, in MiB."""
    memory = _memory(cell)
    return median(memory[-max(1, len(memory) // 4) :])


def growth(cell: Cell) -> float:
    """The median memory of the last quarter of a run over that of its second quarter."""
    return spread.growth(_memory(cell))


def is_exact(cell: Cell) -> bool:
    """Whether all nodes ended with the same counter, to the last increment."""
    return cell["outcome"] == "finished" and (
        (cell["digests"], cell["values"]) == (1, [cell["increments_sum"]])
    )


def dropped(cell: Cell) -> int:
    """Messages that were not delivered, above all states that a newer one replaced in a lane.

    Of all nodes; of the servers while they answered, where the run was ended early.
    """
    return int(cell.get("dropped", max(sample["dropped"] for sample in cell["samples"])))


def answered_percent(cell: Cell) -> float:
    """The share of the samples at which every server answered."""
    samples = cell["samples"]
    answered = [sample for sample in samples if sample["servers_answering"] == cell["servers"]]
    return 100 * len(answered) / len(samples)


def last_answer(cell: Cell) -> float | None:
    """The second of the run at which a server answered last; None if none ever has."""
    answered = [sample["second"] for sample in cell["samples"] if sample["servers_answering"]]
    return float(answered[-1]) if answered else None


def ending(cell: Cell) -> str:
    """The ending of a run, as a sentence without a full stop."""
    seconds = f"{lasted(cell):,.0f} s"
    match cell["outcome"]:
        case "finished" if is_exact(cell):
            return f"finished after {seconds}: every node holds {cell['increments_sum']:,}"
        case "finished":
            return f"finished after {seconds}, with counters that are not exact"
        case "collapsed":
            return (
                f"collapsed: ended after {seconds}, when a server held {peak(cell):,.0f} MiB of "
                f"the {cell['memory_limit']:,.0f} it was given; {_silence(cell)}"
            )
        case "killed":
            return (
                f"collapsed: the kernel killed a server after {seconds} for want of memory; it had "
                f"been seen with {peak(cell):,.0f} MiB; {_silence(cell)}"
            )
        case _:
            return f"stalled: ended after {seconds}, when nothing had moved for long"


def _silence(cell: Cell) -> str:
    last = last_answer(cell)
    if last is None:
        return "it had answered no question"
    if last == lasted(cell):
        return "it answered questions to the end"
    return f"the last question that it answered was at {last:,.0f} s"


def _memory(cell: Cell) -> list[float]:
    return [float(sample["memory_mib"]) for sample in cell["samples"]]
