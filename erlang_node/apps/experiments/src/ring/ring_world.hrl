%%% What simulated nodes keep, and what is between them; for the modules `ring_world...'.

-record(node, {
    start :: pos_integer(),
    gossip = ring_gossip:new() :: ring_gossip:t(),
    view = none :: ring_view:t() | none,
    seats = #{} :: #{ring_state:index() => term()},
    requests = #{} :: #{term() => term()},
    repairs = #{} :: #{term() => ring_repair:t()},
    hints :: term(),
    % Nodes whose present incarnation is believed to be lost.
    lost = [] :: [ring_state:member()],
    % The incarnations that this node has heard of.
    peers = #{} :: #{ring_state:member() => pos_integer()}
}).

-record(world, {
    % The last plan, of which the authority informs a node now and then.
    plan = none :: none | ring_state:t(),
    options :: ring_world:options(),
    random :: rand:state(),
    clock = simulator_clock:new() :: simulator_clock:t(),
    nodes = #{} :: #{ring_state:member() => #node{}},
    starts = #{} :: #{ring_state:member() => pos_integer()},
    % The names in order, and the place of each.
    names = {} :: tuple(),
    places = #{} :: #{ring_state:member() => pos_integer()},
    % The view of the last plan.
    last = none :: ring_view:t() | none,
    % What the seats of a ring that forms have reported.
    forming = none :: none | ring_gossip:t(),
    serial = 0 :: non_neg_integer(),
    side = fun(_) -> all end :: fun((ring_state:member()) -> term()),
    % When it last changed.
    cut_at = 0 :: simulator_clock:milliseconds(),
    epoch = 0 :: non_neg_integer(),
    members = [] :: [ring_state:member()],
    % Kills a node at the next message of a kind.
    trap = none :: none | {Kind :: atom(), sender | receiver, Delivered :: boolean()},
    % The kind of messages that are slow.
    delayed = none :: atom(),
    done = [] :: [{term(), term()}],
    stopped = [] :: [ring_state:member()],
    dropped = [] :: [{ring_replica:key(), ring_dvv:context(), simulator_clock:milliseconds()}],
    % The hints that were lost with their node, or given up.
    forgotten = [] :: [{ring_replica:key(), ring_dvv:context()}],
    messages = 0 :: non_neg_integer(),
    % Messages and bytes of gossip as of real nodes.
    gossiped = {0, 0} :: {non_neg_integer(), non_neg_integer()}
}).
