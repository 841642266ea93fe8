%%% @doc State that the processes of a ring on a node share and read without a message: settings in
%%% a persistent term, and a table with the views of partitions, the seats, the other nodes and the
%%% requests under way.
%%%
%%% A view is stored in parts, one for each partition, so that a reader copies only what it needs.
%%% {@link ring_manager} writes everything but requests. Between two starts of the ring a reader
%%% finds nothing, as before the first plan.
-module(ring_table).

-export([start_link/2]).
-export([options/1]).
-export([start/1]).
-export([next_incarnation/2]).
-export([put_actor/3]).
-export([next_actor/1]).
-export([put_hints/3]).
-export([hints/1]).
-export([view/2]).
-export([put_view/2]).
-export([partition/2]).
-export([no_ring/1]).
-export([seat/2]).
-export([put_seat/3]).
-export([remove_seat/2]).
-export([seats/1]).
-export([incarnation/2]).
-export([is_lost/2]).
-export([lost/1]).
-export([put_peer/4]).
-export([peers/1]).
-export([begin_request/1]).
-export([end_request/2]).
-export([request/2]).
-export([requests/1]).

-type ring() :: atom().
-type member() :: ring_state:member().
-type index() :: ring_state:index().
%% One start of the ring on a node: larger than all before.
-type start() :: pos_integer().

%% `service': a module of behaviour ring_vnode. `replicated': whether a lost index is rebuilt from
%% its siblings. All times are in milliseconds. `tick': of seats and gossip. `repair': between two
%% rounds of anti-entropy of a partition, for `ring_kvs_vnode'. `grace': age at which tombstones go.
%% `transfers': into a node, and out of it, at a time ({@link ring_transfers}). `storage_delay': for
%% which an index is busy with each command, as if it used a disk. `value_bytes': of a value with
%% its key, encoded, for `ring_kvs'. `hint_count', `hint_bytes', `hint_age': bounds of {@link
%% ring_hints}; tombstones are kept for that age, and `grace'.
-type options() :: #{
    service := module(),
    replicated := boolean(),
    transport := module(),
    tick := pos_integer(),
    repair := pos_integer() | never,
    grace := non_neg_integer(),
    transfers := pos_integer() | infinity,
    storage_delay := non_neg_integer(),
    value_bytes := pos_integer(),
    hint_count := non_neg_integer(),
    hint_bytes := non_neg_integer(),
    hint_age := non_neg_integer()
}.

-export_type([ring/0, start/0, options/0]).

%% @doc Creates an empty table for a new start, owned by the calling supervisor. Not a process. An
%% error: something else has the name of the ring.
-spec start_link(ring(), options()) -> ignore | {error, Description :: string()}.
start_link(Ring, Options) ->
    case {whereis(Ring), ets:info(Ring, owner)} of
        {undefined, undefined} ->
            create(Ring, Options);
        {undefined, Self} when Self =:= self() ->
            true = ets:delete(Ring),
            create(Ring, Options);
        {_, _} ->
            Text = io_lib:format("name: a process or table has the name ~tp already", [Ring]),
            {error, lists:flatten(Text)}
    end.

create(Ring, Options) ->
    Ring = ets:new(Ring, [
        named_table, public, set, {read_concurrency, true}, {write_concurrency, true}
    ]),
    Serial = atomics:new(1, []),
    Start = erlang:system_time(microsecond),
    ok = atomics:put(Serial, 1, Start),
    ok = persistent_term:put({?MODULE, Ring}, {Options, Start, Serial}),
    ignore.

%% @doc The settings.
-spec options(ring()) -> options().
options(Ring) ->
    element(1, persistent_term:get({?MODULE, Ring})).

%% @doc The present start of the ring on this node.
-spec start(ring()) -> start().
start(Ring) ->
    element(2, persistent_term:get({?MODULE, Ring})).

%% @doc A new incarnation of an index under the plan of that epoch.
-spec next_incarnation(ring(), ring_state:epoch()) -> ring_state:incarnation().
next_incarnation(Ring, Epoch) ->
    {Epoch, atomics:add_get(element(3, persistent_term:get({?MODULE, Ring})), 1, 1)}.

%% @doc The index as which this node gives out dots for others, under the plan of an epoch; `none'
%% if it is no member.
-spec put_actor(ring(), index() | none, ring_state:epoch()) -> ok.
put_actor(Ring, Index, Epoch) ->
    true = ets:insert(Ring, {actor, {Index, Epoch}}),
    ok.

%% @doc An actor that has never existed; `none' if this node is no member.
-spec next_actor(ring()) -> ring_dvv:actor() | none.
next_actor(Ring) ->
    case value(Ring, actor, {none, 0}) of
        {none, _} -> none;
        {Index, Epoch} -> {Index, next_incarnation(Ring, Epoch)}
    end.

%% @doc The calling process keeps so many hints, and has given up so many.
-spec put_hints(ring(), non_neg_integer(), non_neg_integer()) -> ok.
put_hints(Ring, Count, GivenUp) ->
    true = ets:insert(Ring, {hints, {self(), Count, GivenUp}}),
    ok.

%% @doc The process that keeps hints, and their numbers.
-spec hints(ring()) -> {pid(), Count :: non_neg_integer(), GivenUp :: non_neg_integer()}.
hints(Ring) ->
    ets:lookup_element(Ring, hints, 2).

%% @doc The part of the view for a partition; `none' before the first plan.
-spec view(ring(), ring_view:partition()) -> ring_view:t() | none.
view(Ring, Partition) ->
    value(Ring, {view, Partition}, none).

%% @doc Stores the parts of these partitions.
-spec put_view(ring(), [{ring_view:partition(), ring_view:t()}]) -> ok.
put_view(Ring, Parts) ->
    Count = [{partitions, ring_view:partitions(View)} || {_, View} <- lists:sublist(Parts, 1)],
    true = ets:insert(Ring, Count ++ [{{view, P}, View} || {P, View} <- Parts]),
    ok.

%% @doc The partition of a key; `none' before the first plan. Another key than a binary is an error
%% `{bad_key, Description}', a ring that was never started here `{no_ring, Description}'.
-spec partition(ring(), Key :: binary()) -> ring_view:partition() | none.
partition(Ring, Key) ->
    is_binary(Key) orelse error({bad_key, "the key must be a binary"}),
    case value(Ring, partitions, none) of
        none ->
            _ = persistent_term:get({?MODULE, Ring}, none) =/= none orelse error(no_ring(Ring)),
            none;
        Count ->
            ring_view:partition_of(Key, Count)
    end.

%% @doc The error of a ring that does not run here.
-spec no_ring(ring()) -> {no_ring, Description :: string()}.
no_ring(Ring) ->
    Text = io_lib:format("~0tp: is no ring of this node; ring:start/2 starts one", [Ring]),
    {no_ring, lists:flatten(Text)}.

%% @doc The process of a seat on this node.
-spec seat(ring(), index()) -> pid() | none.
seat(Ring, Index) ->
    case value(Ring, {seat, Index}, none) of
        {Pid, _Phase} -> Pid;
        none -> none
    end.

%% @doc Adds a seat, which is the caller.
-spec put_seat(ring(), index(), ring_seat:phase()) -> ok.
put_seat(Ring, Index, Phase) ->
    true = ets:insert(Ring, {{seat, Index}, {self(), Phase}}),
    ok.

%% @doc Removes a seat.
-spec remove_seat(ring(), index()) -> ok.
remove_seat(Ring, Index) ->
    true = ets:delete(Ring, {seat, Index}),
    ok.

%% @doc The seats on this node, by index.
-spec seats(ring()) -> [{index(), {pid(), ring_seat:phase()}}].
seats(Ring) ->
    lists:sort([{I, Seat} || [I, Seat] <- ets:match(Ring, {{seat, '$1'}, '$2'})]).

%% @doc The last known start of another node.
-spec incarnation(ring(), member()) -> {ok, start()} | none.
incarnation(Ring, Node) ->
    case value(Ring, {peer, Node}, none) of
        {Start, _} -> {ok, Start};
        none -> none
    end.

%% @doc Whether that start is believed to be lost.
-spec is_lost(ring(), member()) -> boolean().
is_lost(Ring, Node) ->
    case value(Ring, {peer, Node}, none) of
        {_, lost} -> true;
        _ -> false
    end.

%% @doc The nodes whose present start is believed to be lost, in order.
-spec lost(ring()) -> [member()].
lost(Ring) ->
    lists:sort([Node || {Node, {_, lost}} <- maps:to_list(peers(Ring))]).

%% @doc Stores the start of another node, and whether it is believed to be lost.
-spec put_peer(ring(), member(), start(), present | lost) -> ok.
put_peer(Ring, Node, Start, State) ->
    true = ets:insert(Ring, {{peer, Node}, {Start, State}}),
    ok.

%% @doc The other nodes that this one has heard of.
-spec peers(ring()) -> #{member() => {start(), present | lost}}.
peers(Ring) ->
    maps:from_list([{N, Peer} || [N, Peer] <- ets:match(Ring, {{peer, '$1'}, '$2'})]).

%% @doc Registers the caller as a request under way.
-spec begin_request(ring()) -> pos_integer().
begin_request(Ring) ->
    Number = erlang:unique_integer([positive]),
    true = ets:insert(Ring, {{request, Number}, self()}),
    Number.

%% @doc The request has ended, maybe after the ring.
-spec end_request(ring(), pos_integer()) -> ok.
end_request(Ring, Number) ->
    try true = ets:delete(Ring, {request, Number}) of
        true -> ok
    catch
        error:badarg -> ok
    end.

%% @doc The process of a request.
-spec request(ring(), pos_integer()) -> pid() | none.
request(Ring, Number) ->
    value(Ring, {request, Number}, none).

%% @doc The processes of all requests.
-spec requests(ring()) -> [pid()].
requests(Ring) ->
    [Pid || [Pid] <- ets:match(Ring, {{request, '_'}, '$1'})].

%% Internals.

value(Ring, Key, Default) ->
    try ets:lookup(Ring, Key) of
        [{_, Value}] -> Value;
        [] -> Default
    catch
        error:badarg -> Default
    end.
