%%% @doc Counterexamples as text, in the notation of Meiklejohn, Miller and Alvaro's slides, a line
%%% per step:
%%%
%%% ```
%%% join n1 n2 : OK
%%% n1 write x 1 : OK
%%% fault partition { n1 } { n2 n3 }
%%% n1 read x 1 : TIMEOUT
%%% '''
%%%
%%% A command whose arguments are all nodes begins with its name, one at a node with the node.
-module(verify_notation).

-export([text/1]).
-export([lines/1]).
-export([command/1]).
-export([fault/1]).
-export([result/1]).
-export([term/1]).

%% @doc The lines of a counterexample, each with a newline.
-spec text(verify_campaign:counterexample()) -> unicode:chardata().
text(Counterexample) ->
    [[Line, $\n] || Line <- lines(Counterexample)].

%% @doc The lines of a counterexample; what failed after the last step, if that is where it failed,
%% is the last.
-spec lines(verify_campaign:counterexample()) -> [unicode:chardata()].
lines(#{model := Module, nodes := Size, steps := Steps, kind := Kind, violated := Violated}) ->
    Initial = Module:initial(verify_execution:names(Size)),
    {Lines, _Model} = lists:mapfoldl(
        fun({Step, Result}, Model) ->
            {line(Module, Model, Step, Result), Module:next(Model, Step, Result)}
        end,
        Initial,
        Steps
    ),
    Lines ++ [["final : FAIL, ", Violated] || Kind =:= final].

%% @doc A command without its result.
-spec command(verify_model:command()) -> iodata().
command({Name, [Node | Arguments]}) when is_binary(Node) ->
    case lists:all(fun is_binary/1, Arguments) of
        true -> words([Name, Node | Arguments]);
        false -> words([Node, Name | Arguments])
    end;
command({Name, Arguments}) ->
    words([Name | Arguments]).

%% @doc A fault. Groups of nodes are in braces.
-spec fault(verify_model:fault()) -> iodata().
fault({fault, partition, [Groups]}) ->
    ["fault partition ", lists:join($\s, [["{ ", words(Group), " }"] || Group <- Groups])];
fault({fault, Name, Arguments}) ->
    words([fault, Name | Arguments]).

%% @doc A result.
-spec result(verify_model:result()) -> iodata().
result(ok) -> "OK";
result(timeout) -> "TIMEOUT";
result({error, timeout}) -> "TIMEOUT";
result({ok, Value}) -> term(Value);
result({error, Reason}) -> ["FAIL, ", term(Reason)];
result(Name) when is_atom(Name) -> string:uppercase(atom_to_list(Name));
result(Other) -> term(Other).

%% @doc A term on one line; names of nodes and other binaries without brackets.
-spec term(term()) -> unicode:chardata().
term(Text) when is_binary(Text) -> Text;
term(Term) -> io_lib:format("~0tp", [Term]).

%% Internals.

line(_Module, _Model, {fault, _, _} = Fault, ok) ->
    fault(Fault);
line(Module, Model, Command, Result) ->
    {Text, Answer} = verify_model:text(Module, Model, Command, Result),
    [Text, " : ", Answer].

words(Terms) ->
    lists:join($\s, [term(Term) || Term <- Terms]).
