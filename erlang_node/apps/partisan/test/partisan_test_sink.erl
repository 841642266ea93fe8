%%% A registered process that keeps what it gets until somebody asks for it.
-module(partisan_test_sink).

-export([start/1, take/2, take/3, count/1, stop/1]).

start(Name) ->
    Starter = self(),
    Pid = spawn(fun() ->
        true = register(Name, self()),
        Starter ! {self(), registered},
        loop(queue:new(), none)
    end),
    receive {Pid, registered} -> ok end.

stop(Name) ->
    Ref = monitor(process, Name),
    exit(whereis(Name), kill),
    receive {'DOWN', Ref, process, _, _} -> ok end.

%% The oldest Count messages, once there are that many.
take(Name, Count) ->
    take(Name, Count, 20000).

take(Name, Count, Timeout) ->
    Ref = make_ref(),
    Name ! {take, self(), Ref, Count},
    receive {Ref, Messages} -> Messages
    after Timeout -> error({only, count(Name), 'of', Count})
    end.

count(Name) ->
    Ref = make_ref(),
    Name ! {count, self(), Ref},
    receive {Ref, Count} -> Count end.

loop(Queue, {Pid, Ref, Count} = Taker) ->
    case queue:len(Queue) >= Count of
        true ->
            {Taken, Rest} = queue:split(Count, Queue),
            Pid ! {Ref, queue:to_list(Taken)},
            loop(Rest, none);
        false ->
            next(Queue, Taker)
    end;
loop(Queue, none) ->
    next(Queue, none).

next(Queue, Taker) ->
    receive
        {take, Pid, Ref, Count} -> loop(Queue, {Pid, Ref, Count});
        {count, Pid, Ref} -> Pid ! {Ref, queue:len(Queue)}, loop(Queue, Taker);
        Message -> loop(queue:in(Message, Queue), Taker)
    end.
