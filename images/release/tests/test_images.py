"""Images for several platforms: archives, and machine code of another architecture."""

import io
import struct
import tarfile
from pathlib import Path

import pytest

from images.builder import bases, wheels
from images.builder.catalogue import OPERATOR, Base
from images.release import arm64, build, oci
from images.release.archive import members, replaced, tar
from images.release.oci import PlatformImage
from images.release.version import ReleaseError
from scale_tests.localkube import ociarchive

AMD64, ARM64 = 62, 183
MODULE = f"{arm64.SITE_PACKAGES}/fast/core.cpython-311-x86_64-linux-gnu.so"
COUNTERPART = f"{arm64.SITE_PACKAGES}/fast/core.cpython-311-aarch64-linux-gnu.so"


def machine_code(machine: int) -> bytes:
    """A file for a processor, as far as it is read."""
    return b"\x7fELF\x02\x01" + bytes(12) + struct.pack("<H", machine) + b"code"


def image(architecture: str, *layers: bytes) -> PlatformImage:
    config = {"architecture": architecture, "os": "linux", "config": {"User": "65532:65532"}}
    return PlatformImage({**config, "rootfs": {}}, layers)


def contents(layer: bytes) -> dict[str, bytes]:
    return {entry.name: content for entry, content in members(layer) if entry.isfile()}


def test_an_archive_holds_an_image_for_each_platform(tmp_path: Path) -> None:
    path = tmp_path / "image.tar"
    base, other = tar({"etc/os-release": b"Debian"}), tar({"opt/main.py": b"run()"})
    written = [image("amd64", base, other), image("arm64", base)]
    digest = oci.write(path, "registry.example.com/x:1", written, {"a": "b"})
    assert ociarchive.images(path) == {"registry.example.com/x:1": digest}
    read = oci.read(path)
    assert [(each.architecture, each.layers) for each in read] == [
        ("amd64", (base, other)),
        ("arm64", (base,)),
    ]
    assert read[0].config["config"] == {"User": "65532:65532", "Labels": {"a": "b"}}


def test_times_and_names_of_the_builder_are_not_in_an_image(tmp_path: Path) -> None:
    layer = tar({"x": b""})
    digests = set()
    for when in ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"):
        step = {"created": when, "created_by": "COPY", "comment": f"FROM {when}"}
        built = PlatformImage(
            {**image("amd64").config, "created": when, "history": [step]}, (layer,)
        )
        digests.add(oci.write(tmp_path / "x.tar", "x", [built], {}))
    assert len(digests) == 1


def test_a_damaged_archive_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "image.tar"
    oci.write(path, "x", [image("amd64", tar({"x": b"content"}))], {})
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"User":"65532', b'"User":"00000'))
    with pytest.raises(ReleaseError, match="missing or damaged"):
        oci.read(path)


def test_machine_code_is_replaced_and_everything_else_kept() -> None:
    layer = tar({MODULE: machine_code(AMD64), "opt/operator/bin/run": b"#!/bin/sh"})
    files = {COUNTERPART: machine_code(ARM64), f"{arm64.SITE_PACKAGES}/fast/new.py": b"pass"}
    assert contents(arm64.translated(layer, lambda: files)) == {
        "opt/operator/bin/run": b"#!/bin/sh",
        **files,
    }


def test_a_layer_without_machine_code_is_the_same_for_all_architectures() -> None:
    layer = tar({"opt/source/main.py": b"run()"})
    assert arm64.translated(layer, dict) is layer


def test_machine_code_without_a_counterpart_is_reported() -> None:
    layer = tar({MODULE: machine_code(AMD64)})
    with pytest.raises(ReleaseError, match=r"no arm64 counterpart of .*fast/core"):
        arm64.translated(layer, dict)


def test_the_emulator_that_a_release_does_not_run_is_left_out() -> None:
    layer = tar({f"{arm64.UNUSED}15.2/bin/beam.smp": machine_code(AMD64)})
    assert contents(arm64.translated(layer, dict)) == {}


def test_an_image_is_assembled_on_the_base_of_its_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tar({"usr/bin/python3": machine_code(ARM64)})
    made: list[Base] = []

    def root_file_system(wanted: Base) -> Path:
        made.append(wanted)
        (tmp_path / "base.tar").write_bytes(base)
        return tmp_path / "base.tar"

    monkeypatch.setattr(bases, "ensure_root_file_system", root_file_system)
    monkeypatch.setitem(
        arm64.MACHINE_CODE, OPERATOR.name, lambda: {COUNTERPART: machine_code(ARM64)}
    )
    own = tar({"usr/bin/python3": machine_code(AMD64)}), tar({MODULE: machine_code(AMD64)})
    assembled = arm64.assemble(OPERATOR, image("amd64", *own))
    assert assembled.layers == (base, tar({COUNTERPART: machine_code(ARM64)}))
    assert assembled.architecture == "arm64"
    assert [each.architecture for each in made] == ["arm64"]
    build.check_machine_code("operator", assembled)


def test_a_release_is_not_built_on_another_machine() -> None:
    with pytest.raises(ReleaseError, match="built on amd64, and this machine is riscv64"):
        arm64.assemble(OPERATOR, image("riscv64"))


def test_machine_code_of_another_architecture_is_found() -> None:
    mixed = image("arm64", tar({"usr/bin/x": machine_code(AMD64)}))
    with pytest.raises(ReleaseError, match="operator for arm64: usr/bin/x is for amd64"):
        build.check_machine_code("operator", mixed)


def test_bases_of_other_architectures_have_names_of_their_own() -> None:
    assert isinstance(OPERATOR.base, Base)
    other = arm64.foreign(OPERATOR.base)
    assert other.name != OPERATOR.base.name
    assert bases.fingerprint(other) != bases.fingerprint(OPERATOR.base)


def test_a_file_that_others_link_to_is_not_left_out() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as target:
        target.addfile(tarfile.TarInfo("a"))
        link = tarfile.TarInfo("b")
        link.type, link.linkname = tarfile.LNKTYPE, "a"
        target.addfile(link)
    with pytest.raises(KeyError, match="b is a link to a"):
        replaced(buffer.getvalue(), {}, leave_out=["a"])


def test_a_part_of_the_lock_keeps_its_hashes() -> None:
    wanted = "b==2 \\\n    --hash=sha256:2\n"
    lock = f"#\n# made by pip\na==1 \\\n    --hash=sha256:1\n    # via b\n{wanted}"
    assert wheels.locked(lock, ["b"]) == wanted
    assert wheels.locked(lock, ()) == lock
    with pytest.raises(ValueError, match="the lock has no c"):
        wheels.locked(lock, ["b", "c"])
