%%% @doc Beacons: how the nodes of a partial-view overlay notice that they have been cut apart.
%%%
%%% Partial views can split into components of which none can tell, since every node still has
%%% neighbours: HyParView repairs single failures, not this. Each seed therefore emits a small
%%% numbered beacon once per period, which every node passes on to its neighbours the first time it
%%% sees it. A node that has heard of no seed for some periods is cut off from all of them, or they
%%% are dead; asking one to be joined tells which, and mends the first. A node that hears of a seed
%%% leaves the others to that one: seeds watch each other, so that components with a seed in each
%%% meet, and a thousand nodes do not all join the one seed that is dead, or late on a busy machine.
%%% Attempts of others are spread by chance and grow rarer, lest a dead seed's name be resolved by a
%%% thousand nodes a second; seeds are few, and try once a period.
%%%
%%% A pure layer: neighbours come as arguments, what to send and whom to join goes out as actions.
-module(partisan_beacon).

-export([init/1]).
-export([heard/4]).
-export([tick/2]).

-type msg() :: {beacon, partisan_peer:name(), partisan_peer:incarnation(), Number :: pos_integer()}.
-type action() :: {send, partisan_peer:t(), msg()} | {join, partisan_peer:t()}.
-type options() :: #{
    self := partisan_peer:t(),
    seeds := [partisan_peer:t()],
    rand := rand:state(),
    % Periods of silence after which a seed counts as lost.
    patience => pos_integer(),
    % The longest wait between two attempts of a node that is no seed, in periods.
    slowest => pos_integer()
}.

-export_type([msg/0, action/0, options/0]).

%% Seeds of which one suffices.
-record(watch, {
    seeds :: [partisan_peer:t(), ...],
    silence = 0 :: non_neg_integer(),
    % Attempts are made when the silence reaches this.
    attempt_at :: pos_integer()
}).

-record(beacon, {
    self :: partisan_peer:t(),
    emits :: boolean(),
    number = 0 :: non_neg_integer(),
    % The last beacon of each seed.
    newest :: #{partisan_peer:name() => {partisan_peer:incarnation(), non_neg_integer()}},
    watches :: [#watch{}],
    patience :: pos_integer(),
    slowest :: pos_integer(),
    rand :: rand:state()
}).

-opaque t() :: #beacon{}.
-export_type([t/0]).

-spec init(options()) -> t().
init(#{self := #{name := Name} = Self, seeds := Seeds, rand := Rand} = Options) ->
    Patience = maps:get(patience, Options, 3),
    Emits = lists:any(fun(#{name := N}) -> N =:= Name end, Seeds),
    Others = lists:usort([S || #{name := N} = S <- Seeds, N =/= Name]),
    #beacon{
        self = Self,
        emits = Emits,
        newest = maps:from_list([{N, {0, 0}} || #{name := N} <- Others]),
        watches = [#watch{seeds = S, attempt_at = Patience} || S <- watched(Emits, Others)],
        patience = Patience,
        slowest = maps:get(slowest, Options, 12),
        rand = Rand
    }.

%% @doc A beacon arrived. Passes on what is new, to everyone but the one it came from.
-spec heard(msg(), partisan_peer:t(), [partisan_peer:t()], t()) -> {t(), [action()]}.
heard({beacon, Name, Incarnation, Number} = Beacon, #{name := From}, Neighbours, B) ->
    #beacon{newest = Newest, watches = Watches} = B,
    case Newest of
        #{Name := Known} when {Incarnation, Number} > Known ->
            Others = [Peer || #{name := N} = Peer <- Neighbours, N =/= From, N =/= Name],
            Heard = B#beacon{
                newest = Newest#{Name := {Incarnation, Number}},
                watches = [break_silence(Name, Watch, B) || Watch <- Watches]
            },
            {Heard, [{send, Peer, Beacon} || Peer <- Others]};
        #{} ->
            {B, []}
    end.

%% @doc One period has passed.
-spec tick([partisan_peer:t()], t()) -> {t(), [action()]}.
tick(Neighbours, #beacon{watches = Watches0} = B0) ->
    {B1, Own} = emit(Neighbours, B0),
    {Watches, {Rejoins, Rand}} = lists:mapfoldl(
        fun(Watch0, {Joins, R0}) ->
            {Watch, Join, R} = wait(Watch0, R0, B1),
            {Watch, {Join ++ Joins, R}}
        end,
        {[], B1#beacon.rand},
        Watches0
    ),
    {B1#beacon{watches = Watches, rand = Rand}, Own ++ Rejoins}.

%% Internals.

%% A seed watches each of the others, the other nodes all of them together.
watched(_Emits, []) -> [];
watched(true, Others) -> [[Seed] || Seed <- Others];
watched(false, Others) -> [Others].

emit(_Neighbours, #beacon{emits = false} = B) ->
    {B, []};
emit(Neighbours, #beacon{self = Self, number = Number} = B) ->
    #{name := Name, incarnation := Incarnation} = Self,
    Beacon = {beacon, Name, Incarnation, Number + 1},
    {B#beacon{number = Number + 1}, [{send, Peer, Beacon} || Peer <- Neighbours]}.

break_silence(Name, #watch{seeds = Seeds} = Watch, #beacon{patience = Patience}) ->
    case lists:any(fun(#{name := N}) -> N =:= Name end, Seeds) of
        true -> Watch#watch{silence = 0, attempt_at = Patience};
        false -> Watch
    end.

wait(#watch{silence = Silence, attempt_at = At} = Watch, Rand, _B) when Silence + 1 < At ->
    {Watch#watch{silence = Silence + 1}, [], Rand};
wait(#watch{silence = Silence, seeds = Seeds} = Watch, Rand0, B) ->
    {Which, Rand1} = rand:uniform_s(length(Seeds), Rand0),
    {Wait, Rand} = rand:uniform_s(longest(Silence, B), Rand1),
    Waiting = Watch#watch{silence = Silence + 1, attempt_at = Silence + 1 + Wait},
    {Waiting, [{join, lists:nth(Which, Seeds)}], Rand}.

%% The longer the silence, the longer the wait, up to a bound; chance spreads the nodes.
longest(_Silence, #beacon{emits = true}) -> 1;
longest(Silence, #beacon{slowest = Slowest}) -> max(1, min(Silence + 1, Slowest)).
