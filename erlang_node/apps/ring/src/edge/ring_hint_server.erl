%%% @doc The hints that this node keeps for a ring: interprets {@link ring_hints}, delivers them.
%%%
%%% A hint that is given up because of its age is logged, and counted in the status of the ring
%%% ({@link ring_manager}).
-module(ring_hint_server).
-behaviour(gen_server).

-export([start_link/1]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

-include_lib("kernel/include/logger.hrl").

-record(server, {
    ring :: ring_table:ring(),
    tick :: pos_integer(),
    hints :: ring_hints:t(),
    given_up = 0 :: non_neg_integer()
}).

%% Milliseconds for a delivery: far less than the grace of a tombstone.
-define(DELIVERY_MS, 5000).

%% @doc Starts the process.
-spec start_link(ring_table:ring()) -> gen_server:start_ret().
start_link(Ring) ->
    gen_server:start_link(?MODULE, Ring, []).

%% gen_server.

%% @private
-spec init(ring_table:ring()) -> {ok, #server{}}.
init(Ring) ->
    #{tick := Tick, hint_count := Count, hint_bytes := Bytes, hint_age := Age} =
        ring_table:options(Ring),
    Hints = ring_hints:new(#{count => Count, bytes => Bytes, age => Age}),
    ok = ring_table:put_hints(Ring, 0, 0),
    _ = erlang:send_after(Tick, self(), tick),
    {ok, #server{ring = Ring, tick = Tick, hints = Hints}}.

%% @private
-spec handle_call(term(), gen_server:from(), #server{}) -> {reply, term(), #server{}}.
handle_call(Unknown, _From, Server) ->
    {reply, partisan_stray:call(Unknown), Server}.

%% @private
-spec handle_cast(term(), #server{}) -> {noreply, #server{}}.
handle_cast(Unknown, Server) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, Server}.

%% @private
-spec handle_info(term(), #server{}) -> {noreply, #server{}}.
handle_info({request, {Origin, Number, Tag, Place}, Partition, Command}, Server) ->
    #server{ring = Ring, hints = Hints} = Server,
    Info = #{partition => Partition, now => now_ms(), actor => ring_table:next_actor(Ring)},
    {Answer, Next} = ring_hints:handle(Command, Info, Hints),
    % Counted before it is acknowledged.
    Kept = kept(Next, Server),
    ok = ring_wire:answer(Ring, Origin, Number, {answer, Number, Tag, Place, Answer}),
    {noreply, Kept};
handle_info({delivered, Partition, Key, Set, Outcome}, #server{hints = Hints} = Server) ->
    {noreply, kept(ring_hints:delivered(Partition, Key, Set, Outcome, Hints), Server)};
handle_info(tick, #server{tick = Tick} = Server) ->
    _ = erlang:send_after(Tick, self(), tick),
    {noreply, deliver(Server)};
handle_info(Unknown, Server) ->
    ok = partisan_stray:message(Unknown),
    {noreply, Server}.

%% Internals.

deliver(#server{ring = Ring, hints = Hints, given_up = Before} = Server) ->
    IsReady = fun(Partition, Quorum) -> is_ready(Partition, Quorum, Ring) end,
    {Due, Expired, Left} = ring_hints:due(now_ms(), IsReady, Hints),
    _ = Expired =:= [] orelse
        ?LOG_WARNING(#{event => hints_given_up, ring => Ring, hints => length(Expired)}),
    ok = lists:foreach(fun(Delivery) -> start(Delivery, Ring) end, Due),
    kept(Left, Server#server{given_up = Before + length(Expired)}).

%% Whether as many indexes are on nodes that are not believed to be lost.
is_ready(Partition, Quorum, Ring) ->
    case ring_table:view(Ring, Partition) of
        none ->
            false;
        View ->
            Nodes = [Node || {_, Node} <- ring_view:preference(Partition, View)],
            length([Node || Node <- Nodes, not ring_table:is_lost(Ring, Node)]) >= Quorum
    end.

%% One that ends without a result is repeated.
start({Partition, Key, Set, Quorum}, Ring) ->
    Self = self(),
    View = ring_table:view(Ring, Partition),
    Arguments = [{store, Key, Set}, View, #{write => Quorum, timeout => ?DELIVERY_MS}],
    _ = spawn(fun() ->
        Outcome =
            case ring_coordinator:call(Ring, ring_request, Partition, Arguments) of
                {ok, _, _} -> ok;
                {error, _} -> error
            end,
        Self ! {delivered, Partition, Key, Set, Outcome}
    end),
    ok.

kept(Hints, #server{ring = Ring, given_up = GivenUp} = Server) ->
    ok = ring_table:put_hints(Ring, ring_hints:count(Hints), GivenUp),
    Server#server{hints = Hints}.

now_ms() ->
    erlang:monotonic_time(millisecond).
