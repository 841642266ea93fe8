%%% @doc The commands of `partisan_verify' for counterexamples: `replay' and `draw'.
-module(verify_again).

-export([replay/1]).
-export([draw/1]).

-import(verify_cli, [code_added/1, loaded/1, parsed/2, refused/1, report/3]).

%% @doc Replays a counterexample and compares.
-spec replay([string()]) -> verify_cli:status().
replay(Arguments) ->
    replay_with(parsed(Arguments, replay_options())).

%% @doc Draws the space-time diagram of a counterexample, and writes its execution for the live
%% page.
-spec draw([string()]) -> verify_cli:status().
draw(Arguments) ->
    draw_with(parsed(Arguments, #{out => {text, "."}, code => {text, none}})).

%% Internals.

replay_options() ->
    #{step => flag, times => {integer, 1, infinity, 1}, code => {text, none}, json => flag}.

replay_with({[File], #{times := Times} = Options}) ->
    Counterexample = read(File, Options),
    #{code := Code, violated := Violated, digest := Digest} = Counterexample,
    Changed = verify_fingerprint:changed(Code),
    [verify_report:changed(Change) || Change <- Changed],
    #{same := IsSame} = First = verify_replay:run(Counterexample),
    Same = again(Times - 1, Counterexample, counted(IsSame)),
    Cell = #{
        file => unicode:characters_to_binary(File),
        times => Times,
        same => Same,
        violated => Violated,
        digest => Digest,
        changed => length(Changed)
    },
    report(Options, Cell, fun() ->
        verify_report:replayed(Options, Counterexample, First, {Same, Times})
    end),
    case Same of
        Times -> 0;
        _ -> 1
    end;
replay_with(_) ->
    refused("replay: name one file, NAME.counterexample").

%% How many are the same. Each result holds a world: only the first one is kept.
again(0, _Counterexample, Same) ->
    Same;
again(Times, Counterexample, Same) ->
    #{same := IsSame} = verify_replay:run(Counterexample),
    again(Times - 1, Counterexample, Same + counted(IsSame)).

counted(true) -> 1;
counted(false) -> 0.

draw_with({[File], #{out := Out} = Options}) ->
    Counterexample = read(File, Options),
    Name = filename:rootname(filename:basename(File)),
    Target = filename:join(Out, Name),
    write(Target ++ ".svg", verify_report:diagram(Name, Counterexample)),
    write(Target ++ ".execution.json", verify_document:json(Name, Counterexample)),
    0;
draw_with(_) ->
    refused("draw: name one file, NAME.counterexample").

write(Target, Content) ->
    case file:write_file(Target, Content) of
        ok -> io:format("Written: ~ts~n", [Target]);
        {error, Reason} -> refused([Target, ": ", file:format_error(Reason)])
    end.

read(File, Options) ->
    _ = code_added(Options),
    Counterexample = loaded(verify_counterexample:read(File)),
    Module = verify_counterexample:module(Counterexample),
    case code:ensure_loaded(Module) of
        {module, Module} ->
            Counterexample;
        {error, _} ->
            Text = "~ts: no module ~tp; give its source or its directory: code=FILE.erl",
            refused(io_lib:format(Text, [File, Module]))
    end.
