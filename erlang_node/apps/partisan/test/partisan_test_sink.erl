%%% A registered process that keeps its messages until asked for them.
-module(partisan_test_sink).

-export([on/3, start/1, stop/1, take/2, count/1, has/2, pause/1, resume/1, waiting/1, run/2]).

%% Runs a test on nodes that have sinks of these names. At its end, nodes may be dead.
on(Nodes, Names, Test) ->
    Sinks = [{Node, [Name]} || Name <- Names, Node <- Nodes],
    [ok = partisan_test_cluster:call(Node, ?MODULE, start, Args) || {Node, Args} <- Sinks],
    try
        Test(Nodes)
    after
        [
            try partisan_test_cluster:call(Node, ?MODULE, stop, Args) catch _:_ -> ok end
         || {Node, Args} <- Sinks
        ]
    end.

start(Name) ->
    Starter = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        true = register(Name, self()),
        Starter ! {self(), registered},
        loop([], 0, none)
    end),
    receive
        {Pid, registered} -> true = demonitor(Monitor, [flush]), ok;
        {'DOWN', Monitor, process, Pid, Reason} -> {error, Reason}
    end.

stop(Name) ->
    Ref = monitor(process, Name),
    exit(whereis(Name), kill),
    receive {'DOWN', Ref, process, _, _} -> ok end.

%% The oldest Count messages, once there are that many.
take(Name, Count) ->
    ask(Name, {take, Count}).

%% Number of messages.
count(Name) ->
    ask(Name, count).

%% Whether all of these are there.
has(Name, Messages) ->
    ask(Name, {has, Messages}).

%% Makes it call a function, for properties of the calling process.
run(Name, {_Module, _Function, _Arguments} = Call) ->
    ask(Name, {run, Call}).

%% Leaves everything in the message queue.
pause(Name) ->
    Name ! pause,
    ok.

resume(Name) ->
    Name ! resume,
    ok.

waiting(Name) ->
    {message_queue_len, Length} = process_info(whereis(Name), message_queue_len),
    Length.

ask(Name, Question) ->
    Ref = make_ref(),
    Name ! {ask, self(), Ref, Question},
    receive {Ref, Answer} -> Answer
    after 60000 -> error({unanswered, Question, process_info(whereis(Name), message_queue_len)})
    end.

%% Messages, newest first, their number, and the process that waits for how many.
loop(Kept, Count, {Pid, Ref, Wanted}) when Count >= Wanted ->
    {Taken, Rest} = lists:split(Wanted, lists:reverse(Kept)),
    Pid ! {Ref, Taken},
    loop(lists:reverse(Rest), Count - Wanted, none);
loop(Kept, Count, Taker) ->
    receive
        {ask, Pid, Ref, {take, Wanted}} ->
            loop(Kept, Count, {Pid, Ref, Wanted});
        {ask, Pid, Ref, count} ->
            Pid ! {Ref, Count},
            loop(Kept, Count, Taker);
        {ask, Pid, Ref, {has, Messages}} ->
            Pid ! {Ref, Messages -- Kept =:= []},
            loop(Kept, Count, Taker);
        {ask, Pid, Ref, {run, {Module, Function, Arguments}}} ->
            Pid ! {Ref, apply(Module, Function, Arguments)},
            loop(Kept, Count, Taker);
        pause ->
            receive resume -> loop(Kept, Count, Taker) end;
        Message ->
            loop([Message | Kept], Count + 1, Taker)
    end.
