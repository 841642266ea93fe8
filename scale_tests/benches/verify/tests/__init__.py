"""Tests of the verification's commands, checks and tables."""
