%%% @doc A model and its process in one module: each node adds what it is sent. Options make it fail
%%% at a number: `crash', `loop', or the model in the end at more than `most'; `verdict' is what it
%% returns at a 7.
-module(verify_test_model).

-behaviour(verify_model).
-behaviour(partisan_process).

-export([init/1, handle/2]).
-export([process/2, initial/1, commands/1, precondition/2, perform/2, next/3, postcondition/3]).
-export([final/2]).

init(Options) ->
    {{Options, 0}, []}.

handle({call, _Ref, {add, N}}, {#{crash := N}, _}) ->
    error(asked_to);
handle({call, _Ref, {add, N}}, {#{loop := N}, _} = State) ->
    loop(State);
handle({call, Ref, {add, 7}}, {#{verdict := Verdict} = Options, Sum}) ->
    {{Options, Sum + 7}, [{reply, Ref, {verdict, Verdict}}]};
handle({call, Ref, {add, N}}, {Options, Sum}) ->
    {{Options, Sum + N}, [{reply, Ref, ok}]}.

loop(State) -> loop(State).

process(_Nodes, Options) ->
    #{module => ?MODULE, options => Options}.

initial(_Nodes) -> 0.

commands(_) -> [{1, {add, [node, {integer, 1, 9}]}}].

precondition(_, _) -> true.

perform(_, {add, [Node, N]}) -> [{call, Node, {add, N}}].

next(Sum, _, _) -> Sum.

postcondition(_, {add, [_, 7]}, {verdict, Verdict}) -> Verdict;
postcondition(_, _, _) -> ok.

final(_, States) ->
    Over = [{Node, Sum} || {Node, {#{most := Most}, Sum}} <- maps:to_list(States), Sum > Most],
    case lists:sort(Over) of
        [] -> ok;
        [{Node, Sum} | _] -> {violated, io_lib:format("~ts has ~b", [Node, Sum])}
    end.
