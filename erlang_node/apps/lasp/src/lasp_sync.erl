%%% @doc The behaviour of a synchronisation protocol, by which replicas of one value become equal.
%%%
%%% A protocol is a value, like an overlay (`partisan_overlay'): it takes an event and returns its
%%% next state and a list of effects, reads no clock and touches no socket. {@link lasp_store}
%%% interprets the effects in production, the property tests in any order, with losses and
%%% duplicates. The protocol holds the replica; changes are deltas (see {@link lasp_lattice}), so a
%%% protocol that sends deltas or digests instead of states is another module, and nothing around it
%%% changes.
%%%
%%% == Guarantees of the interpreter ==
%%% <ul>
%%% <li>`{send, Name, latest, Msg}' may be lost, and may be replaced by a later `latest' message to
%%%     the same node; `{send, Name, each, Msg}' is not replaced, but lost if there is no room for
%%%     it; `{send, Name, blocking, Msg}' waits a moment for room.</li>
%%% <li>`{neighbour_up, Name}' comes again when a neighbour has been replaced by its next
%%%     incarnation; after that no message of the previous one comes.</li>
%%% <li>A timer fires once; starting it again restarts it.</li>
%%% <li>`handover' is answered by `{handed_over, Names}', the neighbours that now hold everything
%%%     that this replica holds; all that come before the answer are answered once.</li>
%%% </ul>
-module(lasp_sync).

-export([modes/0]).
-export([payloads/0]).
-export([protocol/1]).
-export([phase/1]).

-type name() :: binary().

-type event() ::
    {neighbour_up, name()}
    | {neighbour_down, name()}
    | {message, From :: name(), Msg :: term()}
    | {update, Delta :: term()}
    % The writes of nodes that have ended, such as those of a backup.
    | {restore, Value :: term()}
    | {timer, Name :: term()}
    | handover.

%% Kinds of payload: whole values (`state', `handover'), parts (`delta'), sums (`question',
%% `answer'); digests; upkeep of the tree; `foreign': of another scope; `malformed': unknown.
-type kind() ::
    state
    | delta
    | question
    | answer
    | handover
    | digest
    | hello
    | greet
    | tree
    | foreign
    | malformed.

-type effect() ::
    {send, name(), latest | each | blocking, Msg :: term()}
    | {start_timer, Name :: term(), Milliseconds :: non_neg_integer()}
    % The replica has grown.
    | changed
    % One message with that many bytes of payload: encoded CRDT value or digest, without framing.
    | {count, kind(), sent | received, Bytes :: non_neg_integer()}
    | {handed_over, [name()]}.

%% `name' and `incarnation': of this node.
%% `scope': messages of another scope are ignored, so two runs never mix.
%% `interval': milliseconds between two propagations; the first comes after a random part of it.
-type options() :: #{
    name := name(),
    incarnation := partisan_peer:incarnation(),
    type := lasp_lattice:type(),
    scope := binary(),
    interval := pos_integer(),
    seed := {integer(), integer(), integer()}
}.

%% How a value is synchronised, as users name it. With `aggregate' every node holds less than in the
%% other modes: sums instead of each node's counts.
-type mode() :: state | delta | tree | aggregate.

-export_type([mode/0, name/0, event/0, kind/0, effect/0, options/0]).

-callback init(options()) -> {State :: term(), [effect()]}.
-callback handle(event(), State :: term()) -> {State :: term(), [effect()]}.
-callback value(State :: term()) -> Value :: term().
%% Whether every neighbour last reported a replica equal to the present one.
-callback agreed(State :: term()) -> boolean().

%% @doc All modes.
-spec modes() -> [mode()].
modes() ->
    [state, delta, tree, aggregate].

%% @doc The kinds that carry values or sums: the payload.
-spec payloads() -> [kind()].
payloads() ->
    [state, delta, question, answer, handover].

%% @doc The protocol of a mode.
-spec protocol(mode()) -> module().
protocol(state) -> lasp_sync_state;
protocol(delta) -> lasp_sync_delta;
protocol(tree) -> lasp_sync_tree;
protocol(aggregate) -> lasp_sync_aggregate.

%% @doc The random delay of the first propagation.
-spec phase(options()) -> pos_integer().
phase(#{interval := Interval, seed := Seed}) ->
    {Phase, _} = rand:uniform_s(Interval, rand:seed_s(exsss, Seed)),
    Phase.
