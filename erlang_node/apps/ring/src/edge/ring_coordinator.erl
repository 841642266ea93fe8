%%% @doc A process for each request: interprets {@link ring_request}, {@link ring_call} or {@link
%%% ring_repair}, and sends the result to the caller.
%%%
%%% A process of its own, so that late answers do not reach the caller, and a request whose caller
%%% ends goes on. A full connection does not keep it from asking other nodes.
-module(ring_coordinator).

-export([call/4]).
-export([start/4]).

-type protocol() :: ring_request | ring_call | ring_repair.

-record(coordinator, {
    ring :: ring_table:ring(),
    protocol :: protocol(),
    partition :: ring_view:partition(),
    number :: pos_integer(),
    request :: term(),
    % Commands that have not left this node.
    unsent = [] :: [{unreachable, Tag :: term(), ring_request:place()}],
    result = none :: none | {done, term()}
}).

%% @doc Runs a request for a partition to its end, with these arguments of its module's `new'.
-spec call(ring_table:ring(), protocol(), ring_view:partition(), [term()]) -> Result :: term().
call(Ring, Protocol, Partition, Arguments) ->
    Caller = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        Caller ! {self(), run(Ring, Protocol, Partition, Arguments)}
    end),
    receive
        {Pid, Result} ->
            true = demonitor(Monitor, [flush]),
            Result;
        {'DOWN', Monitor, process, Pid, Reason} ->
            error(Reason)
    end.

%% @doc Starts a request without waiting for its end.
-spec start(ring_table:ring(), protocol(), ring_view:partition(), [term()]) -> ok.
start(Ring, Protocol, Partition, Arguments) ->
    _ = spawn(fun() -> run(Ring, Protocol, Partition, Arguments) end),
    ok.

%% Internals.

run(Ring, Protocol, Partition, Arguments) ->
    Number = ring_table:begin_request(Ring),
    Coordinator = #coordinator{
        ring = Ring,
        protocol = Protocol,
        partition = Partition,
        number = Number,
        request = none
    },
    try
        loop(effects(apply(Protocol, new, Arguments), Coordinator))
    after
        ok = ring_table:end_request(Ring, Number)
    end.

loop(#coordinator{result = {done, Result}}) ->
    Result;
loop(#coordinator{unsent = [Event | Events]} = C) ->
    loop(step(Event, C#coordinator{unsent = Events}));
loop(C) ->
    % Answers, and nodes that are lost, before timers: what this node has answered to a question of
    % the last moment is known at the deadline.
    receive
        Event when element(1, Event) =/= timer -> loop(step(Event, C))
    after 0 ->
        receive
            {timer, Timer} -> loop(step(timed(Timer, C), C));
            Event -> loop(step(Event, C))
        end
    end.

timed(retry, #coordinator{ring = Ring, partition = Partition}) ->
    % Without a view the ring has stopped here, or starts anew and forgets this request.
    case ring_table:view(Ring, Partition) of
        none -> deadline;
        View -> {retry, View}
    end;
timed(deadline, _C) ->
    deadline.

step(Event, #coordinator{protocol = Protocol, request = Request} = C) ->
    effects(Protocol:handle(Event, Request), C).

effects({Request, Effects}, C) ->
    lists:foldl(fun effect/2, C#coordinator{request = Request}, Effects).

effect({command, Tag, Index, To, Partition, Command}, #coordinator{ring = Ring} = C) ->
    #coordinator{number = Number, unsent = Unsent} = C,
    Payload = {request, Number, Tag, Index, Partition, Command},
    Failed = {unreachable, Tag, Index},
    case ring_table:is_lost(Ring, To) orelse ring_wire:send(Ring, To, Number, Payload, error) of
        ok ->
            C;
        {error, busy} ->
            ok = send_later(Ring, To, Number, Payload, Failed),
            C;
        _LostOrError ->
            C#coordinator{unsent = Unsent ++ [Failed]}
    end;
effect({start_timer, Timer, Milliseconds}, C) ->
    _ = erlang:send_after(Milliseconds, self(), {timer, Timer}),
    C;
effect({dropped, _Tombstones}, C) ->
    C;
effect({done, _} = Done, C) ->
    C#coordinator{result = Done}.

send_later(Ring, To, Number, Payload, Failed) ->
    Self = self(),
    _ = spawn(fun() ->
        case ring_wire:send(Ring, To, Number, Payload, block) of
            ok -> ok;
            {error, _} -> Self ! Failed
        end
    end),
    ok.
