%% Cells on real virtual machines: a pair that are no neighbours, and a ring over each system.
-module(bench_driver_tests).

-include_lib("eunit/include/eunit.hrl").

-define(MODULES, [bench_ours, bench_disterl, bench_ring_raw]).

acknowledged_messages_are_relayed_between_nodes_that_are_no_neighbours_test_() ->
    {timeout, 600, fun() ->
        System = (system(bench_ours, [{lanes_1, 1}]))#{nodes => 3, overlay => client_server},
        Cell = #{
            experiment => ack,
            system => ours,
            overlay => client_server,
            channel => lanes_1,
            payload => 1024,
            pairs => 2,
            messages => 20,
            milliseconds => 30000
        },
        [Figures] = run(#{ours => System}, [Cell]),
        ?assertMatch(#{acknowledged := 20, sent := 20, relayed := true}, Figures)
    end}.

rings_test_() ->
    [
        {atom_to_list(Module),
            {timeout, 600, fun() ->
                Channels = [{vnode, 2}, {handoff, 1}, {default, 1}],
                Systems = #{one => (system(Module, Channels))#{nodes => 3}},
                [Warm, Echo] = run_long_enough(Systems, [store(), echo()], fun has_read/1),
                ?assertMatch(#{found := 1.0, timeouts := 0, refused := 0}, Warm),
                ?assertMatch(#{found := null, timeouts := 0, refused := 0}, Echo),
                [?assert(Rate > 0) || #{ops_per_s := Rate} <- [Warm, Echo]],
                [?assert(P99 > 0) || #{p99_ms := P99} <- [Warm, Echo]]
            end}}
     || Module <- ?MODULES
    ].

what_clients_of_the_store_saw_is_written_for_judges_test_() ->
    {timeout, 600, fun() ->
        File = string:trim(os:cmd("mktemp")),
        Channels = [{vnode, 2}, {handoff, 1}, {default, 1}],
        Cell = (cell(kvs))#{
            experiment => history,
            values => cold,
            storage_ms => 0,
            file => list_to_atom(File)
        },
        Systems = #{one => (system(bench_ours, Channels))#{nodes => 3}},
        HasDone = fun(#{operations := Count}) -> Count > 10 end,
        [#{operations := Operations, violations := 0}] =
            run_long_enough(Systems, [Cell], HasDone),
        {ok, Text} = file:read_file(File),
        ok = file:delete(File),
        ?assert(Operations > 10),
        ?assertEqual(Operations, length(binary:matches(Text, <<"\n">>)))
    end}.

store() ->
    (cell(kvs))#{values => warm, reads => digest, storage_ms => 1}.

echo() ->
    cell(echo).

cell(Service) ->
    #{
        experiment => ring,
        system => one,
        service => Service,
        partitions => 6,
        payload => 2048,
        actors => 2
    }.

%% A busy machine may do little in a short time, or nothing.
run_long_enough(Systems, Cells, HasDone) ->
    run_long_enough(Systems, Cells, HasDone, 300).

run_long_enough(Systems, Cells, HasDone, Milliseconds) ->
    Figures = run(Systems, [Cell#{milliseconds => Milliseconds} || Cell <- Cells]),
    case lists:all(HasDone, Figures) of
        false when Milliseconds < 30000 ->
            run_long_enough(Systems, Cells, HasDone, 10 * Milliseconds);
        _ ->
            Figures
    end.

has_read(#{service := kvs, found := Found}) -> Found =/= null;
has_read(#{service := echo, ops_per_s := Rate}) -> Rate > 0.

run(Systems, Cells) ->
    Self = self(),
    % Addresses that no other test run has.
    {Second, Third} = {rand:uniform(250), rand:uniform(250)},
    Hosts = [#{ip => {127, Second, Third, I}, command => []} || I <- [1, 2, 3]],
    Report = fun(Figures) ->
        Self ! {figures, Figures},
        ok
    end,
    ok = bench_driver:run(#{hosts => Hosts, systems => Systems, cells => Cells}, Report),
    [
        receive
            {figures, Figures} -> Figures
        end
     || _ <- Cells
    ].

system(Module, Channels) ->
    #{module => Module, arguments => [], environment => [], channels => Channels}.
