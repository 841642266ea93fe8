"""Unit tests of the checks of the chart."""
