%%% @doc The search finds each execution once: those of two messages, and of a node that may crash.
-module(verify_own_search_tests).
-behaviour(partisan_process).
-behaviour(verify_own_search).

-include_lib("eunit/include/eunit.hrl").

-export([init/1, handle/2]).
-export([start/1, faults_end/1, faults/3, crashed/3, occur/3, verdict/2]).

-define(N1, <<"n1">>).
-define(N2, <<"n2">>).

all_executions_test() ->
    % Two messages, each delivered, dropped or late.
    Result = search(#{shares => [1.0, 1.0]}),
    ?assertMatch(#{executions := 9, complete := true, failing := 0}, Result),
    ?assertMatch(#{executions := 5}, search(#{shares => [1.0]})),
    ?assertMatch(#{executions := 1}, search(#{shares => []})).

a_search_that_is_cut_is_not_complete_test() ->
    ?assertMatch(#{executions := 3, complete := false}, search(#{shares => [1.0, 1.0], most => 3})).

counterexample_with_fewest_faults_test() ->
    Options = #{shares => [1.0, 1.0], wanted => [first]},
    #{failing := 5, counterexample := {Schedule, {missing, [first]}}} = search(Options),
    ?assertEqual([{{?N1, ?N2, first, 1}, drop}], Schedule),
    {_, Verdict} = verify_own_search:replay(?MODULE, Schedule, Options),
    ?assertEqual({violated, {missing, [first]}}, Verdict).

crash_test() ->
    % Before its first event or its second one; it restarts, and the environment sees it.
    #{executions := 3, failing := 2} =
        search(#{shares => [1.0], faults => [crash], wanted => [first, second]}),
    {World, _} = verify_own_search:replay(
        ?MODULE, [{{crash, ?N2, 1}, crash}], #{faults => [crash], wanted => []}
    ),
    ?assertEqual(2, verify_world:state(?N2, World)),
    ?assertEqual(60, verify_world:now(World)).

search(Options) ->
    verify_own_search:run(?MODULE, Options).

%% A process that passes on what it gets; its state is its incarnation.

init(#{incarnation := Incarnation}) ->
    {Incarnation, []}.

handle({call, _, send}, Incarnation) ->
    {Incarnation, [{send, ?N2, first}, {send, ?N2, second}]};
handle({message, _, Msg}, Incarnation) ->
    {Incarnation, [{deliver, Msg}]}.

%% The scenario.

start(_Options) ->
    World = verify_world:new(#{
        module => ?MODULE, nodes => [?N1, ?N2], crashes => true, late => 10
    }),
    {verify_world:inject(?N1, {call, send, send}, World), []}.

faults_end(_Options) -> 50.

faults({message, _, _}, _Faults, Options) ->
    [drop || not is_map_key(faults, Options)] ++ [late || not is_map_key(faults, Options)];
faults({event, {crash, ?N2, _}}, _Faults, Options) ->
    maps:get(faults, Options, []);
faults(_, _, _) ->
    [].

crashed(Name, _World, _Options) -> [{60, {restart, Name}}].

occur({restart, Name}, World, _Options) -> {verify_world:restart(Name, World), []}.

verdict(World, Options) ->
    case maps:get(wanted, Options, []) -- verify_world:delivered(?N2, World) of
        [] -> ok;
        Missing -> {violated, {missing, Missing}}
    end.
