"""Unit tests of the staging run."""
