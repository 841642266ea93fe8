"""Reading the states that a watch writes."""

from scale_tests.cluster.subject import documents


def test_documents_that_are_being_written_are_read_as_far_as_they_are_whole() -> None:
    whole = '{\n  "a": 1\n}\n{\n  "b": {}\n}\n'
    assert documents("") == []
    assert documents(whole) == [{"a": 1}, {"b": {}}]
    assert documents(whole + '{\n  "c": [') == [{"a": 1}, {"b": {}}]
