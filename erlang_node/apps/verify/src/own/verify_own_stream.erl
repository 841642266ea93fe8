%%% @doc The acknowledged stream, for {@link verify_own_search}: {@link verify_own_acks}.
%%%
%%% Four nodes send each other messages, most of them to one node whose application is slow and on
%%% one stream with a full window. A crashed node of the first three restarts; the last one does
%%% not.
%%%
%%% == Invariant ==
%%% <ul>
%%% <li>Every message of a sender that lives has one outcome before half a minute of virtual time
%%%     has passed since the last fault: `ok' or an error.</li>
%%% <li>A message whose outcome is `ok' has been delivered, and no message is delivered twice, also
%%%     if its sender or receiver has restarted.</li>
%%% <li>The messages of an incarnation to a node are delivered in the order in which they were sent,
%%%     and none after those of the next incarnation. Of those before a delivered one to the same
%%%     incarnation of the receiver, only messages whose outcome is an error are missing.</li>
%%% <li>What is sent half a minute after the last fault, by each living node to each other, is
%%%     delivered and its outcome is `ok'.</li>
%%% </ul>
-module(verify_own_stream).
-behaviour(verify_own_search).

-export([start/1]).
-export([faults_end/1]).
-export([faults/3]).
-export([crashed/3]).
-export([occur/3]).
-export([verdict/2]).

-define(NODES, [<<"n1">>, <<"n2">>, <<"n3">>, <<"n4">>]).
-define(MORTAL, <<"n4">>).
%% Who sends to whom, how many messages, from when on, one each millisecond.
-define(SENT, [
    {<<"n1">>, <<"n2">>, 4, 10},
    {<<"n3">>, <<"n2">>, 2, 12},
    {<<"n2">>, <<"n4">>, 2, 15},
    {<<"n4">>, <<"n1">>, 2, 15},
    {<<"n1">>, <<"n2">>, 2, 400}
]).
%% Bytes: two messages, but not three.
-define(WINDOW, 400).
%% Milliseconds: until a message is given up; of the last fault; until others notice a crash, and
%% until the node restarts; from the last fault to the verdict, and from there to the last outcome.
-define(TIMEOUT, 8000).
-define(FAULTS_END, 2500).
-define(NOTICED_AFTER, 300).
-define(RESTARTS_AFTER, 700).
-define(SETTLES_WITHIN, 30000).
-define(ANSWERED_WITHIN, 10000).

%% @private
-spec start(verify_own_search:options()) -> {verify_world:t(), verify_own_search:agenda()}.
start(Options) ->
    World = verify_world:new(#{
        module => verify_own_acks,
        nodes => ?NODES,
        options => #{
            window => ?WINDOW,
            mailbox_limit => 1,
            timeout => ?TIMEOUT,
            acks => verify_own_acks:load(maps:get(mutation, Options, none))
        },
        late => maps:get(late, Options, 700),
        crashes => true,
        trace => maps:get(trace, Options, false)
    }),
    Sending = lists:foldl(
        fun({From, To, Count, At}, W0) ->
            lists:foldl(
                fun(I, W) -> send_at(At + I, From, To, {At, I}, W) end, W0, lists:seq(1, Count)
            )
        end,
        World,
        ?SENT
    ),
    {Sending, []}.

%% @private
-spec faults_end(verify_own_search:options()) -> verify_own_search:ms().
faults_end(_Options) ->
    ?FAULTS_END.

%% @private
-spec faults(verify_world:point(), verify_own_search:schedule(), verify_own_search:options()) ->
    [verify_world:decision()].
faults({message, _Key, _Msg}, _Faults, _Options) -> [drop, late, duplicate];
faults({event, _Key}, _Faults, _Options) -> [crash].

%% @private
-spec crashed(verify_world:name(), verify_world:t(), verify_own_search:options()) ->
    verify_own_search:agenda().
crashed(Name, World, _Options) ->
    Now = verify_world:now(World),
    [{Now + ?NOTICED_AFTER, {notice, Name}}] ++
        [{Now + ?RESTARTS_AFTER, {restart, Name}} || Name =/= ?MORTAL].

%% @private
-spec occur(Action :: term(), verify_world:t(), verify_own_search:options()) ->
    {verify_world:t(), verify_own_search:agenda()}.
occur({notice, Name}, World, _Options) ->
    {to_others(Name, {lost, Name}, World), []};
occur({restart, Name}, World0, _Options) ->
    World = verify_world:restart(Name, World0),
    Incarnation = verify_own_acks:incarnation(verify_world:state(Name, World)),
    {to_others(Name, {back, Name, Incarnation}, World), []}.

%% @private
-spec verdict(verify_world:t(), verify_own_search:options()) -> verify_own_search:verdict().
verdict(World0, _Options) ->
    Settled = on(verify_world:now(World0) + ?SETTLES_WITHIN, World0),
    Now = verify_world:now(Settled),
    Living = [Name || Name <- ?NODES, verify_world:is_up(Name, Settled)],
    Sending = lists:foldl(
        fun({From, To}, World) -> send_at(Now, From, To, {last, To}, World) end,
        Settled,
        [{From, To} || From <- Living, To <- Living, From =/= To]
    ),
    World = on(Now + ?ANSWERED_WITHIN, Sending),
    case verify_world:error(World) of
        none -> first(violations(World, Living));
        Error -> {violated, Error}
    end.

%% Internals: the invariant.

violations(World, Living) ->
    Outputs = [{Name, Output} || Name <- ?NODES, Output <- verify_world:delivered(Name, World)],
    Sent = [{Incarnation, Message} || {_, {sent, Incarnation, Message}} <- Outputs],
    Got = [Message || {_, {got, _, Message}} <- Outputs],
    Outcomes = [{Ref, Outcome} || {_, {_, _, _} = Ref, Outcome} <- verify_world:replies(World)],
    Answered = [Ref || {Ref, _} <- Outcomes],
    Failed = [Ref || {Ref, {error, _}} <- Outcomes],
    [
        {unanswered, [M || M <- of_living(Sent, World), not lists:member(M, Answered)]},
        {answered_twice, Answered -- lists:usort(Answered)},
        {acknowledged_not_delivered, [M || {M, ok} <- Outcomes, not lists:member(M, Got)]},
        {delivered_twice, Got -- lists:usort(Got)},
        {out_of_order, [Pair || Pair <- pairs(), not is_in_order(Pair, Sent, Got)]},
        {gap, [M || M <- gaps(Sent, Got), not lists:member(M, Failed)]},
        {not_healed, [
            M
         || {_, {From, To, {last, _}} = M} <- Sent,
            lists:member(From, Living),
            lists:member(To, Living),
            lists:member(M, Failed)
        ]}
    ].

first([]) -> ok;
first([{_, []} | Rest]) -> first(Rest);
first([Violated | _]) -> {violated, Violated}.

of_living(Sent, World) ->
    [
        Message
     || {Incarnation, {From, _, _} = Message} <- Sent,
        verify_world:is_up(From, World),
        verify_own_acks:incarnation(verify_world:state(From, World)) =:= Incarnation
    ].

pairs() ->
    [{From, To} || From <- ?NODES, To <- ?NODES, From =/= To].

%% Nodes send one message after another, so this also orders incarnations.
is_in_order({From, To}, Sent, Got) ->
    InOrder = [M || {_, {F, T, _} = M} <- Sent, F =:= From, T =:= To],
    Arrived = [M || {F, T, _} = M <- Got, F =:= From, T =:= To],
    Arrived =:= [M || M <- InOrder, lists:member(M, Arrived)].

%% The messages that have not been delivered although a later one of the same sender has.
gaps(Sent, Got) ->
    [
        Message
     || {Position, {Incarnation, {From, To, _} = Message}} <- numbered(Sent),
        not lists:member(Message, Got),
        {Later, {I, {F, T, _} = Other}} <- numbered(Sent),
        Later > Position,
        {I, F, T} =:= {Incarnation, From, To},
        lists:member(Other, Got)
    ].

numbered(List) ->
    lists:zip(lists:seq(1, length(List)), List).

%% Internals: the world.

%% The reference of a call is its message: `{From, To, Which}'.
send_at(At, From, To, Which, World) ->
    Message = {From, To, Which},
    verify_world:inject_at(At, From, {call, Message, {send, Message}}, World).

to_others(Name, Request, World) ->
    lists:foldl(
        fun(Other, W) -> verify_world:inject(Other, {call, environment, Request}, W) end,
        World,
        [Other || Other <- ?NODES, Other =/= Name, verify_world:is_up(Other, World)]
    ).

on(At, World0) ->
    {World, none} = verify_world:run_until(At, fun(_, Acc) -> {deliver, Acc} end, none, World0),
    World.
