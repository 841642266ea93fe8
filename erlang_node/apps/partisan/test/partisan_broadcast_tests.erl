%%% Broadcast handlers: the settings of docs/reference/runtime.md on eight nodes in virtual time,
%%% with losses and cut links, and on real nodes, with handlers that fail.
-module(partisan_broadcast_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, await/1]).

-define(NODES, 8).
-define(EVENTS, partisan_broadcast_handler_events_total).

%% On the nodes.
-export([set_too_large/0]).

%% A net of trees: a map of nodes, the events to come, and a function that loses messages.

eight_nodes_test_() ->
    {setup, fun load/0, fun unload/1, fun(_) ->
        [
            {"changes reach all nodes", fun reaches_all/0},
            {"missed data is fetched by graft", fun grafts/0},
            {"superseded data is not fetched", fun ignores_stale/0},
            {"a cut link heals by exchange", fun exchanges/0}
        ]
    end}.

load() ->
    ok = partisan_test_page:load(settings()).

unload(_) ->
    _ = code:delete(settings),
    code:purge(settings).

settings() ->
    {Modules, _} = partisan_test_page:blocks("reference/runtime.md"),
    [Source] = [M || "-module(settings)" ++ _ = M <- Modules],
    Source.

reaches_all() ->
    Net = lists:foldl(
        fun(I, N) -> run(set(I, {key, I}, I, N)) end, new(), lists:seq(1, ?NODES)
    ),
    Expected = maps:from_list([{{key, I}, {{1, I}, I}} || I <- lists:seq(1, ?NODES)]),
    ?assertEqual([Expected], lists:usort(settings(Net))),
    % The tree has no link to spare: a change that follows is sent once to each node.
    ?assertEqual(?NODES - 1, count(gossip, run(set(1, key, value, Net#{counts := #{}})))).

%% Node 5 gets announcements, but no payload until it asks for it.
grafts() ->
    Shaped = run(set(1, first, 1, new())),
    Lossy = Shaped#{loses := fun(_, To, Msg) -> To =:= 5 andalso kind(Msg) =:= gossip end},
    Missed = run_for(400, set(1, second, 2, Lossy#{counts := #{}})),
    ?assertMatch(#{5 := Settings} when not is_map_key(second, Settings), by_node(Missed)),
    Net = run(Missed#{loses := fun(_, _, _) -> false end}),
    ?assertMatch(#{5 := #{second := {_, 2}}}, by_node(Net)),
    ?assert(count({asked, graft}, Net) >= 1),
    ?assert(count({asked, is_stale}, Net) >= 1).

%% Three versions are announced to node 5 after it has got the last one by other means.
ignores_stale() ->
    Lossy = (new())#{loses := fun(_, To, _) -> To =:= 5 end},
    Missed = lists:foldl(fun(V, N) -> run(set(1, key, V, N)) end, Lossy, [1, 2, 3]),
    ?assertMatch(#{5 := Settings} when map_size(Settings) =:= 0, by_node(Missed)),
    Equal = exchange(4, 5, Missed#{loses := fun(_, _, _) -> false end, counts := #{}}),
    ?assertMatch(#{5 := #{key := {_, 3}}}, by_node(Equal)),
    Net = run_for(60000, Equal),
    ?assert(count({asked, is_stale}, Net) >= 3),
    ?assertEqual(0, count({asked, graft}, Net)),
    % Nothing is missing any more, so that neighbours compare hashes alone.
    ?assertEqual(0, count(summary, run_for(60000, Net#{counts := #{}}))).

%% More changes than a node keeps the identifiers of, on either side of a cut.
exchanges() ->
    Cut = (new())#{loses := fun(From, To, _) -> (From =< 4) =/= (To =< 4) end},
    Changed = lists:foldl(
        fun(V, N) -> run(set(5, {b, V rem 10}, V, set(1, {a, V rem 200}, V, N))) end,
        Cut,
        lists:seq(1, 400)
    ),
    [Left, Right] = lists:usort(settings(Changed)),
    ?assertEqual([10, 200], lists:sort([map_size(Left), map_size(Right)])),
    % Once per interval, each node with a neighbour.
    Healed = lists:foldl(
        fun(Turn, N0) ->
            lists:foldl(
                fun(I, N) -> exchange(I, neighbour(I, Turn), N) end,
                run_for(10000, N0),
                lists:seq(1, ?NODES)
            )
        end,
        Changed#{loses := fun(_, _, _) -> false end},
        [0, 1, 2, 3]
    ),
    ?assertEqual([maps:merge(Left, Right)], lists:usort(settings(Healed))).

%% Each node has the two next to it on a ring, and the one opposite.
neighbours(I) -> [(I + Step - 1) rem ?NODES + 1 || Step <- [1, ?NODES div 2, ?NODES - 1]].

neighbour(I, Turn) -> lists:nth(Turn rem 3 + 1, lists:sort(neighbours(I))).

peer(I) -> partisan_peer:new(<<I>>, "host", 1, 1).

new() ->
    Trees = [
        {I, #{
            tree => partisan_plumtree:init(#{self => peer(I), seed => {I, 1, 1}}), settings => #{}
        }}
     || I <- lists:seq(1, ?NODES)
    ],
    Net = #{
        nodes => maps:from_list(Trees),
        now => 0,
        serial => 0,
        events => gb_sets:new(),
        timers => #{},
        counts => #{},
        loses => fun(_, _, _) -> false end
    },
    lists:foldl(
        fun({I, J}, N) -> event(I, {neighbour_up, peer(J)}, N) end,
        Net,
        [{I, J} || I <- lists:seq(1, ?NODES), J <- neighbours(I)]
    ).

%% The versions are those of docs/reference/runtime.md, whose nodes are numbers here.
set(I, Name, Value, #{nodes := Nodes} = Net) ->
    #{I := #{settings := Settings} = Node} = Nodes,
    {{Count, _}, _} = maps:get(Name, Settings, {{0, none}, none}),
    Version = {Count + 1, I},
    Changed = Net#{nodes := Nodes#{I := Node#{settings := Settings#{Name => {Version, Value}}}}},
    {Id, Payload} = settings:broadcast_data({Name, Version, Value}),
    event(I, {broadcast, {settings, Id}, Payload}, Changed).

exchange(I, J, Net) ->
    #{I := Ours} = by_node(Net),
    {Theirs, Next} = ask(J, {exchange, Ours}, Net),
    {_, Last} = ask(I, {merge, Theirs}, Next),
    Last.

ask(I, Request, #{nodes := Nodes} = Net) ->
    #{I := #{settings := Settings} = Node} = Nodes,
    {reply, Reply, Changed} = settings:handle_call(Request, none, Settings),
    {Reply, Net#{nodes := Nodes#{I := Node#{settings := Changed}}}}.

settings(Net) -> maps:values(by_node(Net)).

by_node(#{nodes := Nodes}) -> maps:map(fun(_, #{settings := Settings}) -> Settings end, Nodes).

count(What, #{counts := Counts}) -> maps:get(What, Counts, 0).

event(I, Event, #{nodes := Nodes} = Net) ->
    #{I := #{tree := Tree} = Node} = Nodes,
    {Next, Effects} = partisan_plumtree:handle(Event, Tree),
    lists:foldl(
        fun(Effect, N) -> effect(Effect, I, N) end,
        Net#{nodes := Nodes#{I := Node#{tree := Next}}},
        Effects
    ).

effect({send, #{name := <<To>>}, Msg}, I, #{loses := Loses} = Net) ->
    Sent = counted(kind(Msg), Net),
    case Loses(I, To, Msg) of
        true -> Sent;
        false -> later(10, {To, {message, peer(I), Msg}}, Sent)
    end;
effect({start_timer, Name, Delay}, I, #{timers := Timers, serial := Serial} = Net) ->
    later(Delay, {I, {timer, Name}}, Net#{timers := Timers#{{I, Name} => Serial + 1}});
effect({handler, settings, Request}, I, Net) ->
    handle(Request, I, counted({asked, element(1, Request)}, Net));
effect({count, _}, _I, Net) -> Net;
effect({heard, _, _}, _I, Net) -> Net.

kind(prune) -> prune;
kind(Msg) -> element(1, Msg).

handle({merge, {Name, Version}, Value}, I, Net) ->
    {_, Merged} = ask(I, {merge, #{Name => {Version, Value}}}, Net),
    Merged;
handle({is_stale, Key, Id}, I, Net) ->
    case ask(I, {is_stale, Key}, Net) of
        {true, Asked} -> event(I, {stale, Id}, Asked);
        {false, Asked} -> event(I, {needed, Id}, Asked)
    end;
handle({graft, Key, To, Id}, I, Net) ->
    case ask(I, {graft, Key}, Net) of
        {{ok, Data}, Asked} -> event(I, {grafted, To, Id, Data}, Asked);
        {stale, Asked} -> Asked
    end.

counted(What, #{counts := Counts} = Net) ->
    Net#{counts := maps:update_with(What, fun(Count) -> Count + 1 end, 1, Counts)}.

later(Delay, What, #{now := Now, serial := Serial, events := Events} = Net) ->
    Net#{serial := Serial + 1, events := gb_sets:add({Now + Delay, Serial + 1, What}, Events)}.

%% Long enough for a change, its repair, and no exchange of hashes.
run(Net) -> run_for(3000, Net).

run_for(Time, #{now := Now} = Net) -> run_until(Now + Time, Net).

run_until(End, #{events := Events, timers := Timers} = Net) ->
    case gb_sets:is_empty(Events) orelse gb_sets:take_smallest(Events) of
        {{At, Serial, {I, Event}}, Later} when At =< End ->
            Next = Net#{now := At, events := Later},
            case Event of
                {timer, Name} when map_get({I, Name}, Timers) =/= Serial -> run_until(End, Next);
                _ -> run_until(End, event(I, Event, Next))
            end;
        _ ->
            Net#{now := End}
    end.

%% Real nodes.

nodes_test_() ->
    Star = #{
        overlay => {client_server, #{servers => [<<"node-1">>]}},
        heartbeat_interval => 500,
        broadcast_exchange_interval => 500,
        mailbox_messages => 10,
        broadcast_handlers => [partisan_test_broken]
    },
    {setup, fun() -> partisan_test_cluster:start(3, Star) end, fun partisan_test_cluster:stop/1,
        fun(Nodes) -> {"three nodes", {timeout, 600, fun() -> handlers(Nodes) end}} end}.

handlers([_, A, B] = Nodes) ->
    ok = await(fun() -> lists:all(fun(N) -> call(N, partisan, joined, []) end, Nodes) end),
    [ok = call(N, partisan_test_page, load, [settings()]) || N <- Nodes],
    [{ok, _} = call(N, settings, start, []) || N <- Nodes],
    [ok = call(N, partisan_broadcast, add_handler, [settings]) || N <- Nodes],
    ?assertEqual([partisan_test_broken, settings], call(A, partisan_broadcast, handlers, [])),
    ok = call(A, settings, set, [colour, blue]),
    ok = await(fun() -> get(colour, B) =:= blue end),
    % A change that was not sent.
    {_, _, _} = call(A, gen_server, call, [settings, {set, shape, round}]),
    ok = await(fun() -> get(shape, B) =:= round end),
    ok = await(fun() -> events(settings, exchanged, A) >= 1 end),
    % Cut off, both by broadcast and by exchange.
    Cut = #{name => <<"cut">>, action => drop, match => #{to => call(B, partisan, node, [])}},
    [Server | _] = Nodes,
    ok = call(Server, partisan_interposition, set, [[Cut]]),
    ok = call(A, settings, set, [colour, red]),
    ok = await(fun() -> get(colour, Server) =:= red end),
    ?assertEqual(blue, get(colour, B)),
    ok = call(Server, partisan_interposition, clear, []),
    ok = await(fun() -> get(colour, B) =:= red end),
    ?assertMatch({error, {too_large, _}}, call(A, ?MODULE, set_too_large, [])),
    ok = fails(A, B),
    % The other handler, and the node, are as before.
    ok = call(A, settings, set, [colour, green]),
    ok = await(fun() -> get(colour, B) =:= green end),
    ok = call(B, partisan_broadcast, remove_handler, [settings]),
    ?assertEqual([partisan_test_broken], call(B, partisan_broadcast, handlers, [])).

%% A handler that fails, one whose process ends, and one that never returns.
fails(From, At) ->
    Send = fun(What) ->
        ok = call(From, partisan_broadcast, send, [What, partisan_test_broken])
    end,
    Manager = call(At, erlang, whereis, [partisan_manager]),
    ok = Send(fail),
    ok = await(fun() -> events(partisan_test_broken, failed, At) >= 1 end),
    ok = Send(kill),
    ok = await(fun() -> events(partisan_test_broken, restarted, At) >= 1 end),
    ok = Send(ok),
    ok = await(fun() -> events(partisan_test_broken, merged, At) >= 1 end),
    [ok = Send({wait, I}) || I <- lists:seq(1, 20)],
    ok = await(fun() -> events(partisan_test_broken, dropped, At) >= 1 end),
    ?assertEqual(Manager, call(At, erlang, whereis, [partisan_manager])),
    ok.

get(Name, Node) -> call(Node, settings, get, [Name]).

events(Handler, Event, Node) -> call(Node, partisan_metrics, value, [?EVENTS, [Handler, Event]]).

set_too_large() ->
    Bytes = partisan_config:get(message_bytes),
    partisan_broadcast:send({large, {9, <<>>}, binary:copy(<<0>>, Bytes)}, settings).
