%%% @doc Models ({@link verify_model}) run by PropEr: it generates the steps and shrinks them.
%%%
%%% The generators are the model's. Steps that are not allowed at their turn are skipped, so that
%%% PropEr may remove any of them.
-module(verify_proper).

-include_lib("proper/include/proper.hrl").

-export([property/1, property/2]).
-export([steps/1]).

%% @doc No steps violate the model.
property(Configuration) ->
    property(Configuration, fun(_Execution) -> ok end).

%% @doc The same; the function is given each execution that fails.
property(Configuration, Failed) ->
    ?FORALL(
        Steps,
        steps(Configuration),
        begin
            Execution = verify_execution:run(Configuration, Steps),
            case verify_execution:outcome(Execution) of
                passed ->
                    true;
                {failed, _, _} ->
                    Failed(Execution),
                    false
            end
        end
    ).

%% @doc The type of lists of steps: all commands and faults, in any order.
steps(#{model := Module, nodes := Size, tolerance := Tolerance, faults := Kinds}) ->
    Nodes = verify_execution:names(Size),
    Faults = verify_faults:new(Nodes, Tolerance, Kinds, verify_model:custom_faults(Module)),
    Joined = joined(Module, Nodes),
    Commands = [C || {_, C} <- Module:commands(Joined)],
    Choices =
        [{6, command(C, Nodes)} || C <- Commands] ++
            [{2, fault(F, Nodes)} || {_, F} <- verify_faults:choices(Faults)] ++
            [{3, {fault, resolve_all, []}}],
    ?LET(Rest, list(frequency(Choices)), joins(Nodes) ++ Rest).

%% Internals.

joins([First | Others]) ->
    [{join, [First, Other]} || Other <- Others].

joined(Module, Nodes) ->
    lists:foldl(
        fun(Join, Model) -> Module:next(Model, Join, ok) end, Module:initial(Nodes), joins(Nodes)
    ).

command({Name, Generators}, Nodes) ->
    {Name, [type(Generator, Nodes) || Generator <- Generators]}.

fault({fault, Name, Generators}, Nodes) ->
    {fault, Name, [type(Generator, Nodes) || Generator <- Generators]}.

type({exactly, Value}, _Nodes) -> exactly(Value);
type({one_of, Values}, _Nodes) -> oneof(Values);
type({integer, Least, Most}, _Nodes) -> integer(Least, Most);
type(node, Nodes) -> oneof(Nodes);
type({split, 1}, Nodes) -> ?LET(Node, oneof(Nodes), [[Node], Nodes -- [Node]]).
