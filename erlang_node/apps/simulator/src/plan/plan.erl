%%% @doc The program `partisan_plan': simulates a cluster before it is launched.
%%%
%%% It reads a `node.config' on standard input, the same text that the pods will read, simulates the
%%% cluster described by it ({@link plan_run}), and writes the result to standard output as one JSON
%%% object. Progress goes to standard error every other second. An error is one line there, with
%%% exit status 1.
%%%
%%% Arguments are KEY=NUMBER, see `defaults/0'; the same seed gives the same result.
-module(plan).

-export([main/0]).

-define(REPORT_MS, 2000).

%% @doc Runs the program with the emulator's plain arguments, and ends the emulator.
-spec main() -> no_return().
main() ->
    ok = io:setopts([binary]),
    case simulated(init:get_plain_arguments(), input([])) of
        {ok, Result} ->
            io:put_chars([node_json:encode(Result), $\n]),
            halt(0);
        {error, Text} ->
            io:format(standard_error, "partisan_plan: ~ts~n", [Text]),
            halt(1)
    end.

%% Internals.

simulated(Arguments, Text) ->
    case {parsed(Arguments, defaults()), node_config:outline(Text)} of
        {{ok, Numbers}, {ok, #{overlay := {Kind, _}} = Outline}} ->
            case partisan_overlay_registry:is_usable(Kind) of
                true -> plan_run:run(Outline, options(Numbers));
                false -> {error, io_lib:format("overlay: no module ~s in the simulator", [Kind])}
            end;
        {{error, _} = Error, _} -> Error;
        {_, {error, _} = Error} -> Error
    end.

%% `latency_least_ms', `latency_most_ms': one way, between two nodes, random within the range.
%% `boot_gap_us': between the starts of two nodes. `zones': zones that pods are spread over.
%% `warm_ms', `limit_ms': see plan_run.
defaults() ->
    #{
        seed => 1,
        latency_least_ms => 1,
        latency_most_ms => 2,
        boot_gap_us => 100000,
        zones => 1,
        warm_ms => 0,
        limit_ms => 600000
    }.

options(#{latency_least_ms := Least, latency_most_ms := Most} = Numbers) ->
    Last = atomics:new(1, []),
    ok = atomics:put(Last, 1, erlang:monotonic_time(millisecond)),
    (maps:without([latency_least_ms, latency_most_ms], Numbers))#{
        latency => {Least, max(Least, Most)},
        progress => fun(Line) -> report(Line, Last) end
    }.

report(Line, Last) ->
    Now = erlang:monotonic_time(millisecond),
    case Now - atomics:get(Last, 1) >= ?REPORT_MS of
        true ->
            ok = atomics:put(Last, 1, Now),
            io:format(standard_error, "~ts~n", [Line]);
        false ->
            ok
    end.

parsed([], Numbers) ->
    {ok, Numbers};
parsed([Argument | Arguments], Numbers) ->
    Known = [{atom_to_list(Key), Key} || Key <- maps:keys(Numbers)],
    case string:split(Argument, "=") of
        [Name, Digits] ->
            case {lists:keyfind(Name, 1, Known), string:to_integer(Digits)} of
                {{_, Key}, {Number, ""}} when Number >= 0 ->
                    parsed(Arguments, Numbers#{Key := Number});
                _ ->
                    not_known(Argument, Known)
            end;
        _ ->
            not_known(Argument, Known)
    end.

not_known(Argument, Known) ->
    Names = lists:join(", ", [Name || {Name, _} <- Known]),
    {error, io_lib:format("~ts is not KEY=NUMBER with one of ~ts", [Argument, Names])}.

input(Lines) ->
    case io:get_line("") of
        eof -> iolist_to_binary(lists:reverse(Lines));
        Line when is_binary(Line) -> input([Line | Lines])
    end.
