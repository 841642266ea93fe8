%% The callbacks that all models of quorum_kv have: a model includes this file and adds what it
%% assumes about the store. Its state is that of the commands, and what it knows.
%%
%% The including module has:
%%     options() -> Options                     of the store, by default
%%     nothing() -> Known                       before the first step
%%     learn(Step, Result, Known) -> Known
%%     allows(Read, Result, Known) -> ok | {violated, Text}
%%     settled(#{Node => [{Key, Value}]}, Known) -> ok | {violated, Text}

-behaviour(verify_model).

-export([process/2]).
-export([initial/1]).
-export([commands/1]).
-export([precondition/2]).
-export([perform/2]).
-export([next/3]).
-export([postcondition/3]).
-export([final/2]).
-export([text/3]).

-define(COMMANDS, quorum_kv_commands).

%% @private
-spec process([partisan_process:name()], map()) -> verify_model:process().
process(Nodes, Options) ->
    Given = maps:merge((options())#{replicas => length(Nodes)}, Options),
    #{module => quorum_kv, options => fun(Name) -> Given#{members => [Name]} end}.

%% @private
-spec initial([partisan_process:name()]) -> verify_model:model().
initial(Nodes) ->
    {?COMMANDS:new(Nodes), nothing()}.

%% @private
-spec commands(verify_model:model()) -> [{pos_integer(), {atom(), [verify_generate:generator()]}}].
commands({Commands, _Known}) ->
    ?COMMANDS:commands(Commands).

%% @private
-spec precondition(verify_model:model(), verify_model:command()) -> boolean().
precondition({Commands, _Known}, Command) ->
    ?COMMANDS:precondition(Commands, Command).

%% @private
-spec perform(verify_model:model(), verify_model:command()) -> [verify_model:action()].
perform({Commands, _Known}, Command) ->
    ?COMMANDS:perform(Commands, Command).

%% @private
-spec next(verify_model:model(), verify_model:step(), verify_model:result()) ->
    verify_model:model().
next({Commands, Known}, Step, Result) ->
    {?COMMANDS:next(Commands, Step, Result), learn(Step, answer(Result), Known)}.

%% @private
-spec postcondition(verify_model:model(), verify_model:command(), verify_model:result()) ->
    ok | {violated, iodata()}.
postcondition({_Commands, Known}, {read, _} = Read, Result) ->
    allows(Read, answer(Result), Known);
postcondition(_Model, _Command, _Result) ->
    ok.

%% A request to a node that goes down has no answer.
answer(timeout) -> {error, timeout};
answer(Result) -> Result.

%% @private
-spec final(verify_model:model(), #{partisan_process:name() => term()}) ->
    ok | {violated, iodata()}.
final({_Commands, Known}, States) ->
    settled(maps:map(fun(_Node, State) -> quorum_kv:contents(State) end, States), Known).

%% @private
-spec text(verify_model:model(), verify_model:command(), verify_model:result()) ->
    {iodata(), iodata()}.
text({Commands, _Known} = Model, Command, Result) ->
    ?COMMANDS:text(Commands, Command, Result, postcondition(Model, Command, Result) =:= ok).
