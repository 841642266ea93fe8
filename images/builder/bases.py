"""Stand-ins for the official base images, from the machine's own Debian packages.

They use this machine's apt settings, and are kept in the user's cache.
"""

import hashlib
import json
import platform
import tempfile
from pathlib import Path

from images.builder.catalogue import Base
from scale_tests.host import files
from scale_tests.host.commands import ExpectedError, capture
from scale_tests.localkube.settings import cache_directory

_WITHOUT_DOCUMENTATION = (
    *(
        f"--dpkgopt=path-exclude=/usr/share/{kind}/*"
        for kind in ("doc", "doc-base", "info", "lintian", "locale", "man")
    ),
    "--dpkgopt=path-exclude=/usr/lib/*/gconv/*",
)

OPTIONS = (
    "--variant=essential",
    # Without it, half of Perl is installed to merge directories that are merged already.
    "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
    "--include=usr-is-merged",
    *_WITHOUT_DOCUMENTATION,
)
"""How mmdebstrap makes a root file system: the essential packages, without documentation."""

FOREIGN_OPTIONS = (
    "--variant=extract",
    "--include=?essential",
    "--include=usr-is-merged",
    '--setup-hook=for part in bin sbin lib; do mkdir -p "$1/usr/$part"; '
    'ln -s "usr/$part" "$1/$part"; done',
    # What scanners read, since dpkg itself has not run; and what a shell and the C library need of
    # the scripts that cannot run.
    '--extract-hook=for deb in "$1"/var/cache/apt/archives/*.deb; do dpkg-deb --field "$deb" '
    '| sed "1a Status: install ok unpacked"; echo; done > "$1/var/lib/dpkg/status"; cd "$1"; '
    "cp usr/share/base-passwd/passwd.master etc/passwd; "
    "cp usr/share/base-passwd/group.master etc/group; "
    "cp usr/share/libc-bin/nsswitch.conf etc/nsswitch.conf",
    *_WITHOUT_DOCUMENTATION,
)
"""The same for another architecture: the packages are unpacked, and none of their scripts runs."""

APT = Path("/etc/apt")


def ensure_base(base: Base) -> str:
    """Makes a stand-in unless it exists; returns its name for buildah. Raises ExpectedError."""
    root_file_system = ensure_root_file_system(base)
    reference = f"localhost/partisan-base/{base.name}:{root_file_system.stem.rpartition('-')[2]}"
    if not buildah("images", "--quiet", "--filter", f"reference={reference}"):
        container = buildah("from", "scratch")
        try:
            buildah("add", "--quiet", container, str(root_file_system), "/")
            buildah("config", "--env", "LANG=C.UTF-8", container)
            buildah("commit", "--quiet", container, reference)
        finally:
            buildah("rm", container)
    return reference


def fingerprint(base: Base) -> str:
    """Hash of the stand-in's inputs: its packages, the options, the Debian release."""
    parts = [base.packages, _options(base), base.suite or _suite()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def ensure_root_file_system(base: Base) -> Path:
    """Makes a stand-in's root file system unless it exists; its archive. Raises ExpectedError."""
    target = cache_directory() / "bases" / f"{base.name}-{fingerprint(base)}.tar"
    # Two processes that need it at once make it once.
    with files.locked(target.with_suffix(".lock")):
        if not target.exists():
            _make_root_file_system(base, target)
    return target


def _make_root_file_system(base: Base, target: Path) -> None:
    own = _suite()
    suite = base.suite or own
    print(f"  making a base image from {', '.join(base.packages)} (about a minute)", flush=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as directory:
        settings = Path(directory) / "apt.conf"
        settings.write_text(capture(["apt-config", "dump", "Acquire"]))
        partial = Path(directory) / "root.tar"
        if suite == own:
            sources = [str(path) for path in _sources()]
        else:
            fields = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
            listed = ["apt-get", "indextargets", "--format", fields, "Created-By: Packages"]
            sources = [archive_of(capture(listed), own)]
        capture(
            [
                *("nice", "-n", "5", "env", "SOURCE_DATE_EPOCH=0", "mmdebstrap", "--quiet"),
                *(*_options(base), f"--aptopt={settings}"),
                *(f"--include={','.join(base.packages)}", suite, str(partial), *sources),
            ]
        )
        partial.rename(target)


def _options(base: Base) -> tuple[str, ...]:
    if not base.architecture:
        return OPTIONS
    return (*FOREIGN_OPTIONS, f"--architectures={base.architecture}")


def _sources() -> list[Path]:
    """The files with apt's package sources."""
    parts = APT / "sources.list.d"
    files = [APT / "sources.list", *sorted(parts.glob("*.list")), *sorted(parts.glob("*.sources"))]
    found = [path for path in files if path.exists() and path.read_text().strip()]
    if not found:
        raise ExpectedError(f"apt has no package sources in {APT}")
    return found


def archive_of(targets: str, suite: str) -> str:
    """The archive with a release, of lines `URI RELEASE COMPONENT`. Raises ExpectedError: none."""
    for line in targets.splitlines():
        uri, release, component = line.split()
        if (release, component) == (suite, "main"):
            return uri
    raise ExpectedError(f"apt has no source of Debian's release {suite}, component main")


def _suite() -> str:
    release = platform.freedesktop_os_release()
    if release.get("ID") != "debian" or "VERSION_CODENAME" not in release:
        raise ExpectedError(
            "stand-in base images are made from Debian's packages, on a Debian machine; elsewhere "
            "build images/*.Dockerfile with the official ones and set KUBECONFIG and REGISTRY"
        )
    return release["VERSION_CODENAME"]


def buildah(*arguments: str) -> str:
    """Runs buildah on a store of its own; returns its output, stripped. Raises CommandError."""
    store = cache_directory() / "buildah"
    own = ("--root", str(store / "root"), "--runroot", str(store / "run"))
    return capture(["nice", "-n", "5", "buildah", *own, *arguments]).strip()
