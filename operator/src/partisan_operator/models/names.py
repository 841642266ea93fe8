"""Names as Kubernetes accepts them.

Kubernetes checks them in the StatefulSet and its pods, minutes after the manifest was applied.
These rules check them at once, with a message that names the field.
"""

from typing import Annotated, Any

from pydantic import Field

from partisan_operator.models.base import Rule, rules

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
# `[^\W_]` is a letter or a digit: the estimated cost of a rule grows with the length of its
# expression.
NAME = r"[^\W_]([-\w.]*[^\W_])?"
_QUALIFIED = f"({SUBDOMAIN}/)?{NAME}"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_PATH = "[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*"
# With a dot, a port, localhost, or an address in brackets: other names before a slash are part of
# the path.
_HOST = (
    r"([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:[0-9]{1,5})?|[A-Za-z0-9-]+:[0-9]{1,5}|localhost"
    r"|\[[0-9A-Fa-f:]{2,39}\](:[0-9]{1,5})?)"
)
_DIGEST = "(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})"


def matches(value: str, pattern: str) -> str:
    """Return the CEL expression for `value` being all of `pattern`."""
    return f"{value}.matches(r'^({pattern})$')"


def pattern(form: str, *, most: int = 253) -> Any:
    """Return the field of a text that is all of `form`, of at most that many characters.

    For texts of which there may be hundreds: API servers bound the cost of all rules, and a pattern
    has none. Its message names the field as well, but gives no advice.
    """
    return Field(min_length=1, max_length=most, json_schema_extra={"pattern": f"^{form}$"})


def text(
    form: str, message: str, *, most: int, empty: bool = False, also: tuple[Rule, ...] = ()
) -> Any:
    """Return the field of a text that is all of `form`, of at most that many characters."""
    rule = matches("self", form)
    first = Rule(f"self == '' || {rule}" if empty else rule, message)
    return Field(
        min_length=0 if empty else 1, max_length=most, json_schema_extra=rules(first, *also)
    )


_IS_A_NAME = (
    "must be the name of an object of Kubernetes: lower-case letters, digits, dashes and dots, with"
    " a letter or a digit at both ends and around each dot"
)

ObjectName = Annotated[str, text(SUBDOMAIN, _IS_A_NAME, most=253)]
"""The name of an object."""

OptionalObjectName = Annotated[str, text(SUBDOMAIN, _IS_A_NAME, most=253, empty=True)]
"""The name of an object, or empty."""

NamespaceName = Annotated[
    str,
    text(
        LABEL,
        "must be the name of a namespace: lower-case letters, digits and dashes, with a letter or"
        " a digit at both ends",
        most=63,
    ),
]
"""The name of a namespace."""

HostName = Annotated[
    str,
    Field(
        max_length=253,
        json_schema_extra=rules(
            Rule(
                f"self == '' || ({matches('self', SUBDOMAIN)} && !self.matches('[^.]{{64}}')"
                " && !self.matches('^[0-9.]*$'))",
                "must be a DNS name such as ads.default.svc: lower-case letters, digits, dashes and"
                " dots, at most 63 characters between dots, without wildcard and without port, and"
                " no address",
            )
        ),
    ),
]
"""A DNS name in a certificate, or empty."""

_IS_A_PART_NAME = (
    "must be a name of lower-case letters, digits and dashes, with a letter or a digit at both ends"
)

PartName = Annotated[str, text(LABEL, _IS_A_PART_NAME, most=63)]
"""The name of a part of a pod: a container or a volume."""


def part_name(*also: Rule) -> Any:
    """Return the field of such a name with further rules."""
    return text(LABEL, _IS_A_PART_NAME, most=63, also=also)


ApiGroup = Annotated[str, text(SUBDOMAIN, "must be an API group such as cert-manager.io", most=253)]
"""An API group."""

KindName = Annotated[
    str,
    text("[A-Z][A-Za-z0-9]*", "must be a kind such as Issuer or ClusterIssuer", most=63),
]
"""A kind of the API."""

DataKey = Annotated[
    str,
    text(
        r"\.?[-_a-zA-Z0-9]+(\.*[-_a-zA-Z0-9]+)*\.*",
        "must be a key of a Secret or ConfigMap: letters, digits, dashes, underscores and dots, and"
        " not two dots at the start",
        most=253,
    ),
]
"""A key of a Secret or a ConfigMap."""

ReferencedName = Annotated[str, pattern(SUBDOMAIN)]
"""The name of an object, where there may be many: see `pattern`."""

ReferencedKey = Annotated[str, pattern(r"\.?[-\w]+(\.*[-\w]+)*\.*")]
"""A key of a Secret or a ConfigMap, where there may be many: see `pattern`."""

_NO_PORT = r":(0|[7-9]\d{4}|6[6-9]\d{3}|65[6-9]\d\d|655[4-9]\d|6553[6-9])"
_NO_HOST = rf"^(-|[^/[]*([.]-|-[.:]|{_NO_PORT}))[^/]*/|^[^/[]*-/"
"""Before a slash: a dash at an end of a part of the host's name, or a port beyond 65535."""

_IMAGE = rf"({_HOST}/)?{_PATH}(/{_PATH})*(:{_TAG})?(@{_DIGEST})?"

ImageReference = Annotated[
    str,
    Field(
        max_length=512,
        json_schema_extra=rules(
            Rule(
                f"self == '' || ({matches('self', _IMAGE)}"
                " && self.split('@')[0].split('/').map(part, part.split(':')[0].size() + 1)"
                ".sum() <= 256)",
                "must be the reference of an image such as registry.example.com/team/node:1.2: the"
                " path in lower case, with a single dot, one or two underscores or any dashes"
                " between its words, registry and path of at most 255 characters, after them :TAG,"
                " @sha256:DIGEST or both, no spaces and no https://",
            ),
            Rule(
                f"!self.matches(r'{_NO_HOST}') && !self.matches('^[0-9a-f]{{64}}$')",
                "must name a registry whose host has letters or digits at both ends of each part"
                " and whose port is from 1 to 65535, and no name of 64 hexadecimal digits, which"
                " denotes an image by its digest: write NAME@sha256:DIGEST",
            ),
        ),
    ),
]
"""An image, or empty."""

ContainerImage = Annotated[str, pattern(_IMAGE, most=512)]
"""An image of one of many containers: see `pattern`."""

_IS_A_LABEL_VALUE = (
    "must be the value of a label: empty, or letters, digits, dashes, underscores and dots with a"
    " letter or a digit at both ends"
)

LabelValue = Annotated[str, text(NAME, _IS_A_LABEL_VALUE, most=63, empty=True)]
"""The value of a label."""

MatchedValue = Annotated[str, Field(max_length=63, json_schema_extra={"pattern": f"^({NAME})?$"})]
"""The value of a label in a condition. Conditions may hold thousands: see `pattern`."""

IS_A_KEY = (
    "must be the key of a label such as example.org/team: letters, digits, dashes, underscores and"
    " dots, at most 63 of them, after an optional DNS name of at most 253 and a slash"
)

KEY_LENGTHS = "^([^/]{1,253}/)?[^/]{1,63}$"
"""Regular expression for the lengths of a key's two parts."""

LabelKey = Annotated[
    str,
    Field(
        min_length=1,
        max_length=317,
        json_schema_extra=rules(
            Rule(f"{matches('self', _QUALIFIED)} && self.matches('{KEY_LENGTHS}')", IS_A_KEY)
        ),
    ),
]
"""The key of a label or a taint."""


def qualified_keys(what: str) -> Rule:
    """Return the rule that all keys of a map are label keys; `what` names them in the error."""
    return Rule(
        f"self.all(key, key.size() <= 317 && {matches('key', _QUALIFIED)}"
        f" && key.matches('{KEY_LENGTHS}'))",
        f"holds a key that Kubernetes refuses: each {what} {IS_A_KEY}",
    )


def distinct(entry: str) -> Rule:
    """Return the rule that a list has no entry twice; `entry` names an entry in the error."""
    return Rule(
        "self.all(entry, self.exists_one(other, other == entry))",
        f"holds the same {entry} twice: remove one",
    )
