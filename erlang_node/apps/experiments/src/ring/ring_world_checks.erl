%%% @doc Questions about all simulated nodes at once, which no node could answer.
-module(ring_world_checks).

-include("ring_world.hrl").

-export([strength/2]).
-export([is_settled/1]).
-export([informed/1]).

-import(ring_world, [module/2]).

-type name() :: ring_state:member().
-type t() :: ring_world:t().

%% @doc The least number of replicas of a partition that serve, not counting these nodes.
-spec strength([name()], t()) -> non_neg_integer().
strength(Without, #world{options = #{partitions := Partitions, replication := N}} = W) ->
    Seat = module(seat, W),
    All = [{Name, S} || {Name, S} <- ring_world:seats(W)],
    Known = lists:foldl(
        fun({_, S}, Acc) -> ring_known:merge(Seat:known(S), Acc) end, ring_known:new(), All
    ),
    Newest = lists:foldl(
        fun({Name, S}, Acc) ->
            case Seat:status(S) of
                #{voting := [_ | _], sealed := false} ->
                    case ring_known:is_over(Seat:index(S), Seat:incarnation(S), Known) of
                        true -> Acc;
                        false -> Acc#{Seat:index(S) => {Name, Seat:status(S)}}
                    end;
                _ ->
                    Acc
            end
        end,
        #{},
        All
    ),
    Serves = fun(P, I) ->
        case Newest of
            % The last chunk makes an index depend on both ends.
            #{I := {Name, #{voting := Voting, next := Next}}} ->
                lists:member(P, Voting) andalso not lists:member(Name, Without) andalso
                    not lists:member(Next, Without);
            #{} ->
                false
        end
    end,
    lists:min([
        length([I || D <- lists:seq(0, N - 1), I <- [(P + D) rem Partitions], Serves(P, I)])
     || P <- lists:seq(0, Partitions - 1)
    ]).

%% @doc Whether every node has the last plan, every index is served by its owner alone, and there
%% are no hints.
-spec is_settled(t()) -> boolean().
is_settled(#world{nodes = Nodes, epoch = Epoch, options = #{partitions := Partitions}} = W) ->
    Seat = module(seat, W),
    Views = [View || #node{view = View} <- maps:values(Nodes)],
    Seats = ring_world:seats(W),
    Hints = module(hints, W),
    lists:all(fun(#node{hints = H}) -> Hints:count(H) =:= 0 end, maps:values(Nodes)) andalso
        lists:all(fun(V) -> V =/= none andalso ring_view:epoch(V) =:= Epoch end, Views) andalso
        length(Seats) =:= Partitions andalso
        lists:all(
            fun({Name, S}) ->
                Seat:is_serving(S) andalso
                    ring_view:owner(Seat:index(S), hd(Views)) =:= Name
            end,
            Seats
        ) andalso
        % Nodes with one digest have one state.
        lists:all(
            fun(V) -> ring_view:transfers(V) =:= [] end,
            maps:values(
                maps:from_list([
                    {ring_gossip:digest(G), V}
                 || #node{gossip = G, view = V} <- maps:values(Nodes)
                ])
            )
        ).

%% @doc The living nodes that know the last plan.
-spec informed(t()) -> non_neg_integer().
informed(#world{nodes = Nodes, epoch = Epoch}) ->
    length([1 || #node{view = V} <- maps:values(Nodes), V =/= none, ring_view:epoch(V) =:= Epoch]).
