%%% @doc The key-value store on a ring: replicated, with quorums. docs/explanation/ring.md says what
%%% it guarantees.
%%%
%%% ```
%%% ok = ring_kvs:start(#{}),
%%% {ok, Context} = ring_kvs:put(<<"key">>, 1, #{}),
%%% {ok, [1], Context} = ring_kvs:get(<<"key">>, #{context => Context}),
%%% {ok, _} = ring_kvs:delete(<<"key">>, #{context => Context}).
%%% '''
%%%
%%% A *context* says what its owner has seen of a key. A write replaces what its context covers;
%%% what it does not cover stays, and a read returns both. With the context of an earlier
%%% answer, a read returns nothing older.
-module(ring_kvs).

-export([start/1]).
-export([get/2]).
-export([put/3]).
-export([delete/2]).
-export([request/2]).

-type key() :: ring_replica:key().
-type context() :: ring_dvv:context().

%% `r', `w': replicas that must have answered, two by default; the guarantees need both to be at
%% least two, and more together than there are replicas. `read': `atomic' writes the answer back to
%% `w' replicas first. `reads': `digest' asks one replica for the values and the others for a hash.
%% `availability': of a write; `sloppy': other nodes may keep it for replicas out of reach, on a
%% ring that was started with `hint_age'. `timeout': in milliseconds, 10,000 by default.
-type options() :: #{
    context => context(),
    r => pos_integer(),
    w => pos_integer(),
    read => quorum | atomic,
    reads => full | digest,
    availability => strict | sloppy,
    timeout => pos_integer()
}.
%% `unavailable': too few replicas in reach. A write has not been executed then.
%% `timeout': of a write, whose outcome is unknown.
-type error() :: {error, unavailable | timeout}.

-export_type([options/0, context/0, error/0]).

-define(RING, kvs).
%% Milliseconds between two rounds of anti-entropy of a partition.
-define(REPAIR_MS, 30000).

%% @doc Starts the store on this node, with options of {@link ring:start/2}.
-spec start(map()) -> ok | {error, term()}.
start(Given) ->
    Options = maps:merge(#{repair => ?REPAIR_MS}, Given),
    ring:start(?RING, Options#{service => ring_kvs_vnode, replicated => true}).

%% @doc The values of a key, several after concurrent writes, none if it has none.
-spec get(key(), options()) -> {ok, [ring_dvv:value()], context()} | error().
get(Key, Options) ->
    case request({get, Key}, Options) of
        {ok, Set, Context} -> {ok, ring_dvv:values(Set), Context};
        {error, _} = Error -> Error
    end.

%% @doc Writes a value in the place of those that the context covers. `hinted': it has its quorum
%% only with nodes that keep it for others, and a read may not return it yet
%% (docs/explanation/ring.md).
-spec put(key(), ring_dvv:value(), options()) -> {ok | hinted, context()} | error().
put(Key, Value, Options) ->
    written(request({put, Key, {value, Value}}, Options)).

%% @doc Deletes the values that the context covers; `hinted' as for `put/3'.
-spec delete(key(), options()) -> {ok | hinted, context()} | error().
delete(Key, Options) ->
    written(request({put, Key, none}, Options)).

%% @doc A request with its whole result, for a history ({@link ring_history}). An option that is
%% unknown or out of range is an error `{bad_option, Description}'.
-spec request(ring_request:operation(), options()) -> ring_request:result().
request(Operation, Options) ->
    Key = element(2, Operation),
    is_binary(Key) orelse error({bad_key, "the key must be a binary"}),
    case ring_table:partition(?RING, Key) of
        none ->
            {error, unavailable};
        Partition ->
            View = ring_table:view(?RING, Partition),
            Arguments = [Operation, View, checked(Options, ring_view:replication(View))],
            ring_coordinator:call(?RING, ring_request, Partition, Arguments)
    end.

%% Internals.

written({error, _} = Error) -> Error;
written({Acknowledged, _Dot, _Set, Context}) -> {Acknowledged, Context}.

checked(Options, Replicas) ->
    #{transport := Transport, hint_age := Age} = ring_table:options(?RING),
    maps:get(availability, Options, strict) =:= sloppy andalso Age =:= 0 andalso
        error({bad_option, "availability: sloppy needs the option hint_age of ring_kvs:start/1"}),
    maps:fold(
        fun(Name, Value, Acc) -> maps:merge(Acc, option(Name, Value, Replicas)) end,
        #{prefer => Transport:self()},
        Options
    ).

option(context, Context, _) when is_list(Context) -> #{context => Context};
option(r, R, N) when is_integer(R), R >= 1, R =< N -> #{read => R};
option(w, W, N) when is_integer(W), W >= 1, W =< N -> #{write => W};
option(read, Mode, _) when Mode =:= quorum; Mode =:= atomic -> #{mode => Mode};
option(reads, Reads, _) when Reads =:= full; Reads =:= digest -> #{reads => Reads};
option(availability, A, _) when A =:= strict; A =:= sloppy -> #{availability => A};
option(timeout, Timeout, _) when is_integer(Timeout), Timeout > 0 -> #{timeout => Timeout};
option(Name, Value, N) ->
    Text = io_lib:format("~tp: ~0tp is no value for a ring of ~b replicas", [Name, Value, N]),
    error({bad_option, lists:flatten(Text)}).
