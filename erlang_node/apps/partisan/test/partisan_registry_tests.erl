%%% @doc The registry of names in a network that loses and delays messages, partitions, and loses
%%% nodes: once it is settled, all nodes agree and every name has one process.
-module(partisan_registry_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(NODES, [<<"a">>, <<"b">>, <<"c">>, <<"d">>]).
-define(NAMES, [x, y]).

properties_test_() ->
    [
        {Title, {timeout, 600, ?_assert(proper:quickcheck(Property, Options))}}
     || Options <- [[{numtests, 300}, {to_file, user}]],
        {Title, Property} <- [
            {"with loss of nodes and partitions", settles()}, {"without", grants_once()}
        ]
    ].

%% The home learns of a registration and of its end from other messages than the broadcasts, which
%% may be behind or lost.
freed_test() ->
    #{nodes := Nodes} = W0 = start(),
    {Name, Node, Home} = hd([
        {N, Node, hd(partisan_rendezvous:ranked(N, ?NODES))}
     || N <- lists:seq(1, 10), Node <- [<<"a">>], hd(partisan_rendezvous:ranked(N, ?NODES)) =/= Node
    ]),
    ?assert(is_map_key(Home, Nodes)),
    Asked = step({register, Node, Name, first, new}, W0),
    Answered = step({deliver, 0}, step({deliver, 0}, Asked)),
    #{network := [{Node, Home, _} = Settled | _]} = Answered,
    Freed = step({unregister, Node, Name}, Answered#{network := []}),
    #{network := Messages} = Freed,
    [Last | _] = [M || {_, To, _} = M <- Messages, To =:= Home],
    Known = step({deliver, 0}, step({deliver, 0}, Freed#{network := [Last, Settled]})),
    #{replies := Replies} = drain(step({register, Home, Name, first, new}, Known)),
    ?assertMatch([{{Name, _}, yes}, {{Name, _}, yes}], Replies).

%% A process that ends while its node waits for the names of others gets none.
ended_while_waiting_test() ->
    Changes = [{kill, <<"a">>}, {restart, <<"a">>}, {register, <<"a">>, x, first, new}],
    W = lists:foldl(fun step/2, start(), Changes ++ [{ended, <<"a">>, x}]),
    #{nodes := #{<<"a">> := Registry}, replies := Replies} = settle(W),
    ?assertMatch([{{x, _}, no}], Replies),
    ?assertEqual(#{}, index(Registry)).

%% Whatever has happened, once messages arrive: the nodes agree, a name has one process at most,
%% which is alive and was not taken its name from, and each conflict was resolved once.
settles() ->
    Change = frequency([
        {10, {register, node_(), name_(), method_(), oneof([new, new, new, replace])}},
        {2, {unregister, node_(), name_()}},
        {3, {ended, node_(), name_()}},
        {20, {deliver, nat()}},
        {2, {lose, nat()}},
        {3, {round, node_()}},
        {2, {partition, list(node_())}},
        {2, heal},
        {1, {kill, node_()}},
        {1, {restart, node_()}}
    ]),
    ?FORALL(Changes, list(Change), begin
        World = settle(step(heal, lists:foldl(fun step/2, start(), Changes))),
        #{nodes := Nodes, ended := Ended, resolved := Resolved, holders := Holders} = World,
        Indexes = lists:usort([index(Registry) || Registry <- maps:values(Nodes)]),
        Named = [{Name, [H || {_, H} <- Of]} || {Name, Of} <- maps:to_list(hd(Indexes))],
        ?WHENFAIL(
            io:format("~p~n~p~n~p~n", [Changes, Indexes, Holders]),
            length(Indexes) =:= 1 andalso
                lists:sort(Named) =:= lists:sort([{Name, [H]} || {Name, H} <- Holders]) andalso
                [H || {_, H} <- Holders, lists:member(H, Ended)] =:= [] andalso
                lists:sort(Resolved) =:= lists:usort(Resolved)
        )
    end).

%% While the nodes know of each other, one registration of a name succeeds and none conflicts.
grants_once() ->
    Change = frequency([
        {10, {register, node_(), name_(), method_(), new}},
        {20, {deliver, nat()}},
        {1, {round, node_()}}
    ]),
    ?FORALL(Changes, list(Change), begin
        World = settle(lists:foldl(fun step/2, start(), Changes)),
        #{replies := Replies, resolved := Resolved, nodes := Nodes} = World,
        Asked = length([register || {register, _, _, _, _} <- Changes]),
        Granted = lists:sort([Name || {{Name, _}, yes} <- Replies]),
        Wanted = lists:usort([Name || {register, _, Name, _, _} <- Changes]),
        Known = [lists:sort(maps:keys(index(Registry))) || Registry <- maps:values(Nodes)],
        ?WHENFAIL(
            io:format("~p~n~p~n~p~n", [Changes, Replies, Resolved]),
            length(Replies) =:= Asked andalso Granted =:= Wanted andalso Resolved =:= [] andalso
                lists:usort(Known) =:= [Wanted]
        )
    end).

node_() -> oneof(?NODES).

name_() -> oneof(?NAMES).

method_() -> oneof([first, second, none]).

%% The network: registries by node, messages in any order between nodes, and those apart from the
%% others. `calls': the home asked, by the node that has asked and its tag. `holders': the processes
%% that have got a name and have not lost it since, by the answers and effects alone. `resolved':
%% since the last loss, after which nodes may meet again.

start() ->
    World = #{
        nodes => #{}, incarnations => #{}, network => [], apart => [], calls => #{}, count => 0,
        last => #{}, ended => [], replies => [], holders => [], resolved => []
    },
    settle(lists:foldl(fun(Node, W) -> step({restart, Node}, W) end, World, ?NODES)).

%% Rounds and all messages, until nothing is forgotten and no grant is left.
settle(W) ->
    lists:foldl(
        fun(_, W1) ->
            drain(lists:foldl(fun(Node, W2) -> step({round, Node}, W2) end, lost(W1), ?NODES))
        end,
        drain(W),
        lists:seq(1, 24)
    ).

drain(#{network := []} = W) -> W;
drain(W) -> drain(step({deliver, 0}, W)).

step({restart, Node}, #{nodes := Nodes, incarnations := Incarnations} = W) when
    not is_map_key(Node, Nodes)
->
    Incarnation = maps:get(Node, Incarnations, 0) + 1,
    Registry = partisan_registry:new(Node, Incarnation, 0),
    Started = W#{
        nodes := Nodes#{Node => Registry}, incarnations := Incarnations#{Node => Incarnation}
    },
    effect({broadcast, partisan_replica:announcement(replica(Registry))}, Node, Started);
step({kill, Node}, #{nodes := Nodes, holders := Holders, calls := Calls} = W) when
    map_size(Nodes) > 1
->
    lost(W#{
        nodes := maps:remove(Node, Nodes),
        holders := [H || {_, Holder} = H <- Holders, partisan_ref:peer_name(Holder) =/= Node],
        calls := maps:filter(fun({Caller, _}, _) -> Caller =/= Node end, Calls)
    });
step({partition, Some}, W) ->
    lost(W#{apart := lists:usort(Some)});
step(heal, W) ->
    W#{apart := []};
step({lose, Position}, #{network := [_ | _] = Network} = W) ->
    % Questions and answers about names are acknowledged.
    case lists:split(Position rem length(Network), Network) of
        {Before, [{_, _, {message, _}} | After]} -> W#{network := Before ++ After};
        _ -> W
    end;
step({deliver, Position}, #{network := [_ | _] = Network} = W0) ->
    {Before, [{From, To, Event} | After]} = lists:split(Position rem length(Network), Network),
    W = W0#{network := Before ++ After},
    case reach(From, To, W) of
        true -> received(Event, From, To, W);
        false -> W
    end;
step({Step, Node}, #{nodes := Nodes} = W) when is_map_key(Node, Nodes) ->
    step_of(Step, Node, W);
step(Step, #{nodes := Nodes} = W) when is_map_key(element(2, Step), Nodes) ->
    step_of(Step, element(2, Step), W);
step(_, W) ->
    W.

step_of({register, _, Name, Method, Mode}, Node, #{count := Count, last := Last} = W) ->
    Holder = {partisan_ref, Node, Count, process, <<>>},
    Registered = W#{count := Count + 1, last := Last#{{Node, Name} => Holder}},
    event({register, {Name, Holder}, Name, Holder, Method, Mode}, Node, Registered);
step_of({unregister, _, Name}, Node, #{holders := Holders} = W) ->
    event({unregister, Name}, Node, W#{holders := others(Name, Node, Holders)});
step_of({ended, _, Name}, Node, #{last := Last, ended := Ended, holders := Holders} = W) ->
    case Last of
        #{{Node, Name} := Holder} ->
            Left = Holders -- [{Name, Holder}],
            event({ended, Holder}, Node, W#{ended := [Holder | Ended], holders := Left});
        #{} ->
            W
    end;
step_of(round, Node, #{nodes := Nodes} = W) ->
    #{Node := Registry} = Nodes,
    Question = partisan_replica:question(replica(Registry)),
    Others = [N || N <- maps:keys(Nodes), N =/= Node, reach(Node, N, W)],
    Asked = lists:foldl(fun(N, Acc) -> effect({send, N, Question}, Node, Acc) end, W, Others),
    event({round, Others =:= []}, Node, Asked);
step_of(_, _Node, W) ->
    W.

%% Nodes notice whom they do not reach.
lost(#{nodes := Nodes, calls := Calls0} = W0) ->
    {Failed, Calls} = lists:partition(
        fun({{Node, _}, Home}) -> not reach(Node, Home, W0) end, maps:to_list(Calls0)
    ),
    W = W0#{calls := maps:from_list(Calls), resolved := []},
    Events = [{{answered, Tag, failed}, Node} || {{Node, Tag}, _} <- Failed] ++
        [
            {{lost, Other}, Node}
         || {Node, Registry} <- maps:to_list(Nodes),
            Other <- partisan_names:watched(partisan_registry:names(Registry)),
            not reach(Node, Other, W)
        ],
    lists:foldl(fun({Event, Node}, Acc) -> event(Event, Node, Acc) end, W, Events).

reach(From, To, #{nodes := Nodes, apart := Apart}) ->
    is_map_key(From, Nodes) andalso is_map_key(To, Nodes) andalso
        (From =:= To orelse lists:member(From, Apart) =:= lists:member(To, Apart)).

received({answered, Tag, _} = Event, From, To, #{calls := Calls} = W) ->
    case maps:take({To, Tag}, Calls) of
        {From, Others} -> event(Event, To, W#{calls := Others});
        _ -> W
    end;
received(Event, _From, To, W) ->
    event(Event, To, W).

event(Event, Node, #{nodes := Nodes} = W) ->
    #{Node := Registry} = Nodes,
    {Effects, Changed} = partisan_registry:handle(Event, Registry),
    lists:foldl(
        fun(Effect, Acc) -> effect(Effect, Node, Acc) end,
        W#{nodes := Nodes#{Node := Changed}},
        Effects
    ).

effect({reply, {asked, Tag, From}, Answer}, Node, W) ->
    send(Node, From, {answered, Tag, Answer}, W);
effect({reply, {Name, Holder} = Tag, Answer}, Node, W) ->
    #{replies := Replies, holders := Holders} = W,
    Now =
        case Answer of
            yes -> [{Name, Holder} | others(Name, Node, Holders)];
            no -> Holders
        end,
    W#{replies := [{Tag, Answer} | Replies], holders := Now};
effect({ask, Tag, Home, Name, Holder, Mode}, Node, #{calls := Calls} = W) ->
    case reach(Node, Home, W) of
        true ->
            Asked = W#{calls := Calls#{{Node, Tag} => Home}},
            send(Node, Home, {ask, {asked, Tag, Node}, Node, Name, Holder, Mode}, Asked);
        false ->
            event({answered, Tag, failed}, Node, W)
    end;
effect({send, To, Message}, Node, W) ->
    send(Node, To, {message, Message}, W);
effect({broadcast, Message}, Node, W) ->
    lists:foldl(fun(To, Acc) -> send(Node, To, {message, Message}, Acc) end, W, ?NODES);
effect({resolve, Name, Method, {{_, One}, {_, Other}} = Pair}, Node, #{resolved := Resolved} = W) ->
    Winner = case Method of first -> One; second -> Other; none -> none end,
    send(Node, Node, {resolved, Name, Pair, Winner}, W#{resolved := [{Name, Pair} | Resolved]});
effect({dropped, Name, Holder, _Method, _Why}, _Node, #{holders := Holders} = W) ->
    W#{holders := Holders -- [{Name, Holder}]}.

send(From, To, Event, #{network := Network} = W) ->
    W#{network := Network ++ [{From, To, Event}]}.

%% Without those of a name on a node.
others(Name, Node, Holders) ->
    [H || {N, Holder} = H <- Holders, N =/= Name orelse partisan_ref:peer_name(Holder) =/= Node].

replica(Registry) ->
    partisan_names:replica(partisan_registry:names(Registry)).

index(Registry) ->
    partisan_names:index(partisan_registry:names(Registry)).
