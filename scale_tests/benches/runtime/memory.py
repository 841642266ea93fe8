"""The machine's memory, made the machine's own before anything is measured."""

import mmap

_BLOCK = 256 * 1024 * 1024


def settle(size: int) -> int:
    """Touches so many bytes in whole blocks; returns how many.

    A hypervisor provides pages when they are first touched, which slows the first measurement.
    """
    blocks = [
        mmap.mmap(-1, _BLOCK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)
        for _ in range(size // _BLOCK)
    ]
    for block in blocks:
        block.close()
    return len(blocks) * _BLOCK
