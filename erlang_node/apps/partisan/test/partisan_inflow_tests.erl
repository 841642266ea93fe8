%%% @doc The window of unchecked frames, as properties; and a socket that never stops while its
%%% receivers keep up.
-module(partisan_inflow_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([watch/0, stopped/0]).

-define(FRAMES, 512).
-define(LARGE, 65536).
-define(MESSAGES, 40).

properties_test_() ->
    [
        {timeout, 600, ?_assert(proper:quickcheck(Property, [{numtests, 500}, {to_file, user}]))}
     || Property <- [prop_bounded(), prop_never_stops()]
    ].

%% Whatever the receivers do, at most the connection's share, or one frame, comes unchecked; and a
%% socket that waits has delivered all of it.
prop_bounded() ->
    ?FORALL({Most, Frames}, {range(0, 200), list({frame_size(), boolean()})}, begin
        {More, Opened} = partisan_inflow:grant(Most, partisan_inflow:new()),
        run(Frames, Most, More, Opened, fun(Left) -> Left =< max(1, min(Most, ?FRAMES)) end)
    end).

run([], _Most, _Left, _Inflow, _Bounded) ->
    true;
run([{Size, Congested} | Frames], Most, Left, Inflow, Bounded) ->
    {Next, Taken} = partisan_inflow:taken(Size, Inflow),
    (Next =:= wait) =:= (Left =:= 1) andalso
        case {Next, Congested} of
            {check, false} -> granted(Frames, Most, Left - 1, Taken, Bounded);
            % It waits until there is no congestion.
            {wait, _} -> granted(Frames, Most, 0, Taken, Bounded);
            _ -> run(Frames, Most, Left - 1, Taken, Bounded)
        end.

granted(Frames, Most, Left, Taken, Bounded) ->
    {More, Inflow} = partisan_inflow:grant(Most, Taken),
    Bounded(Left + More) andalso run(Frames, Most, Left + More, Inflow, Bounded).

the_average_is_of_the_frames_since_the_last_grant_test() ->
    Opened = granted_after([], partisan_inflow:new()),
    Once = granted_after([10], Opened),
    Taken = lists:foldl(fun take/2, Once, [100000, 50000]),
    ?assertEqual(75000, partisan_inflow:average(Taken)).

%% Large frames are read one by one, small ones many at once.
a_buffer_follows_the_frames_test() ->
    {ok, Port} = gen_tcp:listen(0, []),
    [Small, Large] = [partisan_socket:buffer(Port, Bytes) || Bytes <- [1000, 65536]],
    ok = gen_tcp:close(Port),
    ?assertEqual({65536, 2048}, {Small, Large}).

granted_after(Sizes, Inflow) ->
    {_, Granted} = partisan_inflow:grant(?FRAMES, lists:foldl(fun take/2, Inflow, Sizes)),
    Granted.

take(Size, Inflow) ->
    {_, Taken} = partisan_inflow:taken(Size, Inflow),
    Taken.

%% Without congestion the windows of frames of one size, however large, never end.
prop_never_stops() ->
    ?FORALL({Size, Count}, {frame_size(), range(10, 500)}, begin
        {_, Opened} = partisan_inflow:grant(?FRAMES, partisan_inflow:new()),
        never_stops(Count, Size, Opened)
    end).

never_stops(0, _Size, _Inflow) ->
    true;
never_stops(Count, Size, Inflow) ->
    case partisan_inflow:taken(Size, Inflow) of
        {wait, _} ->
            false;
        {go_on, Taken} ->
            never_stops(Count - 1, Size, Taken);
        {check, Taken} ->
            {_, Granted} = partisan_inflow:grant(?FRAMES, Taken),
            never_stops(Count - 1, Size, Granted)
    end.

frame_size() ->
    oneof([range(1, 100), range(1, 10000000)]).

%% On sockets.

never_stopped_test_() ->
    {setup, fun() -> partisan_test_cluster:start(2, #{}) end, fun partisan_test_cluster:stop/1,
        fun(Nodes) -> {timeout, 600, fun() -> never_stopped(Nodes) end} end}.

%% One message at a time, so that the receiver has always kept up: its socket never stops.
never_stopped([A, B]) ->
    ok = await(fun() -> call(A, partisan, neighbours, []) =:= [name(B)] end),
    ok = call(B, partisan_test_sink, start, [sink]),
    Send = fun(Count) ->
        [
            ok = call(A, partisan, forward, [name(B), sink, rand:bytes(?LARGE), #{ack => true}])
         || _ <- lists:seq(1, Count)
        ]
    end,
    % The window grows to the size of these messages.
    _ = Send(10),
    ok = call(B, ?MODULE, watch, []),
    _ = Send(?MESSAGES),
    #{messages := Messages, stops := Stops} = call(B, ?MODULE, stopped, []),
    ?assertEqual(0, Stops),
    % More if an acknowledgement was late.
    ?assert(Messages >= ?MESSAGES).

%% Counts the large messages of this node's connections, and how often the sockets stopped.
watch() ->
    Counter = spawn(fun() ->
        true = register(?MODULE, self()),
        count(#{})
    end),
    Connections = [
        Pid
     || Pid <- processes(),
        {dictionary, Dictionary} <- [process_info(Pid, dictionary)],
        {'$initial_call', {partisan_inbound, init, 1}} <- Dictionary
    ],
    [1 = erlang:trace(Pid, true, ['receive', {tracer, Counter}]) || Pid <- Connections],
    ok.

count(Sockets) ->
    receive
        {trace, _, 'receive', {tcp, Socket, Data}} when byte_size(Data) >= ?LARGE ->
            {Messages, Stops} = maps:get(Socket, Sockets, {0, 0}),
            count(Sockets#{Socket => {Messages + 1, Stops}});
        {trace, _, 'receive', {tcp_passive, Socket}} when is_map_key(Socket, Sockets) ->
            {Messages, Stops} = map_get(Socket, Sockets),
            count(Sockets#{Socket => {Messages, Stops + 1}});
        {stopped, From} ->
            {Messages, Stops} = lists:unzip(maps:values(Sockets)),
            From ! #{messages => lists:sum(Messages), stops => lists:sum(Stops)};
        _ ->
            count(Sockets)
    end.

stopped() ->
    % All trace messages are in the counter's mailbox by then.
    Delivered = erlang:trace_delivered(all),
    receive {trace_delivered, all, Delivered} -> ok end,
    ?MODULE ! {stopped, self()},
    receive #{} = Counted -> Counted end.
