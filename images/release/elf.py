"""Machine code: which files have it, and for which processor."""

import struct

_MAGIC = b"\x7fELF"
_MACHINES = {62: "amd64", 183: "arm64"}
_MACHINE_AT = 18


def is_elf(content: bytes) -> bool:
    """Whether a file holds machine code."""
    return content.startswith(_MAGIC) and len(content) >= _MACHINE_AT + 2


def architecture(content: bytes) -> str:
    """The architecture of a file with machine code, by its number if it is another one."""
    order = ">" if content[5] == 2 else "<"
    (machine,) = struct.unpack_from(f"{order}H", content, _MACHINE_AT)
    return _MACHINES.get(machine, f"machine {machine}")
