"""Distributions over many nodes, as pictures draw them."""

from scale_tests.benches.experiments.pictures import CDF_STEPS, distribution


def test_a_distribution_has_a_step_for_each_of_a_few() -> None:
    assert distribution([1.0, 2.0, 2.0, 5.0]) == [(1.0, 25), (2.0, 50), (2.0, 75), (5.0, 100)]


def test_of_thousands_it_has_as_many_as_can_be_distinguished() -> None:
    found = distribution([float(number) for number in range(1, 8193)])
    assert len(found) == CDF_STEPS
    assert found[-1] == (8192, 100)
    assert all(abs(percent - 100 * time / 8192) < 1e-9 for time, percent in found)
