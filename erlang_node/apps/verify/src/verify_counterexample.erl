%%% @doc A counterexample as a file: what a replay needs, as Erlang terms under 1 KB, with its text
%%% in a comment.
%%%
%%% Executions are deterministic, so it holds only the protocol with its setup and the decisions, or
%%% the model with its steps. The digest of the trace shows whether a replay is the same execution,
%%% the fingerprints whether it is of the same code.
-module(verify_counterexample).

-export([of_schedule/3]).
-export([of_model/2]).
-export([name/1]).
-export([module/1]).
-export([text/1]).
-export([campaign/1]).
-export([write/2]).
-export([read/1]).

-define(FORMAT, 1).
%% Larger files are none of ours: they are a hundred times the size of a long one.
-define(MAX_BYTES, 262144).

%% What an execution of a model needs, besides its module, nodes and steps.
-define(MODEL, [tolerance, faults, options, wait, settle, seed, kind]).

%% The search of {@link verify_search} as far as it determines the execution; its module is the
%% original of a hosted one. Or a {@link verify_campaign:counterexample()} without `violated'.
-type subject() ::
    {schedule, verify_search:t(), verify_schedule:t()} | {model, map()}.
-type t() :: #{
    format := pos_integer(),
    subject := subject(),
    violated := binary(),
    % Of the trace, in hexadecimal digits: see verify_world:digest/1.
    digest := binary(),
    code := verify_fingerprint:t()
}.

-export_type([t/0, subject/0]).

%% @doc The counterexample of an exploration: one of its examples.
-spec of_schedule(verify_search:t(), verify_schedule:t(), Violated :: binary()) -> t().
of_schedule(#{module := Module} = Search, Schedule, Violated) ->
    Given = maps:with([module, nodes, options, world, decisions], Search),
    {World, []} = verify_replay:schedule(Given, Schedule),
    new({schedule, Given, Schedule}, Module, Violated, World).

%% @doc The counterexample of a campaign, with the world at its end.
-spec of_model(verify_campaign:counterexample(), verify_world:t()) -> t().
of_model(#{model := Module, violated := Violated} = Counterexample, World) ->
    new({model, maps:remove(violated, Counterexample)}, Module, Violated, World).

%% @doc The name of its file: the protocol or model, and four digits of its digest.
-spec name(t()) -> file:filename().
name(#{digest := Digest} = Counterexample) ->
    <<Short:4/binary, _/binary>> = Digest,
    lists:concat([module(Counterexample), "-", binary_to_list(Short), ".counterexample"]).

%% @doc The module of the protocol or model.
-spec module(t()) -> module().
module(#{subject := {schedule, #{module := Module}, _}}) -> Module;
module(#{subject := {model, #{model := Module}}}) -> Module.

%% @doc Its text, a line per step.
-spec text(t()) -> unicode:chardata().
text(#{subject := {model, _}} = Counterexample) ->
    verify_notation:text(campaign(Counterexample));
text(#{subject := {schedule, _, _}, violated := Violated} = Counterexample) ->
    #{world := World} = verify_replay:run(Counterexample),
    [[Line, $\n] || Line <- verify_steps:summary(verify_world:trace(World))] ++
        ["final : FAIL, ", Violated, "\n"].

%% @doc The counterexample of a model as its campaign returned it.
-spec campaign(t()) -> verify_campaign:counterexample().
campaign(#{subject := {model, Campaign}, violated := Violated}) ->
    Campaign#{violated => Violated}.

%% @doc Writes it into a directory under its name. Returns the file; an error also if it holds a
%% function, pid, port or reference, which could not be read again.
-spec write(file:filename(), t()) -> {ok, file:filename()} | {error, iodata()}.
write(Directory, Counterexample) ->
    File =
        case Directory of
            "." -> name(Counterexample);
            _ -> filename:join(Directory, name(Counterexample))
        end,
    Comment = [["%% ", Line, $\n] || Line <- string:lexemes(text(Counterexample), "\n")],
    Fields = [field(Field) || Field <- lists:sort(maps:to_list(Counterexample))],
    Text = [
        "%% -*- coding: utf-8 -*-\n",
        "%% A counterexample; `partisan_verify replay FILE' runs it again.\n",
        Comment,
        ["#{", lists:join(",\n  ", Fields), "}.\n"]
    ],
    % Renamed, so that another search that finds the same never reads a part of it.
    Partial = lists:concat([File, ".", os:getpid()]),
    case is_data(Counterexample) of
        true ->
            Written = file:write_file(Partial, unicode:characters_to_binary(Text)),
            renamed(Written, Partial, File);
        false ->
            {error, [File, ": not written: a function, pid, port or reference cannot be read again;"
                " use other terms in options, commands and results"]}
    end.

%% @doc Reads one. An error names the file and what is wrong with it.
-spec read(file:filename()) -> {ok, t()} | {error, iodata()}.
read(File) ->
    case filelib:file_size(File) of
        Bytes when Bytes > ?MAX_BYTES ->
            foreign(File, io_lib:format("it has ~b bytes", [Bytes]));
        _ ->
            case file:consult(File) of
                {ok, [#{format := ?FORMAT} = Term]} ->
                    case is_counterexample(Term) of
                        true -> {ok, Term};
                        false -> foreign(File, "fields are missing or of another type")
                    end;
                {ok, [#{format := Format}]} ->
                    foreign(File, io_lib:format("its format is ~0tp, not ~b", [Format, ?FORMAT]));
                {ok, _} ->
                    foreign(File, "it is not one map with `format'");
                {error, {Line, erl_parse, _}} ->
                    truncated(File, Line);
                {error, {Line, erl_scan, _}} ->
                    truncated(File, Line);
                {error, Reason} ->
                    {error, [File, ": ", file:format_error(Reason)]}
            end
    end.

%% Internals.

renamed(ok, Partial, File) ->
    case file:rename(Partial, File) of
        ok -> {ok, File};
        {error, Reason} -> {error, [File, ": ", file:format_error(Reason)]}
    end;
renamed({error, Reason}, _Partial, File) ->
    {error, [File, ": ", file:format_error(Reason)]}.

is_data([Head | Tail]) ->
    is_data(Head) andalso is_data(Tail);
is_data(Term) when is_tuple(Term) ->
    is_data(tuple_to_list(Term));
is_data(Term) when is_map(Term) ->
    is_data(maps:to_list(Term));
is_data(Term) ->
    not (is_function(Term) orelse is_pid(Term) orelse is_port(Term) orelse is_reference(Term)).

%% A line for each field, so that it stays short and can be compared.
field({Key, Value}) ->
    io_lib:format("~tp => ~0tp", [Key, Value]).

new(Subject, Module, Violated, World) ->
    #{
        format => ?FORMAT,
        subject => Subject,
        violated => Violated,
        digest => string:lowercase(binary:encode_hex(verify_world:digest(World))),
        code => verify_fingerprint:code(Module)
    }.

is_counterexample(#{subject := Subject, violated := Violated, digest := Digest} = Term) ->
    is_subject(Subject) andalso is_binary(Violated) andalso is_binary(Digest) andalso
        byte_size(Digest) =:= 32 andalso is_code(module(Term), Term);
is_counterexample(#{}) ->
    false.

is_subject({schedule, #{module := Module, nodes := _} = Search, Schedule}) when
    length(Schedule) >= 0
->
    is_atom(Module) andalso is_map(maps:get(world, Search, #{})) andalso
        lists:all(fun is_step/1, Schedule);
is_subject({model, #{model := Module, steps := Steps, nodes := Nodes} = Model}) when
    length(Steps) >= 0
->
    is_atom(Module) andalso is_integer(Nodes) andalso ?MODEL -- maps:keys(Model) =:= [] andalso
        lists:all(fun(Step) -> is_tuple(Step) andalso tuple_size(Step) =:= 2 end, Steps);
is_subject(_) ->
    false.

is_code(Module, #{code := #{used := Used} = Code}) when map_size(Code) =:= 2 ->
    is_binary(Used) andalso is_binary(maps:get(Module, Code, none));
is_code(_Module, _Term) ->
    false.

is_step({{crash, _Name, _N}, crash}) -> true;
is_step({{_From, _To, _Type, _Occurrence}, {corrupt, How}}) -> is_corruption(How);
is_step({{_, _, _, _}, Decision}) -> lists:member(Decision, [drop, late, duplicate]);
is_step(_) -> false.

is_corruption({replace, _}) -> true;
is_corruption(How) -> How =:= bit_flip.

truncated(File, Line) ->
    Format = "~ts: line ~b is no Erlang term: is it truncated?",
    {error, io_lib:format(Format, [File, Line])}.

foreign(File, Reason) ->
    {error, [File, ": not a counterexample of partisan_verify: ", Reason]}.
