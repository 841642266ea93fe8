"""Tests of what needs neither root nor a quiet machine."""
