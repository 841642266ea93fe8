"""The rules of the Lease, with faulty clocks, networks and operators."""

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from partisan_operator.leader.election import Candidate, Claim, Record, Timing

TIMING = Timing()


class Lease:
    """The object at the API server: every write names the version that it replaces."""

    def __init__(self) -> None:
        self.record: Record | None = None
        self._versions = itertools.count(1)

    def write(self, claim: Claim, holder: str) -> Record | None:
        """Return the Lease as written; None when its version has changed."""
        if claim.version != (self.record.version if self.record else None):
            return None
        version = str(next(self._versions))
        self.record = Record(version, holder, TIMING.duration, claim.transitions)
        return self.record


@dataclass
class Operator:
    """A process with a clock that has an offset and a drift."""

    candidate: Candidate
    offset: float
    pace: float
    alive: bool = True
    spells: list[tuple[float, float]] = field(default_factory=list)
    """Intervals in which it could have acted, in true time."""

    def clock(self, true: float) -> float:
        return self.offset + self.pace * true

    def true(self, clock: float) -> float:
        return (clock - self.offset) / self.pace


@dataclass
class World:
    """Operators that compete for one Lease, over a network that delays and loses."""

    chance: random.Random
    delay: float
    loss: float
    skew: float
    operators: list[Operator] = field(default_factory=list)
    lease: Lease = field(default_factory=Lease)
    now: float = 0.0
    _queue: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _order: "itertools.count[int]" = field(default_factory=itertools.count)

    def add(self) -> Operator:
        operator = Operator(
            Candidate(f"operator-{len(self.operators)}", TIMING),
            offset=self.chance.uniform(-1e6, 1e6),
            pace=self.chance.uniform(1 - self.skew, 1 + self.skew),
        )
        self.operators.append(operator)
        self.after(self.chance.uniform(0, 5), lambda: self.turn(operator))
        return operator

    def after(self, seconds: float, work: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (self.now + seconds, next(self._order), work))

    def run(self, until: float) -> None:
        while self._queue and self._queue[0][0] <= until:
            self.now, _, work = heapq.heappop(self._queue)
            work()
        self.now = until

    def turn(self, operator: Operator) -> None:
        """Read and write, as `leadership` does; each step is delayed or lost."""
        if not operator.alive:
            return
        if operator.candidate.leads(operator.clock(self.now)):
            self.claim(operator)
        else:
            self.travel(
                lambda: self.lease.record,
                lambda record: self.seen(operator, record),
                lambda: self.rest(operator),
            )

    def seen(self, operator: Operator, record: Record | None) -> None:
        operator.candidate = operator.candidate.saw(record, operator.clock(self.now))
        self.claim(operator)

    def claim(self, operator: Operator) -> None:
        sent_at = operator.clock(self.now)
        claim = operator.candidate.claim(sent_at)
        if claim is None:
            self.rest(operator)
            return
        self.travel(
            lambda: self.lease.write(claim, operator.candidate.identity),
            lambda record: self.written(operator, record, sent_at),
            lambda: self.rest(operator),
        )

    def written(self, operator: Operator, record: Record | None, sent_at: float) -> None:
        if record is None:
            now = operator.clock(self.now)
            operator.candidate = operator.candidate.saw(self.lease.record, now)
        else:
            operator.candidate = operator.candidate.wrote(record, sent_at)
            until = operator.true(operator.candidate.leads_until)
            if until > self.now:
                operator.spells.append((self.now, until))
        self.rest(operator)

    def rest(self, operator: Operator) -> None:
        now = operator.clock(self.now)
        pause = operator.candidate.pause(now) / operator.pace
        if self.chance.random() < self.loss:
            pause += self.chance.uniform(0, 30)  # frozen for a while
        self.after(pause, lambda: self.turn(operator))

    def travel(
        self,
        at_server: Callable[[], Record | None],
        answered: Callable[[Record | None], None],
        lost: Callable[[], None],
    ) -> None:
        """Send a request; it or its answer may be lost."""

        def arrive() -> None:
            result = at_server()
            if self.chance.random() < self.loss:
                self.after(5, lost)
            else:
                self.after(self.chance.uniform(0, self.delay), lambda: answered(result))

        if self.chance.random() < self.loss:
            self.after(5, lost)
        else:
            self.after(self.chance.uniform(0, self.delay), arrive)


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(2, 4),
    loss=st.floats(0, 0.4),
    delay=st.floats(0, 4),
)
def test_two_operators_never_act_at_once(seed: int, count: int, loss: float, delay: float) -> None:
    world = World(random.Random(seed), delay=delay, loss=loss, skew=0.15)
    operators = [world.add() for _ in range(count)]
    world.run(600)
    spells = [(*spell, index) for index, one in enumerate(operators) for spell in one.spells]
    for (_, end, one), (start, _, other) in itertools.pairwise(sorted(spells)):
        assert one == other or end <= start


@given(seed=st.integers(0, 2**32), delay=st.floats(0, 0.5))
def test_another_operator_acts_within_twenty_seconds_of_a_crash(seed: int, delay: float) -> None:
    world = World(random.Random(seed), delay=delay, loss=0.0, skew=0.01)
    operators = [world.add() for _ in range(2)]
    world.run(60)
    leader = next(one for one in operators if one.candidate.leads(one.clock(60)))
    (other,) = (one for one in operators if one is not leader)
    assert not other.spells
    leader.alive = False
    world.run(80)
    assert other.candidate.leads(other.clock(80))
    assert world.lease.record is not None
    assert world.lease.record.transitions == 1


def held(candidate: Candidate, version: str = "1") -> Record:
    return Record(version, candidate.identity, TIMING.duration)


def test_a_released_lease_is_acquired_at_once() -> None:
    candidate = Candidate("b").saw(held(Candidate("a")), 0.0)
    assert candidate.claim(1.0) is None
    given_back = candidate.saw(Record("2", "", 1.0, transitions=3), 2.0)
    assert given_back.claim(2.0) == Claim("2", 4, acquires=True)


def test_a_deleted_lease_does_not_end_the_holder_s_time() -> None:
    candidate = Candidate("b").saw(held(Candidate("a")), 0.0).saw(None, 1.0)
    assert candidate.claim(14.0) is None
    assert candidate.claim(15.0) == Claim(None, 0, acquires=True)


def test_a_candidate_that_reads_another_holder_stops_at_once() -> None:
    leader = Candidate("a").wrote(held(Candidate("a")), 0.0)
    assert leader.leads(9.9)
    assert not leader.leads(10.0)
    assert not leader.saw(held(Candidate("b"), "2"), 1.0).leads(1.0)
    assert not leader.saw(None, 1.0).leads(1.0)


def test_a_renewal_whose_answer_was_lost_does_not_prolong_the_time() -> None:
    leader = Candidate("a").wrote(held(Candidate("a")), 0.0)
    again = leader.saw(held(leader, "2"), 5.0)
    assert again.leads_until == 10.0
    assert again.claim(5.0) == Claim("2", 0, acquires=False)


def test_a_lease_is_valid_for_the_duration_that_its_holder_wrote() -> None:
    long = replace(held(Candidate("a")), duration=60.0)
    assert Candidate("b").saw(long, 0.0).claim(59.0) is None


def test_it_wakes_when_something_is_due() -> None:
    assert Candidate("a").pause(0.0) == TIMING.period
    leader = Candidate("a").wrote(held(Candidate("a")), 0.0)
    assert leader.pause(9.5) == 0.5
    assert leader.pause(11.0) == TIMING.period
    assert Candidate("b").saw(held(leader), 0.0).pause(14.0) == 1.0
