"""The file of a backup."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partisan_operator.cli.backup_file import MAX_BYTES, Backup, BackupError, checksum, join, parse

BACKUP = Backup(
    cluster="ads",
    namespace="staging",
    workload="adcounter",
    taken="2026-11-21T18:36:30Z",
    parameters={"b": "1"},
    entries={"a": 1},
)

WRITTEN = (
    b"partisan-backup 1\n"
    b"cluster ads\n"
    b"namespace staging\n"
    b"workload adcounter\n"
    b"taken 2026-11-21T18:36:30Z\n"
    b"parameter b 1\n"
    b"\n"
    b"a 1\n"
)
"""The same in `workload_backup_tests` of the runtime."""

_WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)
_ENTRIES = st.dictionaries(_WORDS, st.integers(1, 2**63 - 1), max_size=20)
_BACKUPS = st.builds(
    lambda cluster, parameters, entries: replace(
        BACKUP, cluster=cluster, parameters=parameters, entries=entries
    ),
    _WORDS,
    st.dictionaries(_WORDS, _WORDS, max_size=5),
    _ENTRIES,
)


def sealed(content: bytes, of: bytes | None = None) -> bytes:
    """Return content with its checksum, or with that of other content."""
    return content + f"sha256 {checksum(content if of is None else of)}\n".encode()


def test_the_format_is_that_of_the_nodes() -> None:
    assert BACKUP.render() == sealed(WRITTEN)


@given(_BACKUPS)
def test_a_backup_reads_as_it_was_written(backup: Backup) -> None:
    assert parse(backup.render()) == backup


@given(_BACKUPS, st.data())
def test_damage_is_found_wherever_it_is(backup: Backup, data: st.DataObject) -> None:
    written = backup.render()
    at = data.draw(st.integers(0, len(written) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != written[at]))
    for damaged in (written[:at], written[:at] + bytes([other]) + written[at + 1 :]):
        with pytest.raises(BackupError):
            parse(damaged)


@given(st.lists(_ENTRIES, min_size=1, max_size=4))
def test_a_join_takes_the_larger_count_of_each_key(replicas: list[dict[str, int]]) -> None:
    backups = [replace(BACKUP, entries=entries) for entries in replicas]
    joined = join(backups)
    keys = {key for entries in replicas for key in entries}
    assert joined.entries == {key: max(entries.get(key, 0) for entries in replicas) for key in keys}
    # Idempotent, and in any order.
    assert join([joined, *backups]) == joined
    assert join(reversed(backups)) == joined


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty"),
        (b"{}", "is not a backup"),
        (b"partisan-backup one\n", "is not a backup"),
        (b"partisan-backup 1", "is not a backup"),
        (b"partisan-backup 1\ncluster ads\n", "is truncated"),
        (WRITTEN, "is truncated"),
        (b"partisan-backup 2\n", "has the format 2, of a later release: upgrade"),
        (b"partisan-backup " + b"9" * 5000 + b"\n", "has the format 9{20}, of a later release"),
        (sealed(WRITTEN + b"b 2\n", of=WRITTEN), "is corrupt"),
        (sealed(WRITTEN + b"b\xc8 2\n"), "no text"),
        (sealed(WRITTEN + b"b\x0b 2\n"), "no entry follows a"),
        (sealed(WRITTEN + b"a 2\n"), "a is out of order"),
        (sealed(WRITTEN + b"b" * 257 + b" 2\n"), "no entry follows a"),
        (sealed(WRITTEN + b"b 0\n"), "no entry follows a"),
        (sealed(WRITTEN + b"b 02\n"), "no entry follows a"),
        (sealed(WRITTEN + b"b -2\n"), "no entry follows a"),
        (sealed(WRITTEN + b"b 9223372036854775808\n"), "no entry follows a"),
        (sealed(WRITTEN + b"b " + b"9" * 9999 + b"\n"), "no entry follows a"),
        (sealed(WRITTEN + b"b 2"), "does not end"),
        (sealed(b"partisan-backup 1\ncluster ads\n"), "header is not that of a backup"),
        (sealed(WRITTEN.replace(b"namespace", b"space")), "header is not that of a backup"),
        (sealed(WRITTEN.replace(b"b 1\n", b"b 1\nparameter b 2\n")), "two values of b"),
        (b"a" * (MAX_BYTES + 1), "more than 1 MiB"),
    ],
)
def test_what_is_no_backup_names_the_problem(data: bytes, problem: str) -> None:
    with pytest.raises(BackupError, match=problem):
        parse(data)


def test_the_counts_of_a_thousand_nodes_fit_a_config_map() -> None:
    entries = {f"ads-s4-{node}/1795286121555265/0": 10**12 for node in range(1000, 2024)}
    assert len(replace(BACKUP, entries=entries).render()) < MAX_BYTES // 16
