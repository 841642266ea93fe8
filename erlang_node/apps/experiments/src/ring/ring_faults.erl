%%% @doc The faults of a campaign against the key-value store ({@link ring_campaign}): random ones,
%%% and what each does to the simulated nodes.
-module(ring_faults).

-export([random/1]).
-export([random/2]).
-export([sloppy/1]).
-export([act/3]).
-export([pick/2]).

%% Milliseconds after the previous one.
-type fault() :: {Delay :: non_neg_integer(), action()}.
%% Numbers choose nodes, modulo how many there are.
-type action() ::
    {kill, non_neg_integer()}
    | {suspect, non_neg_integer(), non_neg_integer()}
    | {cut, non_neg_integer()}
    | {split, non_neg_integer()}
    | heal
    | {plan, Members :: non_neg_integer()}
    % Against the rule, a second writer has another plan of the same epoch.
    | {rival_plan, Members :: non_neg_integer()}
    | {trap, Kind :: atom(), sender | receiver, Delivered :: boolean()}
    | {delay, Kind :: atom()}.

-export_type([fault/0, action/0]).

-define(KINDS, [
    pull, more, last, seal, ask_grant, grant, may_go, go, copy, copied, copied_last, born, noted,
    write, written, store, stored, read, found
]).

%% @doc Random faults.
-spec random(non_neg_integer(), rand:state()) -> {[fault()], rand:state()}.
random(Count, Random) ->
    lists:mapfoldl(fun(_, R) -> random(R) end, Random, lists:seq(1, Count)).

%% @doc A random fault.
-spec random(rand:state()) -> {fault(), rand:state()}.
random(R0) ->
    {Delay, R1} = rand:uniform_s(400, R0),
    {Choice, R2} = rand:uniform_s(13, R1),
    {A, R3} = rand:uniform_s(100, R2),
    {B, R4} = rand:uniform_s(100, R3),
    {Kind, R5} = pick(?KINDS, R4),
    Action =
        case Choice of
            C when C =< 2 -> {kill, A};
            3 -> {suspect, A, B};
            4 -> {cut, A};
            5 -> heal;
            C when C =< 8 -> {plan, A};
            9 -> {delay, Kind};
            _ when A rem 2 =:= 0 -> {trap, Kind, sender, B rem 2 =:= 0};
            _ -> {trap, Kind, receiver, B rem 2 =:= 0}
        end,
    {{Delay, Action}, R5}.

%% @doc Those of a campaign with `sloppy' writes: splits in the place of lonely nodes, and traps for
%% the messages of hints. Slower, so that splits are noticed.
-spec sloppy([fault()]) -> [fault()].
sloppy(Faults) ->
    [{3 * Delay, sloppy_action(Action)} || {Delay, Action} <- Faults].

%% @doc Makes a fault happen, unless it would cost more replicas than the store survives.
-spec act(action(), Names :: [ring_state:member()], ring_world:t()) -> ring_world:t().
act({kill, I}, _Names, W) ->
    Victim = nth(I, ring_world:nodes(W)),
    case ring_world_checks:strength([Victim], W) >= 2 of
        true -> ring_simulation:stop(Victim, W);
        false -> W
    end;
act({suspect, I, J}, _Names, W) ->
    % A holder that is believed to be lost is as good as lost.
    Living = ring_world:nodes(W),
    Suspect = nth(J, Living),
    case ring_world_checks:strength([Suspect], W) >= 2 of
        true -> ring_simulation:suspect(nth(I, Living), Suspect, W);
        false -> W
    end;
act({cut, I}, _Names, W) ->
    Alone = nth(I, ring_world:nodes(W)),
    ring_world_network:cut(fun(Name) -> Name =:= Alone end, W);
act({split, I}, Names, W) ->
    Two = [nth(I, Names), nth(I + 1, Names)],
    ring_world_network:cut(fun(Name) -> lists:member(Name, Two) end, W);
act(heal, _Names, W) ->
    Fast = ring_world_network:delay(none, W),
    ring_world_network:cut(fun(_) -> all end, Fast);
act({plan, I}, Names, W) ->
    ring_simulation:plan(lists:sublist(Names, 3 + I rem (length(Names) - 2)), W);
act({rival_plan, I}, Names, W) ->
    Members = lists:sublist(lists:reverse(Names), 3 + I rem (length(Names) - 2)),
    ring_simulation:rival_plan(Members, nth(I, ring_world:nodes(W)), W);
act({delay, Kind}, _Names, W) ->
    ring_world_network:delay(Kind, W);
act({trap, Kind, Role, Delivered}, _Names, W) ->
    ring_world_network:trap(Kind, {Role, Delivered}, W).

%% @doc One of the list.
-spec pick([A, ...], rand:state()) -> {A, rand:state()}.
pick(List, Random) ->
    {I, Next} = rand:uniform_s(length(List), Random),
    {lists:nth(I, List), Next}.

%% Internals.

sloppy_action({cut, I}) -> {split, I};
sloppy_action({suspect, I, _}) -> {split, I};
sloppy_action({delay, _}) -> heal;
sloppy_action({trap, Kind, Role, Delivered}) when Kind =:= ask_grant; Kind =:= may_go ->
    {trap, keep, Role, Delivered};
sloppy_action({trap, Kind, Role, Delivered}) when Kind =:= grant; Kind =:= go ->
    {trap, kept, Role, Delivered};
sloppy_action(Action) -> Action.

nth(I, List) ->
    lists:nth(I rem length(List) + 1, List).
