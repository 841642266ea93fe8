"""Unit tests of the dashboards."""
