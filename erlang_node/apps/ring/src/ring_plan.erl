%%% @doc The next plan of a ring, made from what its writer gives and from the present one.
-module(ring_plan).

-export([next/2]).

%% `epoch': the writer's own, larger than all before; by default the next one. The first plan has
%% 768 partitions and a replication of 3 unless it says otherwise; both never change.
-type given() :: #{
    members := [ring_state:member(), ...],
    partitions => pos_integer(),
    replication => pos_integer(),
    epoch => ring_state:epoch()
}.

-export_type([given/0]).

-define(FIRST, #{partitions => 768, replication => 3}).
%% Beyond it a digest of a key ({@link ring_dvv}) would not tell two epochs apart.
-define(MAX_EPOCH, 16#FFFFFFFFFFFFFFFF).

%% @doc The epoch and the change of the ring's state; an error names the field. Whatever is given
%% is refused or becomes a plan that all nodes can read.
-spec next(given(), ring_state:t()) ->
    {ok, ring_state:epoch(), ring_state:t()} | {error, Description :: string()}.
next(#{members := _} = Given, State) ->
    case maps:keys(Given) -- [members, partitions, replication, epoch] of
        [] -> known(Given, State);
        [Field | _] -> {error, describe("~0tp: is no field of a plan", [Field])}
    end;
next(#{}, _State) ->
    {error, "members: missing; list the names of the nodes"};
next(Given, _State) ->
    {error, describe("plan: ~0tP is not a map with the field members", [Given, 20])}.

%% Internals.

known(Given, State) ->
    Last = ring_state:epoch(State),
    Epoch = maps:get(epoch, Given, Last + 1),
    Fixed =
        case ring_state:current(State) of
            {ok, Current} -> maps:with([partitions, replication], Current);
            none -> #{}
        end,
    Plan = maps:merge(maps:merge(?FIRST, Fixed), maps:without([epoch], Given)),
    Changed = [F || {F, Value} <- lists:sort(maps:to_list(Fixed)), map_get(F, Plan) =/= Value],
    case Changed of
        _ when not is_integer(Epoch); Epoch > ?MAX_EPOCH ->
            {error, describe("epoch: ~0tp is no integer up to ~b", [Epoch, ?MAX_EPOCH])};
        _ when Epoch =< Last ->
            {error, describe("epoch: ~b is not larger than the last one, ~b", [Epoch, Last])};
        [Field | _] ->
            {error, describe("~s: cannot change, it is ~b", [Field, map_get(Field, Fixed)])};
        [] ->
            checked(Epoch, Plan)
    end.

checked(Epoch, Plan) ->
    case ring_state:check(Plan) of
        ok -> {ok, Epoch, ring_state:plan(Epoch, Plan)};
        {error, _} = Error -> Error
    end.

describe(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).
