%%% @doc What every synchronisation protocol has to hold: random overlays of replicas under random
%%% updates, losses, duplicates, reordering, partitions, broken connections and restarts that lose
%%% the replica. When the faults end, every replica becomes the join of what the living hold:
%%% nothing is lost that anyone knew, nothing is made up, and all agree that they are equal. That is
%%% what full state gives, and full state is one of the protocols tested.
-module(lasp_sync_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(SCOPE, <<"run">>).
%% Within one round, the messages of the steps before included.
-define(MOST_MESSAGES, 20000).

%% `links': pairs of names in order, each linked or cut. `lives': how often a node has started.
-record(cluster, {
    protocol :: module(),
    replicas = #{} :: #{binary() => term()},
    links = #{} :: #{{binary(), binary()} => linked | cut},
    wire = [] :: [{binary(), binary(), term()}],
    lives = #{} :: #{binary() => pos_integer()},
    counts = #{} :: #{binary() => pos_integer()},
    handed_over = [] :: [binary()]
}).

protocols() ->
    [lasp_sync:protocol(Mode) || Mode <- lasp_sync:modes()].

convergence_test_() ->
    [
        {atom_to_list(Protocol), {timeout, 300,
            ?_assert(proper:quickcheck(prop_converges(Protocol), [quiet, {numtests, 500}]))}}
     || Protocol <- protocols()
    ].

prop_converges(Protocol) ->
    ?FORALL(
        {Size, Chords, Steps},
        {integer(1, 7), list({nat(), nat()}), steps()},
        begin
            Begun = lists:foldl(fun step/2, cluster(Protocol, Size, Chords), Steps),
            Healed = heal(Begun#cluster{wire = []}),
            Expected = join([Protocol:value(R) || R <- replicas(Begun)]),
            Final = finish(Healed, 100),
            Values = lists:usort([Protocol:value(R) || R <- replicas(Final)]),
            ?WHENFAIL(
                io:format("~p~nexpected ~p~n", [Values, Expected]),
                conjunction([
                    {equal, Values =:= [Expected]},
                    {agreed, lists:all(fun Protocol:agreed/1, replicas(Final))},
                    {quiet, kinds(tick_all(drain(tick_all(Final)))) -- [digest, tree] =:= []},
                    {never_more_than_counted,
                        lists:all(
                            fun({Actor, Count}) ->
                                Count =< maps:get(Actor, Begun#cluster.counts)
                            end,
                            lasp_gcounter:entries(Expected)
                        )}
                ])
            )
        end
    ).

%% What has been handed over is held by every neighbour.
handover_test_() ->
    [
        {atom_to_list(Protocol), {timeout, 300,
            ?_assert(proper:quickcheck(prop_hands_over(Protocol), [quiet, {numtests, 200}]))}}
     || Protocol <- protocols()
    ].

prop_hands_over(Protocol) ->
    ?FORALL(
        {Size, Chords, Steps, I},
        {integer(2, 6), list({nat(), nat()}), steps(), nat()},
        begin
            Begun = lists:foldl(fun step/2, cluster(Protocol, Size, Chords), Steps),
            Name = pick(I, Begun),
            Held = Protocol:value(maps:get(Name, Begun#cluster.replicas)),
            Done = hand_over(Name, event(Name, handover, Begun), 10),
            lists:all(
                fun(Neighbour) ->
                    Value = Protocol:value(maps:get(Neighbour, Done#cluster.replicas)),
                    lasp_gcounter:difference(Held, Value) =:= lasp_gcounter:new()
                end,
                neighbours(Name, Done)
            )
        end
    ).

hand_over(Name, Cluster, Rounds) when Rounds > 0 ->
    case drain(Cluster) of
        #cluster{handed_over = [Name]} = Done -> Done;
        Waiting -> hand_over(Name, event(Name, {timer, propagate}, Waiting), Rounds - 1)
    end.

%% Steps.

steps() ->
    ?SIZED(Size, resize(4 * Size, list(step()))).

step() ->
    frequency([
        {6, {update, nat()}},
        {6, {tick, nat()}},
        {8, {deliver, nat()}},
        {3, {deliver_next, nat()}},
        {2, {duplicate, nat()}},
        {2, {lose, nat()}},
        {1, {cut, nat()}},
        {1, {mend, nat()}},
        {1, {restart, nat()}}
    ]).

step({update, I}, Cluster = #cluster{lives = Lives, counts = Counts}) ->
    Name = pick(I, Cluster),
    Actor = <<Name/binary, $/, (integer_to_binary(maps:get(Name, Lives)))/binary>>,
    %% Some steps are larger than others.
    Count = maps:get(Actor, Counts, 0) + 1 + I * I,
    Counted = Cluster#cluster{counts = Counts#{Actor => Count}},
    event(Name, {update, lasp_gcounter:entry(Actor, Count)}, Counted);
step({tick, I}, Cluster) ->
    event(pick(I, Cluster), {timer, propagate}, Cluster);
step({cut, I}, Cluster) ->
    with_link(I, linked, fun cut/2, Cluster);
step({mend, I}, Cluster) ->
    with_link(I, cut, fun mend/2, Cluster);
step({restart, I}, Cluster = #cluster{links = Links}) ->
    Name = pick(I, Cluster),
    Broken = [Link || Link = {A, B} <- linked(Links), A =:= Name orelse B =:= Name],
    Alone = lists:foldl(fun cut/2, Cluster, Broken),
    lists:foldl(fun mend/2, boot(Name, Alone), Broken);
step(_, Cluster = #cluster{wire = []}) ->
    Cluster;
step({Action, I}, Cluster = #cluster{wire = Wire}) ->
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

%% Building.

cluster(Protocol, Size, Chords) ->
    Names = [integer_to_binary(I) || I <- lists:seq(0, Size - 1)],
    Ring = [{I, (I + 1) rem Size} || I <- lists:seq(0, Size - 1)],
    Pairs = lists:usort([
        {integer_to_binary(min(A, B)), integer_to_binary(max(A, B))}
     || {A0, B0} <- Ring ++ Chords, A <- [A0 rem Size], B <- [B0 rem Size], A =/= B
    ]),
    Empty = #cluster{protocol = Protocol, links = maps:from_list([{P, cut} || P <- Pairs])},
    heal(lists:foldl(fun boot/2, Empty, Names)).

boot(Name, Cluster = #cluster{protocol = Protocol, lives = Lives, replicas = Replicas}) ->
    Life = maps:get(Name, Lives, 0) + 1,
    {Replica, _} = Protocol:init(#{
        name => Name,
        incarnation => 1000000 * Life,
        type => lasp_gcounter,
        scope => ?SCOPE,
        interval => 100,
        seed => {erlang:phash2(Name), Life, 17}
    }),
    Cluster#cluster{replicas = Replicas#{Name => Replica}, lives = Lives#{Name => Life}}.

%% Both ends notice, one after the other, and what was on its way is gone.
cut({A, B} = Link, Cluster = #cluster{links = Links, wire = Wire}) ->
    Between = [M || M = {From, To, _} <- Wire, {From, To} =:= {A, B} orelse {From, To} =:= {B, A}],
    Cut = Cluster#cluster{links = Links#{Link := cut}, wire = Wire -- Between},
    event(B, {neighbour_down, A}, event(A, {neighbour_down, B}, Cut)).

mend({A, B} = Link, Cluster = #cluster{links = Links}) ->
    Mended = Cluster#cluster{links = Links#{Link := linked}},
    event(B, {neighbour_up, A}, event(A, {neighbour_up, B}, Mended)).

heal(Cluster = #cluster{links = Links}) ->
    lists:foldl(fun mend/2, Cluster, [Link || {Link, cut} <- lists:sort(maps:to_list(Links))]).

with_link(I, State, Fun, Cluster = #cluster{links = Links}) ->
    case [Link || {Link, Is} <- lists:sort(maps:to_list(Links)), Is =:= State] of
        [] -> Cluster;
        Found -> Fun(lists:nth(I rem length(Found) + 1, Found), Cluster)
    end.

linked(Links) ->
    [Link || {Link, linked} <- lists:sort(maps:to_list(Links))].

neighbours(Name, #cluster{links = Links}) ->
    [N || {A, B} <- linked(Links), {Self, N} <- [{A, B}, {B, A}], Self =:= Name].

%% Running.

%% Rounds without faults until all agree.
finish(Cluster = #cluster{protocol = Protocol}, Rounds) when Rounds > 0 ->
    case
        Cluster#cluster.wire =:= [] andalso
            lists:all(fun Protocol:agreed/1, replicas(Cluster))
    of
        true -> Cluster;
        false -> finish(drain(tick_all(Cluster)), Rounds - 1)
    end;
finish(Cluster, 0) ->
    Cluster.

tick_all(Cluster = #cluster{replicas = Replicas}) ->
    lists:foldl(
        fun(Name, C) -> event(Name, {timer, propagate}, C) end, Cluster, maps:keys(Replicas)
    ).

kinds(#cluster{wire = Wire}) ->
    lists:usort([Kind || {_, _, {Kind, _, _}} <- Wire]).

%% Nothing may go to and fro for ever.
drain(Cluster) ->
    drain(Cluster, ?MOST_MESSAGES).

drain(Cluster = #cluster{wire = []}, _Left) ->
    Cluster;
drain(Cluster = #cluster{wire = [{From, To, Message} | Rest]}, Left) when Left > 0 ->
    drain(event(To, {message, From, Message}, Cluster#cluster{wire = Rest}), Left - 1).

event(Name, Event, Cluster = #cluster{protocol = Protocol, replicas = Replicas, wire = Wire}) ->
    {Replica, Effects} = Protocol:handle(Event, maps:get(Name, Replicas)),
    %% A message to one who is no neighbour of the moment is refused.
    Sent = [
        {Name, To, Message}
     || {send, To, _, Message} <- Effects, lists:member(To, neighbours(Name, Cluster))
    ],
    Cluster#cluster{
        replicas = Replicas#{Name := Replica},
        wire = Wire ++ Sent,
        handed_over = [Name || {handed_over, _} <- Effects] ++ Cluster#cluster.handed_over
    }.

join(Values) ->
    lists:foldl(fun lasp_gcounter:merge/2, lasp_gcounter:new(), Values).

replicas(#cluster{replicas = Replicas}) ->
    maps:values(Replicas).

pick(I, #cluster{replicas = Replicas}) ->
    integer_to_binary(I rem map_size(Replicas)).
