%%% @doc Arguments of the command line: names, KEY=VALUE and --flags.
%%%
%%% ```
%%% parse(["x", "nodes=4", "--json"], #{nodes => {integer, 1, 99, 3}, json => flag}) ->
%%%     {ok, ["x"], #{nodes => 4, json => true}}
%%% '''
-module(verify_options).

-export([parse/2]).

%% With its default, which need not be a value of that type.
-type kind() ::
    {integer, Least :: integer(), Most :: integer() | infinity, Default :: term()}
    | {one_of, [atom()], Default :: term()}
    | {some_of, [atom()], Default :: term()}
    | {text, Default :: term()}
    % An Erlang term of which this function is true, and its description.
    | {term, fun((term()) -> boolean()), string(), Default :: term()}
    | flag.

-export_type([kind/0]).

%% @doc The names and all options, those not given with their defaults. An error names the argument
%% and the fix.
-spec parse([string()], #{atom() => kind()}) ->
    {ok, Names :: [string()], #{atom() => term()}} | {error, iodata()}.
parse(Arguments, Kinds) ->
    Defaults = maps:map(fun(_Key, Kind) -> default(Kind) end, Kinds),
    parse(Arguments, Kinds, [], Defaults).

%% Internals.

parse([], _Kinds, Names, Options) ->
    {ok, lists:reverse(Names), Options};
parse([Argument | Rest], Kinds, Names, Options) ->
    case split(Argument) of
        {name, Name} ->
            parse(Rest, Kinds, [Name | Names], Options);
        {Key, Text} ->
            case found(Key, Text, Kinds) of
                {ok, Known, Value} -> parse(Rest, Kinds, Names, Options#{Known := Value});
                {error, Reason} -> {error, [Argument, ": ", Reason]}
            end
    end.

split("--" ++ Flag) ->
    {Flag, flag};
split(Argument) ->
    case string:split(Argument, "=") of
        [Key, Text] -> {Key, Text};
        [Name] -> {name, Name}
    end.

found(Key, Text, Kinds) ->
    case [Known || Known <- maps:keys(Kinds), atom_to_list(Known) =:= Key] of
        [Known] ->
            case value(map_get(Known, Kinds), Text) of
                {ok, Value} -> {ok, Known, Value};
                {error, Expected} -> {error, ["give ", Expected]}
            end;
        [] ->
            {error, ["no option; there are ", lists:join(", ", usage(Kinds))]}
    end.

usage(Kinds) ->
    [written(Key, Kind) || {Key, Kind} <- lists:sort(maps:to_list(Kinds))].

written(Key, flag) -> ["--", atom_to_list(Key)];
written(Key, _Kind) -> [atom_to_list(Key), "="].

default(flag) -> false;
default(Kind) -> element(tuple_size(Kind), Kind).

value(flag, flag) ->
    {ok, true};
value(flag, _Text) ->
    {error, "no value: it is a flag, with -- before its name"};
value(_Kind, flag) ->
    {error, "a value: KEY=VALUE, without --"};
value({text, _}, Text) ->
    {ok, Text};
value({term, IsValid, Expected, _}, Text) ->
    case parsed(Text) of
        {ok, Term} ->
            case IsValid(Term) of
                true -> {ok, Term};
                false -> {error, Expected}
            end;
        error ->
            {error, Expected}
    end;
value({integer, Least, Most, _}, Text) ->
    case string:to_integer(Text) of
        {Number, ""} when is_integer(Number), Number >= Least, Number =< Most -> {ok, Number};
        _ when Most =:= infinity -> {error, io_lib:format("an integer from ~b on", [Least])};
        _ -> {error, io_lib:format("an integer from ~b to ~b", [Least, Most])}
    end;
value({one_of, Names, _}, Text) ->
    case [Name || Name <- Names, atom_to_list(Name) =:= Text] of
        [Name] -> {ok, Name};
        [] -> {error, listed("one of ", Names)}
    end;
value({some_of, Names, _}, Text) ->
    Given = string:lexemes(Text, ","),
    Known = [Name || Name <- Names, lists:member(atom_to_list(Name), Given)],
    case Given =/= [] andalso length(Known) =:= length(Given) of
        true -> {ok, Known};
        false -> {error, listed("some of, separated by commas: ", Names)}
    end.

parsed(Text) ->
    case erl_scan:string(Text ++ ".") of
        {ok, Tokens, _} ->
            case erl_parse:parse_term(Tokens) of
                {ok, Term} -> {ok, Term};
                {error, _} -> error
            end;
        {error, _, _} ->
            error
    end.

listed(Before, Names) ->
    [Before, lists:join(", ", [atom_to_list(Name) || Name <- Names])].
