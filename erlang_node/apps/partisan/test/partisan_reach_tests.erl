%%% @doc Services of a node within reach of another member.
-module(partisan_reach_tests).
-behaviour(supervisor).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([init/1, start_supervisor/0, start_another/0]).
%% The functions of a supervisor.
-export([start_child/2, which_children/1]).

-define(SYSTEM, [
    init, application_controller, code_server, erl_prim_loader, kernel_sup, logger, user,
    file_server_2, partisan_sup, partisan_listener, partisan_manager
]).

mesh_test_() ->
    {setup, fun() -> form(#{}) end, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 600, fun() -> Test(Nodes) end}}
         || {Title, Test} <- [
                {"the emulator cannot be stopped", fun stopping/1},
                {"OTP's and the runtime's names are not offered", fun system/1},
                {"nor are supervisors", fun supervisors/1},
                {"including those of other libraries", fun other_supervisors/1},
                {"a refusal is decided once", fun decided/1},
                {"a reference leads to no process of OTP", fun references/1},
                {"only its node can make a reference", fun forged/1},
                {"no member speaks for another", fun impersonation/1},
                {"a name means its present process", fun known/1},
                {"OTP's system messages are not accepted from other nodes", fun local/1},
        {"handlers of events are not added", fun event_handlers/1},
                {"functions are executed only of allowed modules", fun execution/1}
            ]
        ]
    end}.

%% Two clients of one server: relayed messages obey the same rules.
star_test_() ->
    Star = #{overlay => {client_server, #{servers => [<<"node-1">>]}}},
    {setup, fun() -> form(Star) end, fun partisan_test_cluster:stop/1, fun([_, A, B]) ->
        {"relayed as well", {timeout, 600, fun() ->
            ok = stop_by(A, B, #{}),
            ok = stop_by(A, B, #{ack => true}),
            works(A, B)
        end}}
    end}.

settings_test_() ->
    Settings = #{
        reachable => [sink, hidden, {server, messages}],
        unreachable => [hidden],
        remote_execution => [lists]
    },
    {setup, fun() -> form(Settings) end, fun partisan_test_cluster:stop/1, fun([A, B, _]) ->
        [
            {"only the names of the setting", {timeout, 600, fun() ->
                ok = call(B, partisan_test_sink, start, [hidden]),
                ok = call(B, partisan_test_sink, start, [other]),
                ?assertEqual({error, unreachable}, call(B, partisan_reach, find, [hidden])),
                ?assertEqual({error, unreachable}, call(B, partisan_reach, find, [other])),
                works(A, B)
            end}},
            {"messages but no calls", {timeout, 600, fun() ->
                {ok, _} = call(B, partisan_test_server, start, [server]),
                ok = call(A, partisan, forward, [name(B), server, hello, #{ack => true}]),
                ?assertEqual([hello], call(B, gen_server, call, [server, seen])),
                ?assertMatch({noproc, _}, exit_of(A, [{server, name(B)}, seen]))
            end}},
            {"only the modules of the setting", {timeout, 600, fun() ->
                ?assertEqual(6, call(A, partisan, execute, [name(B), lists, sum, [[1, 2, 3]]])),
                ?assertEqual(6, call(B, partisan, execute, [name(B), lists, sum, [[1, 2, 3]]])),
                ?assertMatch({function_clause, _}, refusal(A, B, lists, sum, [none])),
                ?assertEqual({not_allowed, erlang}, refusal(A, B, erlang, halt, []))
            end}}
        ]
    end}.

stopping([A, B, _]) ->
    ok = stop_by(A, B, #{}),
    ok = stop_by(A, B, #{ack => true}),
    ok = call(A, partisan, broadcast, [init, {stop, stop}]),
    ok = call(A, partisan, cast, [{init, name(B)}, {stop, stop}]),
    works(A, B).

stop_by(A, B, Options) ->
    call(A, partisan, forward, [name(B), init, {stop, stop}, Options]).

system([A, B, _]) ->
    [
        begin
            ok = call(A, partisan, forward, [name(B), Name, stray]),
            ?assertMatch({Name, {noproc, _}}, {Name, exit_of(A, [{Name, name(B)}, stray])}),
            ?assertEqual({Name, noproc}, {Name, down(A, {Name, name(B)})})
        end
     || Name <- ?SYSTEM
    ],
    ok = await(fun() -> dropped(B) >= length(?SYSTEM) end),
    works(A, B).

supervisors([A, B, _]) ->
    {ok, _} = call(B, ?MODULE, start_supervisor, []),
    Child = #{id => child, start => {erlang, halt, []}},
    ?assertMatch({noproc, _}, exit_of(A, [{?MODULE, name(B)}, {start_child, Child}])),
    works(A, B).

%% Registered as a generic server, not as one of OTP's supervisors.
other_supervisors([A, B, _]) ->
    {ok, _} = call(B, ?MODULE, start_another, []),
    Child = {child, {erlang, halt, []}},
    ?assertMatch({noproc, _}, exit_of(A, [{another, name(B)}, {start_child, Child}])),
    works(A, B).

decided([_, B, _]) ->
    Decided = fun() -> call(B, ets, lookup, [partisan_reach, code_server]) end,
    ?assertEqual({error, unreachable}, call(B, partisan_reach, find, [code_server])),
    ?assertEqual([{code_server, call(B, erlang, whereis, [code_server]), false}], Decided()),
    ?assertEqual({error, unreachable}, call(B, partisan_reach, find, [code_server])).

references([A, B, _]) ->
    Init = call(B, partisan, ref, [call(B, erlang, whereis, [init])]),
    ok = call(A, partisan, forward, [Init, {stop, stop}]),
    ok = call(A, partisan, forward, [Init, {stop, stop}, #{ack => true}]),
    ?assertMatch({noproc, _}, exit_of(A, [Init, stray])),
    ?assertEqual(noproc, down(A, Init)),
    works(A, B),
    % For its own node it is like any other.
    ?assertMatch({ok, _}, call(B, partisan_ref, to_local, [Init])).

forged([A, B, _]) ->
    Made = call(B, partisan, ref, [call(B, erlang, whereis, [init])]),
    <<Kept, Signature:16/binary, Pid/binary>> = element(5, Made),
    Identities = [
        Pid,
        <<1, Signature/binary, Pid/binary>>,
        <<1, 0:128, Pid/binary>>,
        <<Kept, Signature/binary, Pid/binary, 0>>,
        <<>>
    ],
    [
        ok = call(A, partisan, forward, [setelement(5, Made, Identity), {stop, stop}])
     || Identity <- Identities
    ],
    works(A, B).

%% B accepts messages over its link to A only in A's name.
impersonation([A, B, C]) ->
    #{host := Host} = partisan_test_cluster:peer(C),
    Ghost = partisan_peer:new(<<"ghost">>, Host, 1),
    Spec = {full_mesh, #{}},
    Join = {overlay, Ghost, {overlay, {erlang:phash2(Spec), join}}},
    ok = call(A, partisan, forward, [name(B), partisan_manager, Join]),
    works(A, B),
    ?assertNot(lists:member(<<"ghost">>, call(B, partisan, members, []))),
    % The runtime's own protocols: by the API, and as a faulty node would send them.
    Incarnation = call(C, partisan, incarnation, []),
    Before = dropped(B),
    Alive = {partisan_remote, name(C), Incarnation + 1, {alive, 0, false}},
    Topics = {partisan_pubsub, name(C), {entries, #{name(C) => {{Incarnation + 1, 1}, [forged]}}}},
    [
        ok = call(A, partisan, Function, [name(B), Service, Message, #{ack => Ack}])
     || Function <- [forward, transmit],
        {Service, Message} <- [{partisan_remote, Alive}, {partisan_pubsub, Topics}],
        Ack <- [false, true]
    ],
    ok = await(fun() -> dropped(B) =:= Before + 4 end),
    ?assertEqual([], call(B, partisan_pubsub, subscribers, [forged])),
    % A stream of C's, opened by A.
    Stream = {name(C), Incarnation + 1, 1},
    Open = {open, Stream, {name(C), default, 0}},
    ok = call(A, partisan, transmit, [name(B), partisan_acks, Open, #{ack => false}]),
    Skip = {data, Stream, 1, {message, {plain, sink, forged}}, {name(C), default, 0}},
    ok = call(A, partisan, transmit, [name(B), partisan_acks, Skip, #{ack => false}]),
    works(A, B),
    works(C, B).

%% Names resolved before do not open what is not offered, and mean their present process.
known([A, B, _]) ->
    Remote = call(B, erlang, whereis, [partisan_remote]),
    Known = #{{service, partisan_remote} => Remote},
    [
        ?assertMatch({error, _}, call(B, partisan_reach, route, [name(A), To, stray, Known]))
     || To <- [partisan_remote, partisan_manager, {service, partisan_remote}]
    ],
    Refused = call(B, partisan_reach, route, [name(A), partisan_manager, stray, #{}]),
    ?assertEqual({error, unreachable}, Refused),
    ?assertEqual(#{}, partisan_reach:remember(partisan_manager, Refused, #{})),
    Served = {partisan_remote, name(A), 1, {alive, 0, false}},
    Delivered = call(B, partisan_reach, route, [name(A), partisan_remote, Served]),
    ?assertMatch({ok, Remote, _}, Delivered),
    ?assertEqual(#{}, partisan_reach:remember(partisan_remote, Delivered, #{})),
    ok = call(B, partisan_test_sink, start, [sink]),
    First = call(B, erlang, whereis, [sink]),
    Sink = partisan_reach:remember(sink, {ok, First, hello}, #{}),
    ?assertEqual(#{sink => First}, Sink),
    Route = fun() -> call(B, partisan_reach, route, [name(A), sink, hello, Sink]) end,
    ?assertEqual({ok, First, hello}, Route()),
    ok = call(B, partisan_test_sink, stop, [sink]),
    ?assertEqual({error, no_process}, Route()),
    ok = call(B, partisan_test_sink, start, [sink]),
    Second = call(B, erlang, whereis, [sink]),
    ?assertEqual({ok, Second, hello}, Route()),
    ?assertEqual(#{sink => Second}, partisan_reach:remember(sink, Route(), Sink)),
    ok = call(B, partisan_test_sink, stop, [sink]).

local([A, B, _]) ->
    ok = call(B, partisan_test_sink, start, [sink]),
    Before = dropped(B),
    Messages = [
        {system, {self(), make_ref()}, get_state},
        {'$gen_call', {self(), stop}, stop},
        {'EXIT', self(), killed},
        {self(), {self(), make_ref()}, {add_handler, init, []}},
        {partisan, {neighbour_down, name(A)}}
    ],
    [ok = call(A, partisan, forward, [name(B), sink, M]) || M <- Messages],
    ok = call(A, partisan, forward, [name(B), sink, last]),
    ?assertEqual([last], call(B, partisan_test_sink, take, [sink, 1])),
    ?assertEqual(Before + length(Messages), dropped(B)),
    ok = call(B, partisan_test_sink, stop, [sink]).

%% A handler is any module, whose init/1 runs.
event_handlers([A, B, _]) ->
    {ok, _} = call(B, gen_event, start, [{local, events}]),
    Add = {self(), {self(), make_ref()}, {add_handler, partisan_test_handler, []}},
    ok = call(A, partisan, forward, [name(B), events, Add]),
    ok = call(A, partisan, forward, [name(B), events, {notify, hello}, #{ack => true}]),
    ?assertEqual([], call(B, gen_event, which_handlers, [events])),
    ok = call(B, gen_event, stop, [events]).

execution([A, B, _]) ->
    ?assertEqual({not_allowed, init}, refusal(A, B, init, stop, [])),
    works(A, B).

%% Helpers.

form(Settings) ->
    Nodes = partisan_test_cluster:start(3, Settings),
    ok = await(fun() ->
        lists:all(fun(N) -> call(N, partisan, joined, []) end, Nodes) andalso
            length(call(hd(Nodes), partisan, neighbours, [])) =:= 2
    end),
    Nodes.

works(A, B) ->
    ok = call(B, partisan_test_sink, start, [sink]),
    ok = call(A, partisan, forward, [name(B), sink, arrived]),
    ok = call(A, partisan, forward, [name(B), sink, arrived, #{ack => true}]),
    ?assertEqual([arrived, arrived], call(B, partisan_test_sink, take, [sink, 2])),
    ok = call(B, partisan_test_sink, stop, [sink]).

dropped(Node) ->
    call(Node, partisan_metrics, value, [
        partisan_channel_dropped_messages_total, [default, unreachable]
    ]).

on(Node, Fun) ->
    call(Node, erlang, apply, [Fun, []]).

exit_of(Node, Arguments) ->
    on(Node, fun() -> try apply(partisan, call, Arguments) catch exit:Reason -> Reason end end).

refusal(A, B, Module, Function, Arguments) ->
    Node = name(B),
    {Reason, {partisan, execute, _}} = on(A, fun() ->
        try
            partisan:execute(Node, Module, Function, Arguments)
        catch
            exit:Reason -> Reason
        end
    end),
    Reason.

down(Node, Target) ->
    on(Node, fun() ->
        Monitor = partisan:monitor(process, Target),
        receive
            {'DOWN', Monitor, process, _, Reason} -> Reason
        after 20000 -> never
        end
    end).

start_supervisor() ->
    case supervisor:start_link({local, ?MODULE}, ?MODULE, []) of
        {ok, Pid} ->
            true = unlink(Pid),
            {ok, Pid};
        Error ->
            Error
    end.

start_another() ->
    gen_server:start({local, another}, ?MODULE, [], []).

start_child(_Supervisor, _Child) -> {error, max_children}.
which_children(_Supervisor) -> [].

init([]) ->
    {ok, {#{}, []}}.
