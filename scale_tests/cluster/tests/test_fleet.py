"""The configuration of the nodes of a fleet."""

from partisan_operator.children.naming import pod_name

from scale_tests.cluster.fleet import Plan, name


def test_nodes_have_the_names_by_which_they_know_one_another() -> None:
    """Those of the pods of a cluster: a node waits for all of them to be done."""
    for index in (0, 249, 250, 1024):
        assert name(index) == pod_name("fleet", index)


def test_servers_are_seeds_under_their_names() -> None:
    assert '<<"fleet-0">>, <<"127.0.3.1">>' in Plan(nodes=1025, servers=1).config()
