%%% @doc Explores the orders in which messages may be delivered, without faults.
%%%
%%% Two deliveries are dependent if they have the same receiver, so orders are equivalent if every
%%% node receives its messages in the same order. Source-DPOR with sleep sets (Abdulla, Aronis,
%%% Jonsson, Sagonas: "Optimal dynamic partial order reduction", POPL 2014, section 5) runs one of
%%% each set of equivalent orders to its end. It may begin others, which end `blocked'.
%%%
%%% Messages to oneself are handled at once; timers fire when no message is in flight. A message may
%%% overtake any other, also one of its own sender.
%%%
%%% ```
%%% #{executions := 36} = verify_order:run(#{module => two_phase_commit, nodes => 4}).
%%% '''
-module(verify_order).

-export([run/1]).

%% `executions': orders that are not equivalent. `complete', `frontier': as in
%% {@link verify_tally:result()}. `examples': orders that violate the property.
-type result() :: #{
    executions := non_neg_integer(),
    failing := non_neg_integer(),
    blocked := non_neg_integer(),
    complete := boolean(),
    frontier := non_neg_integer(),
    examples := [#{order := [verify_world:key()], violated := binary()}],
    seconds := float(),
    executions_per_s := float(),
    memory_mb := float()
}.

-export_type([result/0]).

%% Sets of events of the present order as bits of an integer: the Nth event is bit N.
-type events() :: non_neg_integer().

-record(event, {
    number :: non_neg_integer(),
    key :: verify_world:key(),
    receiver :: verify_world:name(),
    % The events before which it cannot happen, because one of them sent it.
    causes :: events(),
    % The events that happen before it.
    before :: events()
}).

%% A point of the present order: the world, and what is tried there.
-record(frame, {
    world :: verify_world:t(),
    % Causes of the messages in flight.
    causes :: #{verify_world:key() => events()},
    % Tried, or without a new order if tried here.
    sleep :: [verify_world:key()],
    % To be tried. Includes what is tried at present and before.
    backtrack :: [verify_world:key()]
}).

-record(found, {
    executions = 0 :: non_neg_integer(),
    failing = 0 :: non_neg_integer(),
    blocked = 0 :: non_neg_integer(),
    frontier = 0 :: non_neg_integer(),
    stopped = false :: boolean(),
    examples = [] :: [{[verify_world:key()], iodata()}]
}).

%% Of an order that has no end: time does not pass while messages are in flight.
-define(EVENTS, 10000).

%% @doc Runs the search; of its fields, decisions and scope have no meaning. Raises
%% `{invalid_search, Description}'.
-spec run(verify_search:t()) -> result().
run(Search0) ->
    Search = verify_search:complete(Search0),
    Started = erlang:monotonic_time(microsecond),
    {Found, Memory} = verify_watch:run(fun(Worker) -> explore(Search, Worker) end, Search),
    Seconds = max(1, erlang:monotonic_time(microsecond) - Started) / 1000000,
    #found{executions = Executions, frontier = Frontier, examples = Examples} = Found,
    #{
        executions => Executions,
        failing => Found#found.failing,
        blocked => Found#found.blocked,
        complete => Frontier =:= 0,
        frontier => Frontier,
        examples => [
            #{order => Order, violated => unicode:characters_to_binary(Text)}
         || {Order, Text} <- lists:reverse(Examples)
        ],
        seconds => Seconds,
        executions_per_s => Executions / Seconds,
        memory_mb => Memory / 1000000
    }.

%% Internals.

explore(#{world := Options} = Search0, Worker) ->
    Guard = verify_watch:is_guarded(0, Worker),
    Untraced = maps:merge(#{trace => false, events => ?EVENTS}, Options#{guard => Guard}),
    Search = Search0#{decisions := [], world := Untraced},
    World = settled(verify_search:world(Search)),
    Causes = maps:from_list([{Key, 0} || Key <- verify_world:in_flight(World)]),
    {_Frames, Found} = visit(World, Causes, [], [], [], {Search, Worker}, #found{}),
    Found.

%% Lets time pass only if no message is in flight.
settled(World0) ->
    case verify_world:in_flight(World0) of
        [_ | _] ->
            World0;
        [] ->
            case verify_world:next(World0) of
                {choice, _Point, World} -> World;
                {quiet, World} -> World
            end
    end.

%% Explores what follows the present order: `Events', the last one first, and the points before
%% each of them, `Frames', whose backtrack sets grow.
visit(_World, _Causes, _Sleep, _Events, Frames, _S, #found{stopped = true} = F) ->
    {Frames, F#found{frontier = F#found.frontier + 1}};
visit(World, Causes, Sleep, Events, Frames, S, F) ->
    InFlight = verify_world:in_flight(World),
    case InFlight -- Sleep of
        [] when InFlight =:= [] ->
            {Frames, ended(World, Events, S, F)};
        [] ->
            {Frames, F#found{blocked = F#found.blocked + 1}};
        [First | _] ->
            Frame = #frame{world = World, causes = Causes, sleep = Sleep, backtrack = [First]},
            try_next(Events, [Frame | Frames], S, F)
    end.

%% Tries what is to be tried at the last point and is not asleep.
try_next(Events, [#frame{sleep = Sleep, backtrack = Backtrack} = Frame | Earlier], S, F0) ->
    case Backtrack -- Sleep of
        [] ->
            {Earlier, F0};
        [Key | _] ->
            {[#frame{} = Tried | Rest], F} = try_one(Key, Events, [Frame | Earlier], S, F0),
            try_next(Events, [Tried#frame{sleep = [Key | Sleep]} | Rest], S, F)
    end.

try_one({_, Receiver, _, _} = Key, Events, [Frame | _] = Frames0, {_, Worker} = S, F) ->
    #frame{world = World0, causes = Causes0, sleep = Sleep0} = Frame,
    Event = event(Key, Causes0, Events),
    Frames = race(Event, Events, Frames0),
    Guarded =
        case verify_watch:is_guarded(F#found.executions, Worker) of
            true -> verify_world:guarded(World0);
            false -> World0
        end,
    Delivered = verify_world:arrive(Key, Guarded),
    World = settled(Delivered),
    Causes = causes(Event, Delivered, World, maps:remove(Key, Causes0)),
    Sleep = [Other || {_, To, _, _} = Other <- Sleep0, To =/= Receiver],
    visit(World, Causes, Sleep, [Event | Events], Frames, S, F).

event({_, Receiver, _, _} = Key, AllCauses, Events) ->
    #{Key := Causes} = AllCauses,
    #event{
        number = length(Events),
        key = Key,
        receiver = Receiver,
        causes = Causes,
        before =
            case previous(Receiver, Events) of
                none -> Causes;
                #event{number = Number, before = Before} -> Causes bor Before bor (1 bsl Number)
            end
    }.

previous(Receiver, Events) ->
    case lists:keyfind(Receiver, #event.receiver, Events) of
        false -> none;
        Event -> Event
    end.

%% A message that the event sent has it and all before it as causes. One that a timer sent has all
%% events: timers fire when nothing is in flight.
causes(#event{number = Number, before = Before}, Delivered, World, Causes) ->
    Sent = Before bor (1 bsl Number),
    OfEvent = add(verify_world:in_flight(Delivered), Sent, Causes),
    add(verify_world:in_flight(World), (1 bsl (Number + 1)) - 1, OfEvent).

add(Keys, Events, Causes) ->
    lists:foldl(fun(Key, Map) -> maps:merge(#{Key => Events}, Map) end, Causes, Keys).

%% The event races with the previous one of its receiver, unless that one caused it. At the point
%% before the previous one, something must be tried that leads to the reverse order.
race(#event{receiver = Receiver, causes = Causes} = Event, Events, Frames) ->
    case previous(Receiver, Events) of
        #event{number = Number} = Previous when Causes band (1 bsl Number) =:= 0 ->
            % Frames are in the order of events, the last first; one more is the event's own.
            {Later, [#frame{backtrack = Backtrack} = Frame | Earlier]} =
                lists:split(length(Frames) - Number - 1, Frames),
            Initials = initials(Previous, Event, Events),
            case [Key || Key <- Initials, lists:member(Key, Backtrack)] of
                [_ | _] ->
                    Frames;
                [] ->
                    Later ++ [Frame#frame{backtrack = Backtrack ++ [hd(Initials)]} | Earlier]
            end;
        _ ->
            Frames
    end.

%% The events that may come first in the order without the previous event and what it caused, up to
%% the event itself.
initials(#event{number = Number}, #event{causes = Causes} = Event, Events) ->
    Independent = [
        Other
     || #event{number = N, before = Before} = Other <- lists:reverse(Events),
        N > Number,
        Before band (1 bsl Number) =:= 0
    ],
    Between = lists:sum([1 bsl N || #event{number = N} <- Independent]),
    [Key || #event{key = Key, before = Before} <- Independent, Before band Between =:= 0] ++
        [Event#event.key || Causes band Between =:= 0].

ended(World, Events, {Search, Worker}, F0) ->
    #{examples := Most} = Search,
    #found{failing = Failing, executions = Executions, examples = Examples} = F0,
    F1 = F0#found{executions = Executions + 1},
    F =
        case verify_search:violation(Search, World, verify_watch:is_guarded(Executions, Worker)) of
            ok ->
                F1;
            {violated, Text} when length(Examples) < Most ->
                Order = [Key || #event{key = Key} <- lists:reverse(Events)],
                F1#found{failing = Failing + 1, examples = [{Order, Text} | Examples]};
            {violated, _Text} ->
                F1#found{failing = Failing + 1}
        end,
    Limit = verify_watch:count(F#found.executions, F#found.failing, Worker),
    F#found{stopped = Limit =:= stop}.
