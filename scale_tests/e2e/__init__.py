"""End-to-end tests: real pods on a real Kubernetes, the operator installed from its chart.

All tests share one cluster and one operator, and each file has a namespace of its own. A file that
is marked `disrupts` stops or replaces the operator in a `disruption`, while no other file acts; one
that is marked `alone` changes what the clusters of other files rely on, and runs when there are
none. A wait has no deadline but ends when nothing moves any more, so a busy machine is slow and not
red. No test assumes a speed:

- a run under faults lasts until the test ends it (`LASTING`, `Subject.end_run`);
- states that pass are read from a watch (`Subject.watched`), not sampled;
- what must hold in the end is waited for, not asserted at once: a node may not answer in time, a
  probe may fail, and `Degraded` may name another reason first;
- what must not happen meanwhile is prevented, not outrun (`crowding.crowded`).
"""
