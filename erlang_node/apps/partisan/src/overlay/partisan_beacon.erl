%%% @doc Beacons: detection of partitions in partial-view overlays.
%%%
%%% A partial-view overlay can split without any node noticing, since every node still has
%%% neighbours; HyParView repairs single failures, not this. Each seed therefore emits a small
%%% numbered beacon once per period, which every node that has this seed forwards on first sight. A
%%% node that has heard no beacon of a seed for some periods asks the seed to join it: either the
%%% seed is dead, or this heals the partition. Attempts are randomised and back off, so that a
%%% thousand nodes do not resolve a dead seed's name every second.
%%%
%%% A node that is not in its own list of seeds learns that it is one of another node's: it gets a
%%% beacon of its own, number 0, with the first attempt. Every join moves links in an overlay of
%%% partial views, so attempts must end: a node gives up on a seed that has answered some of them
%%% and of which it has never heard a beacon, because nodes in between have other seeds.
%%%
%%% A pure layer: neighbours are arguments; messages and joins are returned as actions.
-module(partisan_beacon).

-export([init/1]).
-export([heard/4]).
-export([met/2]).
-export([tick/2]).

-type msg() :: {
    beacon, partisan_peer:name(), partisan_peer:incarnation(), Number :: non_neg_integer()
}.
-type action() :: {send, partisan_peer:t(), msg()} | {join, partisan_peer:t()}.
-type options() :: #{
    self := partisan_peer:t(),
    seeds := [partisan_peer:t()],
    rand := rand:state(),
    % Periods of silence after which a seed is considered lost.
    lost_after => pos_integer(),
    % The longest wait between two attempts to rejoin a silent seed, in periods.
    slowest => pos_integer()
}.

-export_type([msg/0, action/0, options/0]).

%% The newest beacon of a seed that was never heard, and the one that asks it for beacons.
-define(NEVER, {0, 0}).
%% Attempts answered by a seed that was never heard, after which it is asked no more.
-define(ANSWERS, 3).

-record(seed, {
    peer :: partisan_peer:t(),
    newest = ?NEVER :: {partisan_peer:incarnation(), non_neg_integer()},
    % Whether the last attempt has no answer yet, and how many were answered.
    is_asked = false :: boolean(),
    answers = 0 :: non_neg_integer(),
    silence = 0 :: non_neg_integer(),
    % Silence, in periods, at which the next attempt is made.
    attempt_at :: pos_integer()
}).

-record(beacon, {
    self :: partisan_peer:t(),
    emits :: boolean(),
    number = 0 :: non_neg_integer(),
    seeds :: #{partisan_peer:name() => #seed{}},
    lost_after :: pos_integer(),
    slowest :: pos_integer(),
    rand :: rand:state()
}).

-opaque t() :: #beacon{}.
-export_type([t/0]).

%% @doc A node that has neither sent nor received a beacon.
-spec init(options()) -> t().
init(#{self := #{name := Name} = Self, seeds := Seeds, rand := Rand} = Options) ->
    LostAfter = maps:get(lost_after, Options, 3),
    #beacon{
        self = Self,
        emits = lists:any(fun(#{name := N}) -> N =:= Name end, Seeds),
        seeds = maps:from_list([
            {N, #seed{peer = S, attempt_at = LostAfter}}
         || #{name := N} = S <- Seeds, N =/= Name
        ]),
        lost_after = LostAfter,
        slowest = maps:get(slowest, Options, 12),
        rand = Rand
    }.

%% @doc Handles a beacon: forwards a new one to every neighbour except the sender. A node's own
%% beacons are not forwarded to it: one of its own is a request to emit them.
-spec heard(msg(), partisan_peer:t(), [partisan_peer:t()], t()) -> {t(), [action()]}.
heard({beacon, Name, _, _}, _From, _Neighbours, #beacon{self = #{name := Name}} = B) ->
    {B#beacon{emits = true}, []};
heard({beacon, Name, Incarnation, Number} = Beacon, #{name := From}, Neighbours, B) ->
    #beacon{seeds = Seeds, lost_after = LostAfter} = B,
    case Seeds of
        #{Name := #seed{newest = Newest} = Seed} when {Incarnation, Number} > Newest ->
            Heard = Seed#seed{newest = {Incarnation, Number}, silence = 0, attempt_at = LostAfter},
            Others = [Peer || #{name := N} = Peer <- Neighbours, N =/= From, N =/= Name],
            {B#beacon{seeds = Seeds#{Name := Heard}}, [{send, Peer, Beacon} || Peer <- Others]};
        #{} ->
            {B, []}
    end.

%% @doc Notes a message of a peer, with which a seed answers an attempt.
-spec met(partisan_peer:t(), t()) -> t().
met(#{name := Name}, #beacon{seeds = Seeds} = B) ->
    case Seeds of
        #{Name := #seed{is_asked = true, answers = Answers} = Seed} ->
            Answered = Seed#seed{is_asked = false, answers = Answers + 1},
            B#beacon{seeds = Seeds#{Name := Answered}};
        #{} ->
            B
    end.

%% @doc Advances by one period.
-spec tick([partisan_peer:t()], t()) -> {t(), [action()]}.
tick(Neighbours, #beacon{seeds = Seeds0} = B0) ->
    {B1, Own} = emit(Neighbours, B0),
    {Seeds, {Attempts, Rand}} = lists:mapfoldl(
        fun({Name, Seed0}, {Others, R0}) ->
            {Seed, Attempt, R} = wait(Seed0, R0, B1),
            {{Name, Seed}, {Attempt ++ Others, R}}
        end,
        {[], B1#beacon.rand},
        lists:sort(maps:to_list(Seeds0))
    ),
    {B1#beacon{seeds = maps:from_list(Seeds), rand = Rand}, Own ++ Attempts}.

emit(_Neighbours, #beacon{emits = false} = B) ->
    {B, []};
emit(Neighbours, #beacon{self = Self, number = Number} = B) ->
    #{name := Name, incarnation := Incarnation} = Self,
    Beacon = {beacon, Name, Incarnation, Number + 1},
    {B#beacon{number = Number + 1}, [{send, Peer, Beacon} || Peer <- Neighbours]}.

wait(#seed{newest = ?NEVER, answers = Answers} = Seed, Rand, _B) when Answers >= ?ANSWERS ->
    {Seed, [], Rand};
wait(#seed{silence = Silence, attempt_at = At} = Seed, Rand, _B) when Silence + 1 < At ->
    {Seed#seed{silence = Silence + 1}, [], Rand};
wait(#seed{silence = Silence, peer = #{name := Name} = Peer} = Seed, Rand0, B) ->
    % The wait grows with the silence, up to a bound; randomness spreads the nodes.
    Longest = max(1, min(Silence + 1, B#beacon.slowest)),
    {Wait, Rand} = rand:uniform_s(Longest, Rand0),
    {Incarnation, Number} = ?NEVER,
    Asked = Seed#seed{silence = Silence + 1, attempt_at = Silence + 1 + Wait, is_asked = true},
    {Asked, [{join, Peer}, {send, Peer, {beacon, Name, Incarnation, Number}}], Rand}.
