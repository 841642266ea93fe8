"""The token and the bearer: when to create or adopt them, and which pods mount the bearer."""

from collections.abc import Iterator

from partisan_operator.children import DesiredChildren, node_http
from partisan_operator.children.shared_secrets import BEARER, TOKEN, SharedSecret
from partisan_operator.decide.actions import Apply, MakeSecret
from partisan_operator.decide.problems import (
    invalid_bearer,
    invalid_token,
    name_conflict,
    token_lost,
)
from partisan_operator.decide.templates import image_of, live_templates
from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import Problem
from partisan_operator.observe.observation import Observation, SecretSeen, SecretState


def actions(cluster: PartisanCluster, observation: Observation) -> Iterator[MakeSecret | Apply]:
    """Create the token and the bearer where they are absent; adopt those without a controller.

    Owned Secrets are deleted with the cluster, so that no later cluster of its name gets its token.
    """
    for secret, seen in _secrets(observation):
        if seen.state is SecretState.ABSENT:
            yield MakeSecret(secret)
        elif seen.state is SecretState.UNOWNED:
            yield Apply(secret.adopted(cluster, seen.uid))


def conflict(cluster: PartisanCluster, observation: Observation) -> Problem | None:
    """Return the problem of a Secret that belongs to another object, or holds no valid value."""
    for secret, seen in _secrets(observation):
        name = secret.name_of(cluster.name)
        if seen.state is SecretState.FOREIGN:
            return name_conflict("Secret", name)
        if seen.state is SecretState.INVALID:
            return invalid_token(name) if secret is TOKEN else invalid_bearer(name)
    return None


def lost(cluster: PartisanCluster, observation: Observation) -> Problem | None:
    """Return the problem of a token that is gone while pods run with it."""
    if observation.token.state is SecretState.LOST:
        return token_lost(TOKEN.name_of(cluster.name), cluster.name)
    return None


def pods_mount_bearer(
    cluster: PartisanCluster, desired: DesiredChildren, observation: Observation
) -> bool:
    """Whether pods should mount the bearer: see `node_http`.

    Pods of an earlier operator keep their template until their image is replaced or reports that it
    supports the bearer.
    """
    before = live_templates(cluster, observation)
    if any(node_http.has_bearer(template["metadata"]) for template in before):
        return True
    wanted = {image_of(child.manifest["spec"]["template"]) for child in desired.stateful_sets}
    if not {image_of(template) for template in before} & wanted:
        return True
    reports = (seen.report for seen in observation.seen.values())
    return any(report.interface >= node_http.INTERFACE for report in reports)


def _secrets(observation: Observation) -> tuple[tuple[SharedSecret, SecretSeen], ...]:
    return (TOKEN, observation.token), (BEARER, observation.bearer)
