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

%% `r', `w': replicas that must have answered, by default a majority, two of three; the guarantees
%% need both to be at least two, and more together than there are replicas. `read': `atomic' writes
%% the answer back to `w' replicas first. `reads': `digest' asks one replica for the values and the
%% others for a hash. `availability': of a write; `sloppy': other nodes may keep it for replicas out
%% of reach, on a ring that was started with `hint_age'. `timeout': in milliseconds, 10,000 by
%% default.
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
%% `too_large': the key and the value have so many bytes, more than `value_bytes' of {@link ring}.
%% Nothing was executed.
-type error() :: {error, unavailable | timeout | {too_large, Bytes :: pos_integer()}}.

-export_type([options/0, context/0, error/0]).

-define(RING, kvs).
%% Milliseconds between two rounds of anti-entropy of a partition.
-define(REPAIR_MS, 30000).

%% @doc Starts the store on this node, with options of {@link ring:start/2}.
-spec start(map()) -> ok | {error, term()}.
start(#{} = Given) ->
    Options = maps:merge(#{repair => ?REPAIR_MS}, Given),
    ring:start(?RING, Options#{service => ring_kvs_vnode, replicated => true});
start(Given) ->
    ring:start(?RING, Given).

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
%% unknown or out of range is an error `{bad_option, Description}', a key that is no binary
%% `{bad_key, Description}', and `{no_ring, Description}' a store that was never started here.
-spec request(ring_request:operation(), options()) -> ring_request:result() | error().
request(Operation, Options) ->
    case ring_table:partition(?RING, element(2, Operation)) of
        none ->
            {error, unavailable};
        Partition ->
            View = ring_table:view(?RING, Partition),
            Arguments = [Operation, View, checked(Options, ring_view:replication(View))],
            #{value_bytes := Most} = ring_table:options(?RING),
            % One that fits into no message would stay on one replica, and keep it from moving.
            case erlang:external_size(Operation) of
                Bytes when Bytes > Most -> {error, {too_large, Bytes}};
                _ -> ring_coordinator:call(?RING, ring_request, Partition, Arguments)
            end
    end.

%% Internals.

written({error, _} = Error) -> Error;
written({Acknowledged, _Dot, _Set, Context}) -> {Acknowledged, Context}.

checked(#{} = Options, Replicas) ->
    #{transport := Transport, hint_age := Age} = ring_table:options(?RING),
    maps:get(availability, Options, strict) =:= sloppy andalso Age =:= 0 andalso
        error({bad_option, "availability: sloppy needs the option hint_age of ring_kvs:start/1"}),
    Majority = Replicas div 2 + 1,
    maps:fold(
        fun(Name, Value, Acc) -> maps:merge(Acc, option(Name, Value, Replicas)) end,
        #{prefer => Transport:self(), read => Majority, write => Majority},
        Options
    );
checked(Options, _Replicas) ->
    ring_options:refuse(options, Options, "a map").

option(context, Context, _) ->
    ring_dvv:is_context(Context) orelse
        ring_options:refuse(context, Context, "the context of an earlier answer"),
    #{context => Context};
option(timeout, Timeout, _) ->
    #{timeout := Timeout} = ring_options:call(#{timeout => Timeout});
option(r, R, N) when is_integer(R), R >= 1, R =< N -> #{read => R};
option(w, W, N) when is_integer(W), W >= 1, W =< N -> #{write => W};
option(read, Mode, _) when Mode =:= quorum; Mode =:= atomic -> #{mode => Mode};
option(reads, Reads, _) when Reads =:= full; Reads =:= digest -> #{reads => Reads};
option(availability, A, _) when A =:= strict; A =:= sloppy -> #{availability => A};
option(Name, Value, N) ->
    case wanted(Name, N) of
        unknown -> ring_options:refuse(Name);
        Wanted -> ring_options:refuse(Name, Value, Wanted)
    end.

wanted(Name, N) when Name =:= r; Name =:= w ->
    lists:flatten(io_lib:format("1 to ~b, the replicas of a key", [N]));
wanted(read, _) -> "quorum or atomic";
wanted(reads, _) -> "full or digest";
wanted(availability, _) -> "strict or sloppy";
wanted(_, _) -> unknown.
