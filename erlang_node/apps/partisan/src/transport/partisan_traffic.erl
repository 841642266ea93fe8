%%% @doc The traffic to each peer, for a node's report.
%%%
%%% Sums the counters of the lanes ({@link partisan_lane}) when asked; nothing else is counted or
%%% kept. A counter begins anew when a lane does: after a broken link, or another parallelism.
%%% Never Prometheus labels: the number of peers is that of the cluster.
-module(partisan_traffic).

-export([by_peer/2]).

-type channels() :: #{
    Channel :: atom() => #{
        sent_messages := non_neg_integer(),
        sent_bytes := non_neg_integer(),
        dropped := non_neg_integer(),
        queue_bytes := non_neg_integer()
    }
}.
-type t() :: #{
    peers := #{partisan_peer:name() => channels()},
    % The sums over the other peers, and their number.
    others := #{peers := non_neg_integer(), channels := channels()}
}.
-export_type([channels/0, t/0]).

%% @doc The traffic over these lanes: at most `Limit' peers, those that were sent the most bytes,
%% and the sums over the others.
-spec by_peer([{partisan_transport:key(), partisan_lane:t()}], Limit :: non_neg_integer()) -> t().
by_peer(Lanes, Limit) ->
    Busiest = lists:reverse(lists:sort([
        {bytes(Channels), Name, Channels}
     || {Name, Channels} <- maps:to_list(lists:foldl(fun add_lane/2, #{}, Lanes))
    ])),
    {Shown, Others} = lists:split(min(Limit, length(Busiest)), Busiest),
    #{
        peers => maps:from_list([{Name, Channels} || {_, Name, Channels} <- Shown]),
        others => #{
            peers => length(Others),
            channels => lists:foldl(fun sum/2, #{}, [Channels || {_, _, Channels} <- Others])
        }
    }.

%% Internals.

add_lane({{Name, Channel, _Index}, Lane}, Peers) ->
    Traffic = #{Channel => partisan_lane:traffic(Lane)},
    maps:update_with(Name, fun(Sum) -> sum(Traffic, Sum) end, Traffic, Peers).

bytes(Channels) ->
    lists:sum([Bytes || #{sent_bytes := Bytes} <- maps:values(Channels)]).

%% Of two maps, which may themselves hold maps.
sum(Left, Right) ->
    maps:fold(
        fun(Key, Value, Sum) -> maps:update_with(Key, fun(V) -> plus(V, Value) end, Value, Sum) end,
        Right,
        Left
    ).

plus(Left, Right) when is_map(Left) -> sum(Left, Right);
plus(Left, Right) -> Left + Right.
