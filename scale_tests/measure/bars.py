"""The previous names of `checks`, for benchmarks that still use them."""

from scale_tests.measure.checks import Check as Bar

__all__ = ["Bar"]
