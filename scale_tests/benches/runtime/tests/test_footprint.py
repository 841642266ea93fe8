"""The parts of a process's memory, as the kernel reports them."""

from scale_tests.benches.runtime.footprint import parse

SMAPS = """\
55d0c0000000-55d0c0100000 r-xp 00000000 fe:00 1 /usr/lib/erlang/erts-13.1.5/bin/beam.smp
Pss:                  32 kB
Private_Clean:         0 kB
Private_Dirty:         0 kB
55d0c1000000-55d0c1100000 rw-p 00000000 00:00 0 [heap]
Pss:                 100 kB
Private_Clean:         0 kB
Private_Dirty:       100 kB
7f0000000000-7f0000100000 rwxs 00000000 00:01 5 /memfd:vmem (deleted)
Pss:                  20 kB
Private_Clean:         4 kB
Private_Dirty:        16 kB
"""


def test_pages_are_counted_by_their_kind() -> None:
    weight = parse(SMAPS)
    assert weight.pss == 152 * 1024
    assert weight.private == 120 * 1024
    assert weight.parts["compiled code of Erlang modules"] == 20 * 1024
    assert weight.parts["the emulator's program and libraries"] == 32 * 1024
    assert len(weight.parts) == 3
