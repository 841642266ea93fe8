%%% @doc Runs a counterexample again and compares.
%%%
%%% The execution is the same if its trace has the digest that the counterexample recorded. If the
%%% code has changed since ({@link verify_fingerprint}) another outcome is no surprise, and the
%%% outcome shows whether the change has removed the error.
-module(verify_replay).

-export([run/1]).
-export([schedule/2]).

%% `same': the violation and the digest are those of the counterexample. `unmet': decisions about
%% messages that this execution does not have.
-type result() :: #{
    same := boolean(),
    verdict := ok | {violated, binary()},
    world := verify_world:t(),
    unmet := verify_schedule:t()
}.

-export_type([result/0]).

%% @doc Replays. Raises `{invalid_search, Description}' or `{invalid_campaign, Description}' if the
%% protocol or model is not there.
-spec run(verify_counterexample:t()) -> result().
run(#{subject := {schedule, Search, Schedule}} = Counterexample) ->
    {World, Unmet} = schedule(Search, Schedule),
    Verdict =
        case verify_search:violation(verify_search:complete(hosted(Search)), World) of
            ok -> ok;
            {violated, Text} -> {violated, unicode:characters_to_binary(Text)}
        end,
    result(Verdict, World, Unmet, Counterexample);
run(#{subject := {model, _}} = Counterexample) ->
    {_, Execution} = verify_campaign:replay(verify_counterexample:campaign(Counterexample)),
    Verdict =
        case verify_execution:outcome(Execution) of
            passed -> ok;
            {failed, _Kind, Text} -> {violated, Text}
        end,
    result(Verdict, verify_execution:world(Execution), [], Counterexample).

%% @doc The end of the execution of a schedule, with its trace, and the decisions not met.
-spec schedule(verify_search:t(), verify_schedule:t()) -> {verify_world:t(), verify_schedule:t()}.
schedule(Search, Schedule) ->
    Hosted = hosted(Search),
    Further = maps:get(world, Hosted, #{}),
    % Guarded: a callback that loops is part of the counterexample.
    Complete = verify_search:complete(Hosted#{world => Further#{guard => true}}),
    verify_schedule:run(Schedule, verify_search:world(Complete)).

%% Internals.

hosted(#{module := Module} = Search) ->
    case verify_host:load(Module) of
        {ok, Hosted} -> Search#{module := Hosted};
        {error, Text} -> error({invalid_search, unicode:characters_to_list(Text)})
    end.

result(Verdict, World, Unmet, #{violated := Violated, digest := Digest}) ->
    Found = string:lowercase(binary:encode_hex(verify_world:digest(World))),
    Same = Verdict =:= {violated, Violated} andalso Found =:= Digest,
    #{same => Same, verdict => Verdict, world => World, unmet => Unmet}.
