%%% @doc Pruning that may miss violations: opt-in, to compare with figures that others obtained by
%%% it.
-module(verify_unsound).

-export([inert/2]).

%% @doc Types of messages that a search does not decide about. `learn': those whose messages have no
%% effect in the execution without faults. Unsound: in another execution they may have one.
-spec inert(verify_world:t(), map()) -> [atom()].
inert(World, #{inert := learn}) ->
    {Inert, Effective} = learn(verify_world:next(World), [], []),
    lists:usort(Inert) -- Effective;
inert(_World, #{inert := Types}) ->
    Types.

%% Internals.

learn({quiet, _World}, Inert, Effective) ->
    {Inert, Effective};
learn({choice, Point, World0}, Inert, Effective) ->
    World = verify_world:choose(deliver, World0),
    Before = verify_world:effects(World0),
    case {Point, verify_world:effects(World)} of
        {{message, {_, _, Type, _}, _}, Before} ->
            learn(verify_world:next(World), [Type | Inert], Effective);
        {{message, {_, _, Type, _}, _}, _More} ->
            learn(verify_world:next(World), Inert, [Type | Effective]);
        {{event, _}, _} ->
            learn(verify_world:next(World), Inert, Effective)
    end.
