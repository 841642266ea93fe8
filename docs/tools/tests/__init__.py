"""Tests of the documents' tools, and of what the documents show."""
