"""An independent judge of histories: Porcupine, built from the Go module pinned in `tools/`."""
