"""`overlay set NAME KIND [key=value ...]`: another overlay, or other parameters, while it runs.

A dry run checks the change first: if the API server rejects it, nothing is changed, and the error
names the field and the fix.
"""

import difflib
import json
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import Any, get_args

from pydantic import ValidationError

from partisan_operator.cli import access
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.kubectl import Json, KubectlError
from partisan_operator.models.base import Resource
from partisan_operator.models.overlay import Overlay, OverlayKind


def run_set(context: Context, arguments: Namespace) -> int:
    """Change the overlay of a cluster, or only check the change."""
    kind = kind_named(arguments.kind)
    patch = {"spec": {"overlay": overlay_patch(kind, arguments.parameters)}}
    cluster = access.cluster_of(context, arguments.name)
    where = (context.namespace, access.RESOURCE, cluster.name)
    try:
        checked = context.api.merge(*where, patch, dry_run=True)
    except KubectlError as error:
        raise CommandError(f"refused, nothing was changed: {error}") from None
    before, after = _shown(cluster.spec.overlay.to_wire()), _shown(checked["spec"]["overlay"])
    if before == after:
        context.write(f"{cluster.name} has this overlay already: {after}")
        return 0
    context.write(f"{cluster.name}: {before}\n  -> {after}")
    if arguments.dry_run:
        context.write("The API server accepts it. Nothing was changed (--dry-run).")
        return 0
    context.api.merge(*where, patch)
    context.write(
        "Changed; no pod restarts. Follow it:"
        f" kubectl partisan -n {context.namespace} rollout status {cluster.name}"
    )
    return 0


def kind_named(text: str) -> OverlayKind:
    """Return the kind with that name, in any case of letters. Raises `CommandError`."""
    kinds = {kind.value.lower(): kind for kind in OverlayKind}
    if kind := kinds.get(text.lower()):
        return kind
    names = ", ".join(OverlayKind)
    hint = _hint(text, OverlayKind)
    raise CommandError(f"there is no overlay {text!r}{hint}: choose one of {names}")


def members() -> dict[OverlayKind, tuple[str, type[Resource]]]:
    """Return the member of `spec.overlay` with a kind's parameters, and its model, by kind."""
    found = {}
    for field in Overlay.model_fields.values():
        models = [model for model in get_args(field.annotation) if model is not type(None)]
        if models and field.alias is not None:
            kind = field.alias[0].upper() + field.alias[1:]
            found[OverlayKind(kind)] = (field.alias, models[0])
    return found


def parameter_names(kind: OverlayKind) -> list[str]:
    """Return the parameters of a kind, as spelled in the resource."""
    _, model = members()[kind]
    return [field.alias or name for name, field in model.model_fields.items()]


def overlay_patch(kind: OverlayKind, assignments: Sequence[str]) -> Json:
    """Return the merge patch of `spec.overlay`.

    Parameters of the same kind that are not named stay; those of other kinds are removed.
    Raises `CommandError` for a parameter that the kind does not have, or a value out of its range.
    """
    member, model = members()[kind]
    known = parameter_names(kind)
    values: Json = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise CommandError(f"{assignment!r} is not a parameter: write key=value")
        if key not in known:
            hint = _hint(key, known)
            raise CommandError(f"{kind} has no {key!r}{hint}: choose one of {', '.join(known)}")
        if key in values:
            raise CommandError(f"{kind}: {key} is given twice: leave one of them out")
        values[key] = _value(text)
    try:
        # Only the given values: the API server adds the defaults.
        model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise CommandError(f"{kind}: {field}: {first['msg']}") from None
    others = {name: None for other, (name, _) in members().items() if other != kind}
    return {"kind": kind.value, **others, **({member: values} if values else {})}


def _value(text: str) -> Any:
    """Return a value as JSON if it is valid, else as text: `6`, `true`, `10s`, `[[0, 1]]`."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _hint(text: str, choices: Iterable[str]) -> str:
    close = difflib.get_close_matches(text, list(choices), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _shown(overlay: Json) -> str:
    parameters = [
        f"{key}={json.dumps(value) if not isinstance(value, str) else value}"
        for member in overlay.values()
        if isinstance(member, dict)
        for key, value in member.items()
    ]
    return " ".join([overlay["kind"], *parameters])
