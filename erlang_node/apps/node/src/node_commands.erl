%%% @doc Commands of `kubectl partisan' on a node, over its {@link node_console}.
%%%
%%% The plugin attaches to the console and types `node_commands:serve().': the shell's input and
%%% output are then commands and their answers, until the end of the input. So nothing is reachable
%%% that the console was not.
%%%
%%% A command is a line of words separated by spaces. An answer is a line of JSON: an object, whose
%%% only key is `error' if the command failed. The first line, before any command, is `{}'.
-module(node_commands).

-export([serve/0]).
-export([answer/1]).

%% @doc Answers the commands of the standard input until it ends.
-spec serve() -> ok.
serve() ->
    ok = write(#{}),
    loop().

%% @doc The answer to a command.
-spec answer(Words :: [string()]) -> node_json:json().
answer(["processes", Order, Count, Milliseconds]) when
    Order =:= "memory"; Order =:= "reductions"; Order =:= "messages"
->
    node_processes:top(
        list_to_existing_atom(Order), list_to_integer(Count), list_to_integer(Milliseconds)
    );
answer(["load", Module]) ->
    case node_code:load(base64:decode(Module)) of
        {ok, Outcome} -> Outcome;
        {error, Text} -> failed(Text)
    end;
answer([Command | _]) ->
    failed(["this node has no command ", Command, " of this form"]).

%% Internals.

loop() ->
    case io:get_line("") of
        Line when is_list(Line) ->
            Words = string:lexemes(Line, " \n"),
            % The console ends the last line itself.
            _ = [ok = write(answered(Words)) || Words =/= []],
            loop();
        _End ->
            ok
    end.

answered(Words) ->
    try
        answer(Words)
    catch
        Class:Reason -> failed(io_lib:format("~0tp: ~0tP", [Class, Reason, 20]))
    end.

failed(Text) ->
    #{error => unicode:characters_to_binary(Text)}.

%% On a line of its own: the shell's prompt may stand before it.
write(Answer) ->
    io:put_chars([$\n, node_json:encode(Answer), $\n]).
