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

%% @doc The epoch and the change of the ring's state; an error names the field.
-spec next(given(), ring_state:t()) ->
    {ok, ring_state:epoch(), ring_state:t()} | {error, Description :: string()}.
next(Given, State) ->
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
        _ when Epoch =< Last ->
            {error, describe("epoch: ~b is not larger than the last one, ~b", [Epoch, Last])};
        [Field | _] ->
            {error, describe("~s: cannot change, it is ~b", [Field, map_get(Field, Fixed)])};
        [] ->
            checked(Epoch, Plan)
    end.

%% Internals.

checked(Epoch, Plan) ->
    case ring_state:check(Plan) of
        ok -> {ok, Epoch, ring_state:plan(Epoch, Plan)};
        {error, _} = Error -> Error
    end.

describe(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).
