%%% @doc The behaviour of an overlay: a pure protocol that selects a node's neighbours.
%%%
%%% An overlay is a value. It takes an event and returns its next state and a list of effects; it
%%% opens no socket, reads no clock and draws no random number from outside (its generator is seeded
%%% in `init/1'). `partisan_manager' interprets the effects on real sockets, `simulator' in virtual
%%% time, the property tests in any order. A complete example is in docs/tutorials/own-overlay.md;
%%% {@link partisan_layer} has the common parts.
%%%
%%% == Guarantees of the interpreter ==
%%% <ul>
%%% <li>`{connect, Peer}' pins a link: the interpreter dials, answers `{peer_up, Peer}' once the
%%%     peer has been authenticated and keeps the link until `{disconnect, Name}'. When the dial
%%%     fails or the link is lost it answers `{peer_down, Name, Reason}', once, and forgets the pin:
%%%     whether to dial again is the overlay's decision. Connecting to a pinned peer of the same
%%%     incarnation is a no-op that answers nothing.</li>
%%% <li>`{send, Peer, Msg}' carries a message over the overlay channel. Without a link it dials one
%%%     for the purpose and drops it when idle; when that fails it answers
%%%     `{peer_down, Name, Reason}'. Messages to one peer stay in order.</li>
%%% <li>Each direction of a pair has its own link: a link from A to B shows A that B is alive, and B
%%%     pins its own.</li>
%%% <li>`{message, Peer, Msg}' carries the sender as its handshake described it, incarnation
%%%     included.</li>
%%% <li>`{measure, Peer}' asks for the distance of a peer: the interpreter sends a probe over the
%%%     overlay channel, dialling if need be, and answers `{cost, Name, Microseconds}', the round
%%%     trip, or `{peer_down, Name, Reason}' if it is unreachable.</li>
%%% <li>A timer fires once; starting it again restarts it.</li>
%%% </ul>
-module(partisan_overlay).

-type event() ::
    {join, partisan_peer:t()}
    | {message, From :: partisan_peer:t(), Msg :: term()}
    | {peer_up, partisan_peer:t()}
    | {peer_down, partisan_peer:name(), Reason :: term()}
    | {timer, Name :: term()}
    | {cost, partisan_peer:name(), Microseconds :: non_neg_integer()}
    | leave.

-type effect() ::
    {connect, partisan_peer:t()}
    | {disconnect, partisan_peer:name()}
    | {send, partisan_peer:t(), Msg :: term()}
    | {start_timer, Name :: term(), Milliseconds :: non_neg_integer()}
    | {measure, partisan_peer:t()}
    | {neighbour_up, partisan_peer:t()}
    | {neighbour_down, partisan_peer:name()}
    | {count, Event :: atom() | {broadcast, Kind :: atom()}}.

%% `self' and `seed' are common to all overlays; the rest are the overlay's own parameters.
-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    _ => _
}.

-export_type([event/0, effect/0, options/0]).

-callback init(options()) -> {State :: term(), [effect()]}.
-callback handle(event(), State :: term()) -> {State :: term(), [effect()]}.
%% Current neighbours (announced up and not yet down).
-callback neighbours(State :: term()) -> [partisan_peer:t()].
%% Other known peers: the passive view, or nothing.
-callback passive(State :: term()) -> [partisan_peer:t()].
%% The neighbour that leads to a node which is none; the runtime searches a route without it.
-callback next_hop(partisan_peer:name(), State :: term()) -> {ok, partisan_peer:name()} | none.
%% The brokers of all topics, and how many of them keep the subscriptions of one; without it,
%% publications travel over trees of their subscribers.
-callback brokers(State :: term()) -> {[partisan_peer:name()], Replication :: pos_integer()}.

-optional_callbacks([next_hop/2, brokers/1]).
