#!/usr/bin/env escript
%% Measures the time from the first send until every lane of a channel is connected: two virtual
%% machines on loopback, messages with so many keys that all lanes are used. Prints the milliseconds
%% and the OTP release of the nodes.
%%
%%   escript scripts/lanes.escript RELEASE LANES

-mode(compile).

-define(PORT, 7946).
-define(TIMEOUT_MS, 60000).
-define(LOOK_MS, 5).
%% So many that each lane has one, whatever the hash.
-define(KEYS_PER_LANE, 32).

main([Release, Text]) ->
    Lanes = list_to_integer(Text),
    [A, B] = [start(Name, Host, Lanes, Release) || {Name, Host} <- hosts()],
    ok = await(fun() -> call(B, partisan, neighbours, []) =:= [<<"lanes-a">>] end),
    Began = erlang:monotonic_time(millisecond),
    _ = [ok = send(B, Key) || Key <- lists:seq(1, ?KEYS_PER_LANE * Lanes)],
    ok = await(fun() -> connected(B) =:= Lanes end),
    Milliseconds = erlang:monotonic_time(millisecond) - Began,
    io:format("~b ~s~n", [Milliseconds, call(A, erlang, system_info, [otp_release])]),
    lists:foreach(fun peer:stop/1, [A, B]);
main(_) ->
    io:format(standard_error, "usage: lanes.escript RELEASE LANES~n", []),
    halt(2).

hosts() ->
    [{<<"lanes-a">>, {127, 0, 4, 1}}, {<<"lanes-b">>, {127, 0, 4, 2}}].

start(Name, Host, Lanes, Release) ->
    Paths = filelib:wildcard(filename:join(Release, "lib/*/ebin")),
    Flags = ["+sbwt", "none", "-kernel", "logger_level", "critical"],
    {ok, Node, _} = peer:start(#{
        connection => {{127, 0, 0, 1}, 0},
        args => Flags ++ lists:append([["-pa", Path] || Path <- Paths])
    }),
    [{Seed, SeedHost} | _] = hosts(),
    ok = call(Node, partisan_config, set, [
        #{
            name => Name,
            cluster => <<"lanes">>,
            token => binary:copy(<<"lanes">>, 8),
            host => Host,
            listen_ip => Host,
            listen_port => ?PORT,
            overlay => {full_mesh, #{}},
            channels => [#{name => default, parallelism => Lanes, monotonic => false}],
            seeds => [
                #{name => Seed, host => SeedHost, port => ?PORT, incarnation => 0}
            ]
        }
    ]),
    {ok, _} = call(Node, application, ensure_all_started, [partisan]),
    Node.

send(Node, Key) ->
    Target = {absent, <<"lanes-a">>},
    call(Node, partisan, forward, [Target, Key, #{partition_key => Key}]).

connected(Node) ->
    proplists:get_value([default], call(Node, partisan_channel_stats, connections, []), 0).

call(Node, Module, Function, Arguments) ->
    peer:call(Node, Module, Function, Arguments, ?TIMEOUT_MS).

await(Condition) ->
    await(Condition, erlang:monotonic_time(millisecond) + ?TIMEOUT_MS).

await(Condition, Deadline) ->
    case Condition() of
        true ->
            ok;
        false ->
            Deadline > erlang:monotonic_time(millisecond) orelse error(timeout),
            timer:sleep(?LOOK_MS),
            await(Condition, Deadline)
    end.
