"""Tests of the churn measurement, on made-up recordings."""
