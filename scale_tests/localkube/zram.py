"""Compressed swap in memory (zram), so that a machine holds more pods: most memory is idle."""

from pathlib import Path

from scale_tests.host.commands import ExpectedError, capture
from scale_tests.localkube.settings import Settings

CONTROL = Path("/sys/class/zram-control")
"""The kernel's control directory; reading `hot_add` makes a device and returns its number."""

BLOCK = Path("/sys/block")
SWAPS = Path("/proc/swaps")


def ensure(settings: Settings) -> None:
    """Swaps to as much compressed memory as the settings say.

    Raises ExpectedError: the kernel has no zram; CommandError: swapped data does not fit into
    memory, for one.
    """
    size = settings.zram_mib << 20
    name = _name(settings)
    swapped = is_swap(SWAPS.read_text(), f"/dev/{name}")
    if size != (int((BLOCK / name / "disksize").read_text()) if swapped else 0):
        remove(settings)
        if size:
            _add(settings, size)


def remove(settings: Settings) -> None:
    """Removes the device that `ensure` has made, if there is one. Raises CommandError."""
    name = _name(settings)
    if not name:
        return
    if is_swap(SWAPS.read_text(), f"/dev/{name}"):
        capture(["swapoff", f"/dev/{name}"])
    if (BLOCK / name).exists():
        (CONTROL / "hot_remove").write_text(name.removeprefix("zram"))
    _note(settings).unlink()


def is_swap(swaps: str, device: str) -> bool:
    """Whether the machine swaps to a device; `swaps` is the text of /proc/swaps."""
    return any(line.split()[:1] == [device] for line in swaps.splitlines())


def _add(settings: Settings, size: int) -> None:
    if not CONTROL.is_dir():
        raise ExpectedError("--zram-mib: this kernel has no zram (modprobe zram); leave it out")
    number = (CONTROL / "hot_add").read_text().strip()
    _note(settings).write_text(number)
    block = BLOCK / f"zram{number}"
    if "lz4" in (block / "comp_algorithm").read_text():
        (block / "comp_algorithm").write_text("lz4")
    (block / "disksize").write_text(str(size))
    device = f"/dev/zram{number}"
    capture(["mkswap", device])
    # Before the machine's own swap, which is on a disk.
    capture(["swapon", "--priority", "100", device])


def _name(settings: Settings) -> str:
    """The name of the device that `ensure` has made; empty if there is none."""
    note = _note(settings)
    return f"zram{note.read_text()}" if note.exists() else ""


def _note(settings: Settings) -> Path:
    """The file with the device's number: a reboot removes both."""
    return settings.run / "zram"
