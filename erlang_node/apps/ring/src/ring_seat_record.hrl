%%% A seat, for the modules that it is made of.

-record(seat, {
    index :: ring_state:index(),
    node :: ring_state:member(),
    incarnation :: ring_state:incarnation(),
    module :: module(),
    state :: term(),
    replicated :: boolean(),
    view :: ring_view:t(),
    known :: ring_known:t(),
    % Partitions that are served.
    voting = [] :: [ring_view:partition()],
    % Ticks of the search for the previous holder, and the siblings that have not answered.
    finding = none :: none | {non_neg_integer(), [ring_state:index()]},
    % Where the data come from.
    source = none :: none | {ring_state:member(), ring_handoff:receiver()},
    % Ticks since the last chunk.
    quiet = 0 :: non_neg_integer(),
    copies = none :: none | ring_copies:t(),
    % Where the data go to.
    sender = none :: none | {ring_state:holder(), ring_handoff:sender()},
    % Transfers begun.
    sessions = 0 :: non_neg_integer(),
    % Partitions for which the sender has a grant, and the pull that waits for the others.
    granted = [] :: [ring_view:partition()],
    waiting = none :: none | ring_handoff:serial(),
    % Ticks since the last pull.
    idle = 0 :: non_neg_integer(),
    % Whether the receiver was lost after the seal.
    is_abandoned = false :: boolean(),
    lent = ring_copies:none() :: ring_copies:lent()
}).

-type seat() :: #seat{}.
-type result() :: {seat(), [ring_seat:effect()]}.
