"""The machine's memory, made the machine's own before anything is measured."""

from __future__ import annotations

import mmap

_BLOCK = 256 * 1024 * 1024


def settle(size: int) -> int:
    """Touches so many bytes of memory, once, in whole blocks; returns how many.

    A hypervisor gives a virtual machine its pages when they are touched for the first time, which
    takes several times what a page fault takes after that. Whoever is measured first would pay.
    """
    blocks = [
        mmap.mmap(-1, _BLOCK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)
        for _ in range(size // _BLOCK)
    ]
    for block in blocks:
        block.close()
    return len(blocks) * _BLOCK
