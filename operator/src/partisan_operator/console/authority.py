"""Authenticates and authorises viewers of the page; the API server decides.

A bearer token is reviewed (TokenReview) and the right to `get` PartisanClusters asked for each
namespace (SubjectAccessReview). Answers are kept for a short time, in bounded numbers, and tokens
only as a keyed hash.
"""

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Generic, Protocol, TypeVar

from partisan_operator.models.cluster import GROUP, PLURAL

LIFETIME = 20.0
"""Seconds for which an answer is kept. A stream asks again as often, so that a withdrawn right ends
it within a minute."""

MAX_KEPT = 16_384
"""Most answers that are kept. The oldest ones give way."""

MAX_REVIEWS = 8
"""Reviews at a time. An unauthenticated peer causes one for each token that it invents."""

MAX_WAITING = 256
"""Reviews that wait for one of them; more are refused. Above the number of viewers, whose own
reviews are never refused then."""

_T = TypeVar("_T")


class BusyError(Exception):
    """Too many reviews wait."""


class Reviewer(Protocol):
    """The part of the API server's client that is needed."""

    async def review(self, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        """Return the verdict. Raises `KubeError`."""


@dataclass(frozen=True)
class Person:
    """An authenticated user, as a review of access names it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, user: Mapping[str, Any]) -> "Person":
        """Read the user of a TokenReview."""
        extra = user.get("extra") or {}
        return cls(
            name=user.get("username") or "",
            uid=user.get("uid") or "",
            groups=tuple(user.get("groups") or ()),
            extra=tuple((key, tuple(values)) for key, values in sorted(extra.items())),
        )


class _Cache(Generic[_T]):
    """Recent answers by question."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: OrderedDict[object, tuple[float, _T]] = OrderedDict()

    async def get(self, key: object, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Return a recent answer, or ask."""
        found = self._answers.get(key)
        if found is not None and self._clock() < found[0]:
            return found[1]
        asked_at = self._clock()
        answer = await ask()
        self._answers[key] = (asked_at + LIFETIME, answer)
        self._answers.move_to_end(key)
        while len(self._answers) > MAX_KEPT:
            self._answers.popitem(last=False)
        return answer


class Authority:
    """Authenticates and authorises viewers."""

    def __init__(self, reviewer: Reviewer, clock: Callable[[], float] = time.monotonic) -> None:
        """Make an authority that has asked nothing yet; `clock` in seconds."""
        self._reviewer = reviewer
        self._people: _Cache[Person | None] = _Cache(clock)
        self._rights: _Cache[bool] = _Cache(clock)
        self._key = secrets.token_bytes(32)
        self._slots = asyncio.Semaphore(MAX_REVIEWS)
        self._waiting = 0

    async def person(self, token: str, audience: str = "") -> Person | None:
        """Return whose token this is; None if it is not valid, or for another audience.

        Raises `KubeError` without a verdict, and `BusyError`.
        """

        async def ask() -> Person | None:
            spec: dict[str, Any] = {"token": token}
            if audience:
                spec["audiences"] = [audience]
            verdict = await self._review("TokenReview", spec)
            # A server that does not know audiences would accept tokens for any.
            meant = not audience or audience in (verdict.get("audiences") or ())
            if verdict.get("authenticated") is not True or not meant:
                return None
            return Person.of(verdict.get("user") or {})

        hashed = blake2b(token.encode(), key=self._key).digest()
        return await self._people.get((hashed, audience), ask)

    async def readable(self, person: Person, namespaces: Iterable[str]) -> frozenset[str] | None:
        """Return which of the namespaces a person may read; None stands for all there are.

        Raises `KubeError` without a verdict, and `BusyError`.
        """
        if await self._may_read(person, ""):
            return None
        return frozenset([name for name in namespaces if await self._may_read(person, name)])

    async def _may_read(self, person: Person, namespace: str) -> bool:
        async def ask() -> bool:
            verdict = await self._review(
                "SubjectAccessReview",
                {
                    "user": person.name,
                    "uid": person.uid,
                    "groups": list(person.groups),
                    "extra": {key: list(values) for key, values in person.extra},
                    "resourceAttributes": {
                        "group": GROUP,
                        "resource": PLURAL,
                        "verb": "get",
                        "namespace": namespace,
                    },
                },
            )
            return verdict.get("allowed") is True

        return await self._rights.get((person, namespace), ask)

    async def _review(self, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        async with self._turn():
            return await self._reviewer.review(kind, spec)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._waiting >= MAX_WAITING:
            raise BusyError(f"{MAX_WAITING} reviews wait for the API server")
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._slots.release()
