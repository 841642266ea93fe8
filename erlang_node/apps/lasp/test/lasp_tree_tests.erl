%%% @doc The tree by itself: random connected overlays with breaking links, restarting nodes and
%%% lost adverts. When the faults end, it is one tree over all nodes.
-module(lasp_tree_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

%% Rounds until a silently lost root is given up and the next one is known to all.
-define(ROUNDS, 60).
%% Within a round.
-define(MOST_ADVERTS, 20000).

-record(net, {
    trees = #{} :: #{binary() => lasp_tree:t()},
    links = [] :: [{binary(), binary()}],
    wire = [] :: [{binary(), binary(), binary()}],
    starts = 0 :: non_neg_integer()
}).

one_tree_test_() ->
    {timeout, 300,
        ?_assert(proper:quickcheck(prop_one_tree(), [{to_file, user}, {numtests, 400}]))}.

prop_one_tree() ->
    ?FORALL(
        {Size, Chords, Steps},
        {integer(1, 9), list({nat(), nat()}), list(step())},
        begin
            Net = lists:foldl(fun step/2, net(Size, Chords), Steps),
            Final = lists:foldl(fun(_, N) -> one_round(N) end, Net, lists:seq(1, ?ROUNDS)),
            Trees = maps:to_list(Final#net.trees),
            Directed = [{Name, To} || {Name, Tree} <- Trees, To <- lasp_tree:links(Tree)],
            Names = [Name || {Name, _} <- Trees],
            conjunction([
                {both_ends_know, [{B, A} || {A, B} <- Directed] -- Directed =:= []},
                {edges, length(Directed) =:= 2 * (Size - 1)},
                {connected, reached([name(0)], Directed, []) =:= lists:sort(Names)},
                {root, lists:usort([lasp_tree:root(T) || {_, T} <- Trees]) =:= [name(0)]}
            ])
        end
    ).

step() ->
    frequency([
        {6, {tick, nat()}},
        {10, {deliver, nat()}},
        {3, {lose, nat()}},
        {2, {flap, nat()}},
        {1, {restart, nat()}}
    ]).

step({tick, I}, Net) ->
    event(pick(I, Net), fun lasp_tree:tick/1, Net);
step({flap, I}, #net{links = [_ | _] = Links} = Net) ->
    Link = lists:nth(I rem length(Links) + 1, Links),
    up(Link, down(Link, Net));
step({restart, I}, #net{links = Links} = Net) ->
    Name = pick(I, Net),
    Own = [Link || Link = {A, B} <- Links, A =:= Name orelse B =:= Name],
    lists:foldl(fun up/2, boot(Name, lists:foldl(fun down/2, Net, Own)), Own);
step({Action, I}, #net{wire = [_ | _] = Wire} = Net) when Action =:= deliver; Action =:= lose ->
    {Before, [{From, To, Advert} | After]} = lists:split(I rem length(Wire), Wire),
    Rest = Net#net{wire = Before ++ After},
    case Action of
        lose -> Rest;
        deliver -> heard(From, To, Advert, Rest)
    end;
step(_, Net) ->
    Net.

a_malformed_advert_changes_nothing_test_() ->
    {Tree, [<<"b">>]} = lasp_tree:up(<<"b">>, lasp_tree:new(<<"a">>, 1)),
    [
        ?_assertEqual({Tree, []}, lasp_tree:heard(<<"b">>, Bytes, Tree))
     || Bytes <- [<<>>, <<2>>, <<0>>, <<0, 255>>, <<0, 1>>, <<0, 1, 1>>]
    ].

%% Building.

net(Size, Chords) ->
    Pairs = [{I, (I + 1) rem Size} || I <- lists:seq(0, Size - 1)] ++ Chords,
    Links = lists:usort([
        {name(min(A, B)), name(max(A, B))}
     || {A0, B0} <- Pairs, A <- [A0 rem Size], B <- [B0 rem Size], A =/= B
    ]),
    Booted = lists:foldl(fun boot/2, #net{links = Links}, [name(I) || I <- lists:seq(0, Size - 1)]),
    lists:foldl(fun up/2, Booted, Links).

boot(Name, #net{trees = Trees, starts = Starts} = Net) ->
    Tree = lasp_tree:new(Name, 1000000 * (Starts + 1)),
    Net#net{trees = Trees#{Name => Tree}, starts = Starts + 1}.

up({A, B}, Net) ->
    Half = event(A, fun(Tree) -> lasp_tree:up(B, Tree) end, Net),
    event(B, fun(Tree) -> lasp_tree:up(A, Tree) end, Half).

down({A, B}, #net{wire = Wire} = Net) ->
    Between = [M || M = {From, To, _} <- Wire, {From, To} =:= {A, B} orelse {From, To} =:= {B, A}],
    Half = event(A, fun(T) -> lasp_tree:down(B, T) end, Net#net{wire = Wire -- Between}),
    event(B, fun(T) -> lasp_tree:down(A, T) end, Half).

one_round(#net{trees = Trees} = Net) ->
    Ticked = lists:foldl(
        fun(Name, N) -> event(Name, fun lasp_tree:tick/1, N) end, Net, maps:keys(Trees)
    ),
    drain(Ticked, ?MOST_ADVERTS).

drain(#net{wire = []} = Net, _Left) ->
    Net;
drain(#net{wire = [{From, To, Advert} | Rest]} = Net, Left) when Left > 0 ->
    drain(heard(From, To, Advert, Net#net{wire = Rest}), Left - 1).

heard(From, To, Advert, Net) ->
    event(To, fun(Tree) -> lasp_tree:heard(From, Advert, Tree) end, Net).

event(Name, Fun, #net{trees = Trees, wire = Wire} = Net) ->
    {Tree, Recipients} = Fun(maps:get(Name, Trees)),
    Sent = [{Name, To, lasp_tree:advert(To, Tree)} || To <- Recipients],
    Net#net{trees = Trees#{Name := Tree}, wire = Wire ++ Sent}.

reached([], _Links, Reached) ->
    lists:sort(Reached);
reached([Name | Names], Links, Reached) ->
    case lists:member(Name, Reached) of
        true -> reached(Names, Links, Reached);
        false -> reached([B || {A, B} <- Links, A =:= Name] ++ Names, Links, [Name | Reached])
    end.

pick(I, #net{trees = Trees}) ->
    name(I rem map_size(Trees)).

name(I) ->
    integer_to_binary(I).
