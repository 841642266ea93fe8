%%% @doc SCAMP as a value: whom a newcomer's requests reach.
-module(partisan_overlay_scamp_tests).

-include_lib("eunit/include/eunit.hrl").

%% A newcomer repeats its request until it has a neighbour. Were each a subscription, an overloaded
%% cluster would end as a full mesh.
one_subscription_a_period_test_() ->
    [{atom_to_list(Kind), ?_test(one_subscription(Options))} || {Kind, Options} <- options()].

one_subscription(Options) ->
    Newcomer = peer(3),
    S0 = member(Options),
    {S1, First} = asked(Newcomer, S0),
    ?assertNotEqual([], to(peer(2), First)),
    {S2, Second} = asked(Newcomer, S1),
    ?assertEqual([{send, Newcomer, passed_on}], Second),
    {S3, Other} = asked(peer(4), S2),
    ?assertNotEqual([], to(peer(2), Other)),
    {S4, _} = partisan_overlay_scamp:handle({timer, heartbeat}, S3),
    {_, Third} = asked(Newcomer, S4),
    ?assertNotEqual([], to(peer(2), Third)).

%% Holds peer 2.
member(Options) ->
    {S0, _} = partisan_overlay_scamp:init(Options#{self => peer(1), seed => {1, 2, 3}}),
    {S1, _} = partisan_overlay_scamp:handle({message, peer(2), contact}, S0),
    {S2, _} = partisan_overlay_scamp:handle({peer_up, peer(2)}, S1),
    S2.

options() ->
    [{scamp_v1, partisan_overlay_scamp:version_1()}, {scamp_v2, #{}}].

asked(#{} = Newcomer, #{options := #{indirection := Hops}} = S) ->
    partisan_overlay_scamp:handle({message, Newcomer, {subscribe, Newcomer, Hops}}, S).

to(Peer, Effects) ->
    [Msg || {send, To, Msg} <- Effects, To =:= Peer].

peer(Index) ->
    Name = <<"n", (integer_to_binary(Index))/binary>>,
    partisan_peer:new(Name, {127, 0, 0, Index}, 7946, Index).
