%%% @doc The behaviour of a synchronisation protocol: how replicas of one value become equal.
%%%
%%% A protocol is a value, like an overlay (`partisan_overlay'): it takes an event and answers with
%%% its next state and a list of effects, reads no clock and touches no socket. {@link lasp_store}
%%% interprets the effects in production, the property tests in any order, with losses and
%%% duplicates. The protocol holds the replica; changes are deltas (see {@link lasp_lattice}), so a
%%% protocol that sends deltas or digests instead of states is another module, and nothing around
%%% it changes.
%%%
%%% == What the interpreter promises ==
%%% <ul>
%%% <li>`{send, Name, latest, Msg}' may be lost, and may be dropped for a later `latest' message to
%%%     the same node; `{send, Name, each, Msg}' is not dropped for a later one, but is lost where
%%%     there is no room for it; `{send, Name, patient, Msg}' waits a moment for room.</li>
%%% <li>`{neighbour_up, Name}' is told again when a neighbour has been replaced by a later life of
%%%     itself; after that nothing comes that its former life has sent.</li>
%%% <li>A timer fires once; starting it again restarts it.</li>
%%% <li>After `handover', `{handed_over, Names}' is answered once, with the neighbours that now hold
%%%     everything that this replica holds.</li>
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
    | {timer, Name :: term()}
    | handover.

%% What a payload was: values whole (`state', `handover'), in part (`delta') or summed (`question',
%% `answer'); digests; what keeps the tree; `foreign' belongs to another scope, `malformed' to
%% nothing known.
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
    {send, name(), latest | each | patient, Msg :: term()}
    | {start_timer, Name :: term(), Milliseconds :: non_neg_integer()}
    % The replica has grown.
    | changed
    % One message with so many bytes of payload: encoded CRDT value or digest, without framing.
    | {count, kind(), sent | received, Bytes :: non_neg_integer()}
    | {handed_over, [name()]}.

%% `name' and `incarnation': of this node.
%% `scope': messages of another scope are ignored: two runs never mix.
%% `interval': milliseconds between two propagations; the first comes after a random part of it.
-type options() :: #{
    name := name(),
    incarnation := partisan_peer:incarnation(),
    type := lasp_lattice:type(),
    scope := binary(),
    interval := pos_integer(),
    seed := {integer(), integer(), integer()}
}.

%% How a value is synchronised, as users name it. `aggregate' leaves every node with less than the
%% others do: sums in place of who has counted what.
-type mode() :: state | delta | tree | aggregate.

-export_type([mode/0, name/0, event/0, kind/0, effect/0, options/0]).

-callback init(options()) -> {State :: term(), [effect()]}.
-callback handle(event(), State :: term()) -> {State :: term(), [effect()]}.
-callback value(State :: term()) -> Value :: term().
%% Was every neighbour, when last heard of, equal to this replica as it is now?
-callback agreed(State :: term()) -> boolean().

%% @doc The modes there are.
-spec modes() -> [mode()].
modes() ->
    [state, delta, tree, aggregate].

%% @doc What of the kinds carries values or sums of them: the payload.
-spec payloads() -> [kind()].
payloads() ->
    [state, delta, question, answer, handover].

%% @doc The protocol of a mode.
-spec protocol(mode()) -> module().
protocol(state) -> lasp_sync_state;
protocol(delta) -> lasp_sync_delta;
protocol(tree) -> lasp_sync_tree;
protocol(aggregate) -> lasp_sync_aggregate.

%% @doc The random part of an interval after which the first propagation comes.
-spec phase(options()) -> pos_integer().
phase(#{interval := Interval, seed := Seed}) ->
    {Phase, _} = rand:uniform_s(Interval, rand:seed_s(exsss, Seed)),
    Phase.
