"""Builds what users install: `python -m images.release build VERSION`.

Images for two architectures, the chart, a manifest, the kubectl plugin, a bundle for the Operator
Lifecycle Manager, lists of contents (SPDX) and checksums, in `build/release/VERSION`. `check`
builds them again and compares the digests. `version` writes the next version wherever it is needed.
"""
