"""The number of pods that a machine's memory holds."""

import pytest

from scale_tests.localkube.memory import Memory, of_machine

MACHINE = 24 * 1024


def test_pods_share_the_remaining_memory() -> None:
    assert Memory(machine_mib=MACHINE, zram_mib=0).pods == (24 * 1024 - 2560) // 22
    assert Memory(machine_mib=1024, zram_mib=0).pods == 0
    assert Memory(machine_mib=1 << 20, zram_mib=0).pods == 1200


def test_compressed_swap_adds_half_of_its_size() -> None:
    few, many = (Memory(machine_mib=8192, zram_mib=mib).pods for mib in (0, 2200))
    assert many - few == 50


def test_so_much_swap_as_pods_need_suffices() -> None:
    wanted = Memory(machine_mib=MACHINE, zram_mib=0).zram_for(1100)
    assert wanted == 5120
    assert Memory(machine_mib=MACHINE, zram_mib=wanted).pods >= 1100


@pytest.mark.parametrize(("machine", "pods"), [(4096, 1000), (MACHINE, 1201)])
def test_no_swap_makes_a_small_machine_a_large_one(machine: int, pods: int) -> None:
    assert Memory(machine_mib=machine, zram_mib=0).zram_for(pods) is None


def test_advice_is_a_command_that_makes_room() -> None:
    machine = Memory(machine_mib=MACHINE, zram_mib=0)
    assert machine.advice(600) == "`python -m scale_tests.localkube up --max-pods 600` makes more"
    assert machine.advice(1100) == (
        "the 24.0 GiB of this machine hold 1,000 pods of 22 MiB next to 2.5 GiB for the rest; "
        "`python -m scale_tests.localkube up --max-pods 1100 --zram-mib 5120` adds compressed swap"
    )
    assert machine.advice(1300).endswith("for the rest")


def test_this_machine_has_memory() -> None:
    assert of_machine().machine_mib > 0
