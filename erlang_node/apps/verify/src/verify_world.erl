%%% @doc Processes ({@link partisan_process}) in virtual time, as a value.
%%%
%%% A world advances by itself through everything that needs no decision, and stops at each message
%%% between two nodes: it may be delivered, dropped, delivered late, delivered twice or corrupted.
%%% Keep the value, and several decisions can be tried; that is all an explorer needs. Nothing here
%%% reads a clock or draws a random number, so equal decisions give equal worlds.
%%%
%%% ```
%%% World0 = verify_world:new(#{module => two_phase_commit, nodes => [<<"n1">>, <<"n2">>]}),
%%% World1 = verify_world:inject(<<"n1">>, {call, ref, {broadcast, hello}}, World0),
%%% {choice, {message, Key, Msg}, World2} = verify_world:next(World1),
%%% {quiet, World3} = verify_world:next(verify_world:choose(drop, World2)).
%%% '''
%%%
%%% == Order ==
%%% Events happen in the order of their time; at the same time in the order in which they were
%%% scheduled. A message to oneself is the next event of its node and no decision. A decision is
%%% asked for when the message would arrive. A message to a node that is down is lost without one.
%%%
%%% Longer than 300 lines: half of it are types and accessors of one opaque value.
-module(verify_world).

-compile({no_auto_import, [error/1, nodes/1]}).

-export([new/1]).
-export([inject/3]).
-export([inject_at/4]).
-export([next/1]).
-export([next_until/2]).
-export([next_at/1]).
-export([choose/2]).
-export([in_flight/1]).
-export([arrive/2]).
-export([run/3]).
-export([run_until/4]).
-export([crash/2]).
-export([forget/2]).
-export([restart/2]).
-export([guarded/1]).
-export([set_rules/2]).
-export([nodes/1]).
-export([is_up/2]).
-export([state/2]).
-export([states/1]).
-export([delivered/2]).
-export([replies/1]).
-export([outcome/1]).
-export([trace/1]).
-export([digest/1]).
-export([now/1]).
-export([error/1]).
-export([effects/1]).
-export([situation/1]).

-type name() :: partisan_process:name().
-type ms() :: non_neg_integer().

%% Occurrence counts the messages of this type from the one node to the other, from 1.
-type key() :: {From :: name(), To :: name(), Type :: atom(), Occurrence :: pos_integer()}.
%% Before the Nth event that the node would handle; messages to itself do not count.
-type crash_key() :: {crash, name(), N :: pos_integer()}.
-type point() :: {message, key(), Msg :: term()} | {event, crash_key()}.
%% `How' is a function of the message, or one of {@link partisan_fault_corruption}.
-type decision() :: deliver | drop | late | duplicate | {corrupt, How :: term()} | crash.

%% `options': further options for `init/1', of all nodes or by name; also `members', if a node does
%% not begin with all of them.
%% `latency' (1), `late' (3000, what the decision `late' adds): milliseconds.
%% `horizon' (infinity): later events do not happen.
%% `restart' (never): milliseconds after which a crashed node starts again.
%% `crashes' (false): whether the world also stops before each event that a crash may precede.
%% `trace' (true): whether the trace is kept.
%% `guard' (false): whether each callback runs in a process that is stopped if it needs more
%% reductions than `reductions' (4,000,000).
%% `events' (1,000,000): a world with more events than that loops.
-type setup() :: #{
    module := module(),
    nodes := [name()],
    options => map() | fun((name()) -> map()),
    latency => pos_integer(),
    late => pos_integer(),
    seed => integer(),
    horizon => ms() | infinity,
    restart => ms() | never,
    crashes => boolean(),
    trace => boolean(),
    guard => boolean(),
    reductions => pos_integer(),
    events => pos_integer()
}.

-type failure() ::
    {crashed, name(), partisan_process:event() | init, Class :: atom(), Reason :: term(), [term()]}
    | {looping, name(), partisan_process:event() | init | events}.

%% What has happened, with its time. A message has the time at which it was sent and its fate: the
%% decision; `arrive' when it was late or a second copy; `lost' because the receiver was down.
-type entry() ::
    {ms(), {message, key(), Msg :: term(), Sent :: ms(), decision() | arrive | lost}}
    | {ms(), {event, name(), partisan_process:event()}}
    | {ms(), {deliver, name(), term()}}
    | {ms(), {reply, name(), Ref :: term(), Answer :: term()}}
    | {ms(), crash_key()}
    | {ms(), {restart, name()}}
    | {ms(), {failed, failure()}}.

-export_type([
    setup/0, name/0, key/0, crash_key/0, point/0, decision/0, failure/0, entry/0, t/0
]).

-define(DEFAULTS, #{
    options => #{},
    latency => 1,
    late => 3000,
    seed => 1,
    horizon => infinity,
    restart => never,
    crashes => false,
    trace => true,
    guard => false,
    reductions => 4000000,
    events => 1000000
}).

%% What is scheduled. `message' is undecided, `arrival' decided.
-type item() ::
    {message, key(), Msg :: term(), Sent :: ms()}
    | {arrival, key(), Msg :: term(), Sent :: ms()}
    | {timer, name(), Timer :: term(), Number :: non_neg_integer()}
    | {event, name(), partisan_process:event()}
    | {restart, name()}.

%% What happens now, as the trace has it.
-type happening() ::
    {message, key(), Msg :: term(), Sent :: ms(), decision() | arrive | lost}
    | {event, name(), partisan_process:event()}.

-record(world, {
    latency :: pos_integer(),
    crashes :: boolean(),
    setup :: map(),
    now = 0 :: ms(),
    % The number of the next scheduled event.
    number = 0 :: non_neg_integer(),
    queue = verify_queue:new() :: verify_queue:t(),
    nodes = #{} :: #{name() => verify_node:t()},
    % What waits for a decision.
    pending = none :: none | item() | {handle, name(), partisan_process:event(), happening()},
    % Newest first, both.
    replies = [] :: [{name(), Ref :: term(), Answer :: term()}],
    trace = [] :: [entry()] | off,
    rules = none :: verify_rules:t(),
    error = none :: none | failure()
}).

-opaque t() :: #world{}.

%% @doc A world whose nodes have been initialised. An incomplete setup is a `function_clause'.
-spec new(setup()) -> t().
new(#{module := Module, nodes := [_ | _] = Given} = Setup0) ->
    Names = lists:usort(Given),
    Setup = maps:merge(?DEFAULTS, Setup0#{nodes := Names}),
    #{latency := Latency, crashes := Crashes, trace := Traced} = Setup,
    Trace =
        case Traced of
            true -> [];
            false -> off
        end,
    Mode = mode(Setup),
    World = #world{
        latency = Latency,
        crashes = Crashes,
        setup = Setup,
        nodes = maps:from_list([{Name, verify_node:new(Name, Module, Mode)} || Name <- Names]),
        trace = Trace
    },
    lists:foldl(fun start/2, World, Names).

%% @doc Schedules an event of a node for now.
-spec inject(name(), partisan_process:event(), t()) -> t().
inject(Name, Event, #world{now = Now} = W) ->
    inject_at(Now, Name, Event, W).

%% @doc Schedules an event of a node, not in the past.
-spec inject_at(ms(), name(), partisan_process:event(), t()) -> t().
inject_at(At, Name, Event, #world{now = Now, nodes = Nodes} = W) when
    At >= Now, is_map_key(Name, Nodes)
->
    schedule(At, {event, Name, Event}, W).

%% @doc Advances to the next point that needs a decision, or to the end. A failed world is at its
%% end.
-spec next(t()) -> {choice, point(), t()} | {quiet, t()}.
next(#world{setup = #{horizon := Horizon}} = W) ->
    next_until(Horizon, W).

%% @doc As {@link next/1}, but events later than this time stay scheduled.
-spec next_until(ms() | infinity, t()) -> {choice, point(), t()} | {quiet, t()}.
next_until(_Until, #world{pending = {message, Key, Msg, _Sent}} = W) ->
    {choice, {message, Key, Msg}, W};
next_until(_Until, #world{pending = {handle, Name, _Event, _Happening}} = W) ->
    {choice, {event, crash_key(Name, W)}, W};
next_until(_Until, #world{error = Error} = W) when Error =/= none ->
    {quiet, W};
next_until(Until, #world{queue = Queue} = W) ->
    case verify_queue:take(Queue) of
        % Numbers are less than atoms, so no time is later than infinity.
        {Time, _Number, {message, {_, To, _, _} = Key, Msg, _} = Item, Rest} when Time =< Until ->
            Arriving = W#world{queue = Rest, now = Time, pending = Item},
            case is_up(To, W) of
                true -> {choice, {message, Key, Msg}, Arriving};
                false -> next_until(Until, missed(Item, Arriving#world{pending = none}))
            end;
        {Time, _Number, Item, Rest} when Time =< Until ->
            next_until(Until, happen(Item, W#world{queue = Rest, now = Time}));
        _ ->
            {quiet, W}
    end.

%% @doc The time of the next scheduled event; `infinity' if there is none.
-spec next_at(t()) -> ms() | infinity.
next_at(#world{queue = Queue}) ->
    case verify_queue:time(Queue) of
        empty -> infinity;
        Time -> Time
    end.

%% @doc Decides at the point that {@link next/1} returned. A decision that the point does not offer
%% is a `function_clause'.
-spec choose(decision(), t()) -> t().
choose(Decision, #world{pending = {message, Key, Msg, Sent}} = W) ->
    decide(Decision, Key, Msg, Sent, W);
choose(deliver, #world{pending = {handle, Name, Event, Happening}} = W) ->
    handle(Name, Event, Happening, W);
choose(crash, #world{pending = {handle, Name, _Event, Happening}} = W) ->
    crash(Name, missed(Happening, W#world{pending = none})).

%% @doc Messages that have not arrived, in the order of their arrival; none in a failed world.
-spec in_flight(t()) -> [key()].
in_flight(#world{error = Error}) when Error =/= none ->
    [];
in_flight(#world{pending = Pending, queue = Queue}) ->
    Waiting = [Key || {message, Key, _Msg, _Sent} <- [Pending]],
    Waiting ++ [Key || {_At, _Number, {message, Key, _, _}} <- verify_queue:to_list(Queue)].

%% @doc Delivers a message in flight now, before those that would arrive earlier.
-spec arrive(key(), t()) -> t().
arrive(Key, #world{pending = {message, Key, _Msg, _Sent}} = W) ->
    choose(deliver, W);
arrive(Key, #world{pending = {message, _, _, _} = Other, now = Now} = W) ->
    arrive(Key, schedule(Now, Other, W#world{pending = none}));
arrive(Key, #world{pending = none, queue = Queue} = W) ->
    Is = fun(Item) -> element(1, Item) =:= message andalso element(2, Item) =:= Key end,
    {Item, Rest} = verify_queue:take_first(Is, Queue),
    choose(deliver, W#world{queue = Rest, pending = Item}).

%% @doc Runs to the end. The function decides at each point.
-spec run(fun((point(), Acc) -> {decision(), Acc}), Acc, t()) -> {t(), Acc}.
run(Decide, Acc, #world{setup = #{horizon := Horizon}} = W) ->
    run_to(Horizon, Decide, Acc, W).

%% @doc Runs until this time, which is then the world's time.
-spec run_until(ms(), fun((point(), Acc) -> {decision(), Acc}), Acc, t()) -> {t(), Acc}.
run_until(Until, Decide, Acc0, #world{} = W0) ->
    {#world{now = Now} = W, Acc} = run_to(Until, Decide, Acc0, W0),
    {W#world{now = max(Now, Until)}, Acc}.

run_to(Until, Decide, Acc0, W0) ->
    case next_until(Until, W0) of
        {choice, Point, W} ->
            {Decision, Acc} = Decide(Point, Acc0),
            run_to(Until, Decide, Acc, choose(Decision, W));
        {quiet, W} ->
            {W, Acc0}
    end.

%% @doc Stops a node: it keeps only what it has persisted, and messages to it are lost. Its own
%% messages are under way.
-spec crash(name(), t()) -> t().
crash(Name, #world{nodes = Nodes, now = Now, setup = #{restart := Restart}} = W) ->
    #{Name := Node} = Nodes,
    Down = W#world{nodes = Nodes#{Name := verify_node:crash(Node)}},
    Noted = note({crash, Name, verify_node:handled(Node) + 1}, Down),
    case Restart of
        never -> Noted;
        Delay -> schedule(Now + Delay, {restart, Name}, Noted)
    end.

%% @doc Removes what a node that is down has persisted, as the loss of its disk does.
-spec forget(name(), t()) -> t().
forget(Name, #world{nodes = Nodes} = W) ->
    #{Name := Node} = Nodes,
    W#world{nodes = Nodes#{Name := verify_node:forget(Node)}}.

%% @doc Starts a node that has crashed, as its next incarnation; no-op if it runs.
-spec restart(name(), t()) -> t().
restart(Name, #world{} = W) ->
    case is_up(Name, W) of
        true -> W;
        false -> start(Name, note({restart, Name}, W))
    end.

%% @doc Replaces the rules of faults, which decide about messages when they are sent. A message that
%% is not dropped is still a point when it arrives. Raises `{invalid_rules, Description}'.
-spec set_rules([partisan_fault:rule()], t()) -> t().
set_rules(Rules, #world{} = W) ->
    W#world{rules = verify_rules:new(Rules)}.

%% @doc The same world, with each callback from now on in a process of its own.
-spec guarded(t()) -> t().
guarded(#world{setup = Setup0, nodes = Nodes} = W) ->
    Setup = Setup0#{guard := true},
    Mode = mode(Setup),
    Guarded = maps:map(fun(_Name, Node) -> verify_node:mode(Mode, Node) end, Nodes),
    W#world{setup = Setup, nodes = Guarded}.

%% @doc The names of all nodes, sorted.
-spec nodes(t()) -> [name()].
nodes(#world{setup = #{nodes := Names}}) ->
    Names.

%% @doc Whether a node runs.
-spec is_up(name(), t()) -> boolean().
is_up(Name, #world{nodes = Nodes}) ->
    verify_node:is_up(map_get(Name, Nodes)).

%% @doc The state of a node; `undefined' if it is down.
-spec state(name(), t()) -> term().
state(Name, #world{nodes = Nodes}) ->
    verify_node:state(map_get(Name, Nodes)).

%% @doc The states of all nodes.
-spec states(t()) -> #{name() => term()}.
states(#world{nodes = Nodes}) ->
    maps:map(fun(_Name, Node) -> verify_node:state(Node) end, Nodes).

%% @doc Outputs of a node to its application, in order, of all its incarnations.
-spec delivered(name(), t()) -> [term()].
delivered(Name, #world{nodes = Nodes}) ->
    verify_node:delivered(map_get(Name, Nodes)).

%% @doc Answers to calls, in order.
-spec replies(t()) -> [{name(), Ref :: term(), Answer :: term()}].
replies(#world{replies = Replies}) ->
    lists:reverse(Replies).

%% @doc The outcome so far, for a process's `verdict/1'.
-spec outcome(t()) -> partisan_process:outcome().
outcome(#world{nodes = Nodes} = W) ->
    #{
        members => nodes(W),
        up => [Name || Name <- nodes(W), is_up(Name, W)],
        replies => replies(W),
        delivered => maps:map(fun(_Name, Node) -> verify_node:delivered(Node) end, Nodes),
        states => states(W)
    }.

%% @doc All that has happened, in order; empty if no trace is kept.
-spec trace(t()) -> [entry()].
trace(#world{trace = off}) -> [];
trace(#world{trace = Trace}) -> lists:reverse(Trace).

%% @doc A hash of the trace, equal on every release of OTP: of what each node has seen and done, in
%% its order, whatever the order between nodes.
-spec digest(t()) -> binary().
digest(#world{} = W) ->
    Trace = trace(W),
    Of = fun(Name) -> [Entry || {_At, What} = Entry <- Trace, node_of(What) =:= Name] end,
    verify_digest:term([{Name, verify_digest:term(Of(Name))} || Name <- nodes(W)]).

%% @doc The time in milliseconds.
-spec now(t()) -> ms().
now(#world{now = Now}) ->
    Now.

%% @doc The callback that crashed or looped.
-spec error(t()) -> none | failure().
error(#world{error = Error}) ->
    Error.

%% @doc The number of effects so far that others may notice: messages, timers, replies, deliveries.
-spec effects(t()) -> non_neg_integer().
effects(#world{number = Number, replies = Replies} = W) ->
    Delivered = [length(delivered(Name, W)) || Name <- nodes(W)],
    Number + length(Replies) + lists:sum(Delivered).

%% @doc All that the future depends on, relative to the present time unless the process reads it or
%% the horizon ends it, and all that a property may ask except trace and time: worlds in equal
%% situations have equal futures.
-spec situation(t()) -> term().
situation(#world{nodes = Nodes, queue = Queue, now = Now, pending = Pending} = W) ->
    #world{replies = Replies, error = Error, rules = Rules, setup = #{horizon := Horizon}} = W,
    Scheduled = [
        {Time - Now, unkeyed(Item)}
     || {Time, _Number, Item} <- verify_queue:to_list(Queue), is_alive(Item, Nodes)
    ],
    Here = [map_get(Name, Nodes) || Name <- nodes(W)],
    IsTimed =
        Horizon =/= infinity orelse Rules =/= none orelse
            lists:any(fun verify_node:is_clocked/1, Here),
    Time = [Now || IsTimed],
    Situations = lists:map(fun verify_node:situation/1, Here),
    {Situations, Scheduled, unkeyed(Pending), Replies, Rules, Error, Time}.

%% Internals.

mode(#{guard := true, reductions := Reductions}) -> {guarded, Reductions};
mode(#{guard := false}) -> direct.

start(Name, #world{nodes = Nodes, setup = Setup, now = Now} = W) ->
    #{nodes := Members, options := Options, seed := Seed} = Setup,
    #{Name := Node} = Nodes,
    Own =
        if
            is_function(Options) -> Options(Name);
            true -> Options
        end,
    Incarnation = verify_node:incarnation(Node) + 1,
    Given = Own#{
        self => Name,
        members => maps:get(members, Own, Members),
        seed => {Seed, erlang:phash2(Name), Incarnation},
        incarnation => Incarnation,
        now => Now
    },
    handled(Name, verify_node:start(Given, Node), W).

happen({arrival, {From, To, _, _} = Key, Msg, Sent}, W) ->
    Happening = {message, Key, Msg, Sent, arrive},
    case is_up(To, W) of
        true -> offer(To, {message, From, Msg}, Happening, W);
        false -> missed(Happening, W)
    end;
happen({timer, Name, Timer, Number}, #world{nodes = Nodes} = W) ->
    #{Name := Node} = Nodes,
    case verify_node:timer(Timer, Number, Node) of
        {fired, Fired} ->
            Event = {timer, Timer},
            offer(Name, Event, {event, Name, Event}, W#world{nodes = Nodes#{Name := Fired}});
        stopped ->
            without_timers(W)
    end;
happen({event, Name, Event} = Happening, W) ->
    case is_up(Name, W) of
        true -> offer(Name, Event, Happening, W);
        false -> W
    end;
happen({restart, Name}, W) ->
    restart(Name, W).

%% A queue with the timers of a finished protocol only is at its end.
without_timers(#world{nodes = Nodes, queue = Queue} = W) ->
    case lists:any(fun verify_node:has_timers/1, maps:values(Nodes)) of
        true -> W;
        false -> W#world{queue = verify_queue:filter(fun(I) -> element(1, I) =/= timer end, Queue)}
    end.

decide(deliver, {From, To, _, _} = Key, Msg, Sent, W) ->
    offer(To, {message, From, Msg}, {message, Key, Msg, Sent, deliver}, W);
decide(drop, Key, Msg, Sent, W) ->
    note({message, Key, Msg, Sent, drop}, W#world{pending = none});
decide(late, Key, Msg, Sent, #world{now = Now, setup = #{late := Late}} = W) ->
    Noted = note({message, Key, Msg, Sent, late}, W#world{pending = none}),
    schedule(Now + Late, {arrival, Key, Msg, Sent}, Noted);
decide(duplicate, {From, To, _, _} = Key, Msg, Sent, #world{now = Now, latency = Latency} = W) ->
    Copied = schedule(Now + Latency, {arrival, Key, Msg, Sent}, W),
    offer(To, {message, From, Msg}, {message, Key, Msg, Sent, duplicate}, Copied);
decide({corrupt, How} = Decision, {From, To, _, _} = Key, Msg, Sent, W) ->
    Happening = {message, Key, Msg, Sent, Decision},
    offer(To, {message, From, corrupted(How, Msg)}, Happening, W).

corrupted(How, Msg) when is_function(How) -> How(Msg);
corrupted(How, Msg) -> partisan_fault_corruption:corrupt(How, Msg).

offer(Name, Event, Happening, #world{rules = none} = W) ->
    allow(Name, Event, Happening, W);
offer(Name, Event, Happening, #world{rules = Rules, now = Now} = W) ->
    case verify_rules:step(Name, Now, Rules) of
        {crash, Counted} ->
            crash(Name, missed(Happening, W#world{rules = Counted, pending = none}));
        {pass, Counted} ->
            allow(Name, Event, Happening, W#world{rules = Counted})
    end.

%% Stops before an event if a crash may precede it.
allow(Name, Event, Happening, #world{crashes = false} = W) ->
    handle(Name, Event, Happening, W);
allow(Name, Event, Happening, W) ->
    W#world{pending = {handle, Name, Event, Happening}}.

handle(Name, Event, Happening, #world{nodes = Nodes, now = Now} = W) ->
    #{Name := Node} = Nodes,
    handled(Name, verify_node:handle(Event, Now, Node), note(Happening, W)).

handled(Name, {ok, Outputs, Node}, #world{nodes = Nodes} = W) ->
    outputs(Outputs, Name, W#world{nodes = Nodes#{Name := Node}, pending = none});
handled(_Name, {failed, Failure}, W) ->
    failed(Failure, W).

failed(Failure, W) ->
    note({failed, Failure}, W#world{error = Failure, pending = none}).

outputs([], _Name, #world{number = Number, setup = #{events := Most}} = W) when Number =< Most ->
    W;
outputs([], Name, W) ->
    failed({looping, Name, events}, W);
outputs([{send, {_, To, _, _} = Key, Msg} | Rest], Name, #world{now = Now, nodes = Nodes} = W) when
    is_map_key(To, Nodes)
->
    case W of
        #world{rules = none} ->
            outputs(Rest, Name, send(Key, Msg, W));
        #world{rules = Rules} ->
            {Decision, Counted} = verify_rules:message(Key, Msg, Now, Rules),
            outputs(Rest, Name, ruled(Decision, Key, Msg, W#world{rules = Counted}))
    end;
outputs([{send, Key, Msg} | Rest], Name, #world{now = Now} = W) ->
    outputs(Rest, Name, missed({message, Key, Msg, Now}, W));
outputs([{timer, Timer, Number, Ms} | Rest], Name, #world{now = Now} = W) ->
    outputs(Rest, Name, schedule(Now + Ms, {timer, Name, Timer, Number}, W));
outputs([{reply, Ref, Answer} | Rest], Name, #world{replies = Replies} = W) ->
    Noted = note({reply, Name, Ref, Answer}, W),
    outputs(Rest, Name, Noted#world{replies = [{Name, Ref, Answer} | Replies]});
outputs([{deliver, Term} | Rest], Name, W) ->
    outputs(Rest, Name, note({deliver, Name, Term}, W)).

%% A message for which a rule decides.
ruled(pass, Key, Msg, W) ->
    send(Key, Msg, W);
ruled(drop, Key, Msg, #world{now = Now} = W) ->
    note({message, Key, Msg, Now, drop}, W);
ruled({delay, Ms}, Key, Msg, #world{now = Now, latency = Latency} = W) ->
    schedule(Now + Latency + Ms, {message, Key, Msg, Now}, W);
ruled({replace, Other}, Key, _Msg, W) ->
    send(Key, Other, W);
ruled(duplicate, Key, Msg, #world{now = Now, latency = Latency} = W) ->
    schedule(Now + Latency, {arrival, Key, Msg, Now}, send(Key, Msg, W)).

send(Key, Msg, #world{now = Now, latency = Latency, queue = Queue, number = Number} = W) ->
    Item = {message, Key, Msg, Now},
    W#world{
        queue = verify_queue:append(Now + Latency, Number, Item, Queue), number = Number + 1
    }.

schedule(At, Item, #world{queue = Queue, number = Number} = W) ->
    W#world{queue = verify_queue:insert(At, Number, Item, Queue), number = Number + 1}.

%% A message to a node that is down or unknown.
missed({event, _Name, _Event}, W) -> W;
missed({message, Key, Msg, Sent}, W) -> note({message, Key, Msg, Sent, lost}, W);
missed({message, Key, Msg, Sent, _Fate}, W) -> note({message, Key, Msg, Sent, lost}, W).

note(_What, #world{trace = off} = W) -> W;
note(What, #world{trace = Trace, now = Now} = W) -> W#world{trace = [{Now, What} | Trace]}.

node_of({message, {_From, To, _, _}, _Msg, _Sent, _Fate}) -> To;
node_of({failed, Failure}) -> element(2, Failure);
node_of(What) -> element(2, What).

crash_key(Name, #world{nodes = Nodes}) ->
    {crash, Name, verify_node:handled(map_get(Name, Nodes)) + 1}.

is_alive({timer, Name, Timer, Number}, Nodes) ->
    verify_node:timer(Timer, Number, map_get(Name, Nodes)) =/= stopped;
is_alive(_Item, _Nodes) ->
    true.

%% Without times, and without occurrences and numbers, by which nothing decides.
unkeyed({message, {From, To, _, _}, Msg, _Sent}) -> {message, From, To, Msg};
unkeyed({arrival, {From, To, _, _}, Msg, _Sent}) -> {arrival, From, To, Msg};
unkeyed({timer, Name, Timer, _Number}) -> {timer, Name, Timer};
unkeyed({handle, Name, Event, _Happening}) -> {handle, Name, Event};
unkeyed(Other) -> Other.
