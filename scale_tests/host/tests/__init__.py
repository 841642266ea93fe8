"""Tests of how measurements are kept."""
