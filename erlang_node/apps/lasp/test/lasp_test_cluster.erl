%%% @doc Replicas on an overlay of breaking links, with a network that loses, repeats and reorders:
%%% the environment of the synchronisation tests.
-module(lasp_test_cluster).

-export([new/4]).
-export([steps/1]).
-export([step/2]).
-export([restart/2]).
-export([event/3]).
-export([leave/2]).
-export([heal/1]).
-export([settle/1]).
-export([silence/1]).
-export([end_questions/1]).
-export([without_questions/1]).
-export([drain/1]).
-export([tick_all/1]).
-export([pick/2]).
-export([names/1]).
-export([starts/2]).
-export([replica/2]).
-export([replicas/1]).
-export([neighbours/2]).
-export([kinds/1]).
-export([handed_over/1]).

-include_lib("proper/include/proper.hrl").

-define(SCOPE, <<"run">>).
%% Within one round, including the messages of the previous steps.
-define(MOST_MESSAGES, 20000).

%% `links': pairs of names in order, each linked or cut. `starts': how often a node has started.
-record(cluster, {
    protocol :: module(),
    type :: lasp_lattice:type(),
    replicas = #{} :: #{binary() => term()},
    links = #{} :: #{{binary(), binary()} => linked | cut},
    wire = [] :: [{binary(), binary(), term()}],
    starts = #{} :: #{binary() => pos_integer()},
    handed_over = [] :: [binary()]
}).

%% @doc A ring of that many nodes, with chords.
new(Protocol, Type, Size, Chords) ->
    Names = [integer_to_binary(I) || I <- lists:seq(0, Size - 1)],
    Ring = [{I, (I + 1) rem Size} || I <- lists:seq(0, Size - 1)],
    Pairs = lists:usort([
        {integer_to_binary(min(A, B)), integer_to_binary(max(A, B))}
     || {A0, B0} <- Ring ++ Chords, A <- [A0 rem Size], B <- [B0 rem Size], A =/= B
    ]),
    Links = maps:from_list([{P, cut} || P <- Pairs]),
    Empty = #cluster{protocol = Protocol, type = Type, links = Links},
    heal(lists:foldl(fun boot/2, Empty, Names)).

%% @doc Steps of these kinds, with their frequencies, plus faults of the network and the links.
steps(Own) ->
    ?SIZED(
        Size,
        resize(
            4 * Size,
            list(
                frequency(
                    [{Often, {Kind, nat()}} || {Often, Kind} <- Own] ++
                        [
                            {6, {tick, nat()}},
                            {8, {deliver, nat()}},
                            {3, {deliver_next, nat()}},
                            {2, {duplicate, nat()}},
                            {2, {lose, nat()}},
                            {1, {cut, nat()}},
                            {1, {mend, nat()}}
                        ]
                )
            )
        )
    ).

%% @doc One of the steps common to all tests.
step({tick, I}, Cluster) ->
    event(pick(I, Cluster), {timer, propagate}, Cluster);
step({cut, I}, Cluster) ->
    with_link(I, linked, fun cut/2, Cluster);
step({mend, I}, Cluster) ->
    with_link(I, cut, fun mend/2, Cluster);
step(_, #cluster{wire = []} = Cluster) ->
    Cluster;
step({Action, I}, #cluster{wire = Wire} = Cluster) ->
    Position =
        case Action of
            deliver_next -> 0;
            _ -> I rem length(Wire)
        end,
    {Before, [{From, To, Message} | After]} = lists:split(Position, Wire),
    Rest = Cluster#cluster{wire = Before ++ After},
    case Action of
        lose -> Rest;
        duplicate -> event(To, {message, From, Message}, Cluster);
        _ -> event(To, {message, From, Message}, Rest)
    end.

%% @doc Restarts a node without its replica.
restart(Name, Cluster) ->
    Broken = broken(Name, Cluster),
    Alone = lists:foldl(fun cut/2, Cluster, Broken),
    lists:foldl(fun mend/2, boot(Name, Alone), Broken).

%% @doc A node leaves for good; its neighbours close the gap.
leave(Name, Cluster) ->
    Broken = broken(Name, Cluster),
    Neighbours = neighbours(Name, Cluster),
    #cluster{links = Links, replicas = Replicas} = Alone = lists:foldl(fun cut/2, Cluster, Broken),
    New = [
        Pair
     || Pair <- lists:zip(lists:droplast([none | Neighbours]), Neighbours),
        element(1, Pair) =/= none,
        not is_map_key(Pair, Links)
    ],
    Kept = maps:without(Broken, Links),
    lists:foldl(
        fun mend/2,
        Alone#cluster{
            links = maps:merge(Kept, maps:from_list([{Pair, cut} || Pair <- New])),
            replicas = maps:remove(Name, Replicas)
        },
        New
    ).

broken(Name, #cluster{links = Links}) ->
    [Link || Link = {A, B} <- linked(Links), A =:= Name orelse B =:= Name].

boot(Name, #cluster{protocol = Protocol, starts = Starts, replicas = Replicas} = Cluster) ->
    Incarnation = maps:get(Name, Starts, 0) + 1,
    {Replica, _} = Protocol:init(#{
        name => Name,
        incarnation => 1000000 * Incarnation,
        type => Cluster#cluster.type,
        scope => ?SCOPE,
        interval => 100,
        seed => {erlang:phash2(Name), Incarnation, 17}
    }),
    Cluster#cluster{replicas = Replicas#{Name => Replica}, starts = Starts#{Name => Incarnation}}.

%% Both ends notice, one after the other, and messages in flight are lost.
cut({A, B} = Link, #cluster{links = Links, wire = Wire} = Cluster) ->
    Between = [M || M = {From, To, _} <- Wire, {From, To} =:= {A, B} orelse {From, To} =:= {B, A}],
    Cut = Cluster#cluster{links = Links#{Link := cut}, wire = Wire -- Between},
    event(B, {neighbour_down, A}, event(A, {neighbour_down, B}, Cut)).

mend({A, B} = Link, #cluster{links = Links} = Cluster) ->
    Mended = Cluster#cluster{links = Links#{Link := linked}},
    event(B, {neighbour_up, A}, event(A, {neighbour_up, B}, Mended)).

%% @doc Repairs the cut links.
heal(#cluster{links = Links} = Cluster) ->
    lists:foldl(fun mend/2, Cluster, [Link || {Link, cut} <- lists:sort(maps:to_list(Links))]).

with_link(I, State, Fun, #cluster{links = Links} = Cluster) ->
    case [Link || {Link, Is} <- lists:sort(maps:to_list(Links)), Is =:= State] of
        [] -> Cluster;
        Found -> Fun(lists:nth(I rem length(Found) + 1, Found), Cluster)
    end.

linked(Links) ->
    [Link || {Link, linked} <- lists:sort(maps:to_list(Links))].

%% @doc The nodes linked with a node.
neighbours(Name, #cluster{links = Links}) ->
    [N || {A, B} <- linked(Links), {Self, N} <- [{A, B}, {B, A}], Self =:= Name].

%% @doc Rounds without faults until all agree.
settle(Cluster) ->
    settle(Cluster, 100).

settle(#cluster{protocol = Protocol} = Cluster, Rounds) when Rounds > 0 ->
    case
        Cluster#cluster.wire =:= [] andalso
            lists:all(fun Protocol:agreed/1, replicas(Cluster))
    of
        true -> Cluster;
        false -> settle(drain(tick_all(Cluster)), Rounds - 1)
    end;
settle(Cluster, 0) ->
    Cluster.

%% @doc Loses all messages in flight.
silence(Cluster) ->
    Cluster#cluster{wire = []}.

%% @doc Ends the questions of lasp_sync_aggregate, as a restart takes longer than one. Otherwise a
%% node that restarts would be counted twice in very few runs: the exception that is known there.
end_questions(#cluster{wire = Wire} = Cluster) ->
    Cluster#cluster{wire = without_questions(Wire)}.

%% @doc Messages in flight without questions and their answers.
without_questions(Wire) ->
    [M || M = {_, _, {Kind, _, _}} <- Wire, Kind =/= question, Kind =/= answer].

%% @doc Advances every node by an interval.
tick_all(#cluster{replicas = Replicas} = Cluster) ->
    lists:foldl(
        fun(Name, C) -> event(Name, {timer, propagate}, C) end, Cluster, maps:keys(Replicas)
    ).

%% @doc The kinds of the messages in flight.
kinds(#cluster{wire = Wire}) ->
    lists:usort([Kind || {_, _, {Kind, _, _}} <- Wire]).

%% @doc Delivers messages in flight and those that follow from them; no exchange may be endless.
drain(Cluster) ->
    drain(Cluster, ?MOST_MESSAGES).

drain(#cluster{wire = []} = Cluster, _Left) ->
    Cluster;
drain(#cluster{wire = [{From, To, Message} | Rest]} = Cluster, Left) when Left > 0 ->
    drain(event(To, {message, From, Message}, Cluster#cluster{wire = Rest}), Left - 1).

%% @doc One event at one node.
event(Name, Event, #cluster{protocol = Protocol, replicas = Replicas, wire = Wire} = Cluster) ->
    {Replica, Effects} = Protocol:handle(Event, maps:get(Name, Replicas)),
    % A message to a node that is not a neighbour now is refused.
    Sent = [
        {Name, To, Message}
     || {send, To, _, Message} <- Effects, lists:member(To, neighbours(Name, Cluster))
    ],
    Cluster#cluster{
        replicas = Replicas#{Name := Replica},
        wire = Wire ++ Sent,
        handed_over = [Name || {handed_over, _} <- Effects] ++ Cluster#cluster.handed_over
    }.

%% @doc The replica of a node.
replica(Name, #cluster{replicas = Replicas}) ->
    maps:get(Name, Replicas).

%% @doc All replicas, in the order of names.
replicas(#cluster{replicas = Replicas}) ->
    maps:values(Replicas).

%% @doc The names of the nodes there are, in order.
names(#cluster{replicas = Replicas}) ->
    lists:sort(maps:keys(Replicas)).

%% @doc The number of starts of a node.
starts(Name, #cluster{starts = Starts}) ->
    maps:get(Name, Starts).

%% @doc The nodes that have finished handing over, last one first.
handed_over(#cluster{handed_over = Names}) ->
    Names.

%% @doc One of the nodes.
pick(I, Cluster) ->
    Names = names(Cluster),
    lists:nth(I rem length(Names) + 1, Names).
