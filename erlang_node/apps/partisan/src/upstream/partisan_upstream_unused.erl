%%% @doc Keys of upstream Partisan that have no counterpart here.
%%%
%%% Most have no effect whatever their value. A few ask for something that the runtime does not do,
%%% unless they have a harmless value, which is upstream's default.
-module(partisan_upstream_unused).

-export([converted/1]).

-import(partisan_upstream_value, [invalid/2]).

-define(WITHOUT_EFFECT, [
    % References and messages have one form on the wire.
    binary_padding,
    pid_encoding,
    ref_encoding,
    register_pid_for_encoding,
    remote_ref_as_uri,
    remote_ref_binary_padding,
    remote_ref_format,
    remote_ref_uri_padding,
    % Connections are made as an overlay asks for them, and every message takes the same way.
    broadcast,
    channel_fallback,
    connection_interval,
    connection_jitter,
    disable_fast_forward,
    disable_fast_receive,
    relay_ttl,
    retransmit_interval,
    % Timers and samples of upstream's overlays and trees.
    broadcast_start_exchange_limit,
    distance_enabled,
    exchange_selection,
    fanout,
    gossip,
    initiate_reverse,
    lazy_tick_period,
    membership_binary_compression,
    periodic_enabled,
    periodic_interval,
    tree_refresh,
    % A label of causal delivery need not be declared.
    causal_labels,
    % Tests and traces.
    disterl_enabled,
    membership_strategy_tracing,
    nodestring,
    random_seed,
    replaying,
    shrinking,
    tracing,
    transmission_logging_mfa
]).

%% @doc The keys without effect, and the other fields.
-spec converted(map()) -> {WithoutEffect :: [string()], map()}.
converted(Given) ->
    Limited = [Entry || {Key, _, _} = Entry <- limited(), is_map_key(Key, Given)],
    lists:foreach(fun(Entry) -> check(Entry, Given) end, Limited),
    Keys =
        [Key || Key <- ?WITHOUT_EFFECT, is_map_key(Key, Given)] ++ [Key || {Key, _, _} <- Limited],
    {[atom_to_list(Key) || Key <- Keys], maps:without(Keys, Given)}.

%% Internals.

%% Keys with their harmless values, and the reason and the fix for any other.
limited() ->
    [
        {affinity, [enabled, true],
            "messages of one sender or partition key always share a connection here; set enabled,"
            " or remove it"},
        {connect_disterl, [false],
            "Distributed Erlang is not started here, and carries nothing; set false, and start it"
            " yourself if you need both"},
        {forward_options, [[], #{}],
            "options have no defaults here; pass them to partisan:forward/4, or define the channel"
            " with acknowledged => true"},
        {orchestration_strategy, [undefined],
            "nodes are not started or found by a strategy here; remove it and set seeds or"
            " discovery"},
        {reservations, [[]], "nothing here has tags; remove it"},
        {tag, [undefined],
            "nodes have no roles here; remove it and set"
            " overlay => {client_server, #{servers => [...]}}"}
    ].

check({Key, Harmless, Fix}, Given) ->
    Value = map_get(Key, Given),
    lists:member(Value, Harmless) orelse invalid("~s is ~0p: ~s", [Key, Value, Fix]),
    ok.
