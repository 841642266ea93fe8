%%% @doc Runs the protocol stack of this node on real sockets and clocks.
%%%
%%% {@link partisan_stack} decides; this process hands events to the stack and interprets the
%%% returned effects. It never waits for a peer. State for other processes is published ({@link
%%% partisan_view}) after each event.
%%%
%%% Longer than 300 lines: one process, with the API that calls it and all effects of the stack.
-module(partisan_manager).

-behaviour(gen_server).

-export([start_link/0]).
-export([join/1]).
-export([leave/0]).
-export([dissolve/0]).
-export([disconnect/1]).
-export([reconfigure/1]).
-export([interpose/1]).
-export([broadcast/2]).
%% For broadcast handlers.
-export([spread/2]).
-export([fits/2]).
-export([handled/1]).
-export([subscribe/1]).
-export([open_lane/2]).
-export([route/1]).
-export([seek/1]).
-export([park/1]).
-export([unparked/1]).

-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

%% Milliseconds that a dissolved node keeps its links, to spread the order.
-define(DISSOLVED_MS, 2000).
%% Several times the deletion time of the largest cluster.
-define(DISSOLUTION_S, 1800).

-record(state, {
    stack :: partisan_stack:t(),
    links :: partisan_connections:t(),
    % The published state, and the part of the stack it was made of.
    published = none :: none | {From :: term(), partisan_view:t()},
    timers = #{} :: #{Name :: term() => reference()},
    subscribers = #{} :: #{pid() => reference()},
    % Callers waiting for a route, by member.
    seekers = #{} :: #{partisan_peer:name() => [gen_server:from()]},
    % When the ping the overlay waits for was sent, in microseconds of monotonic time.
    pings = #{} :: #{partisan_peer:name() => integer()},
    % Callers waiting while the queues are flushed.
    leaving = no :: no | {waiting, [gen_server:from()]} | left
}).

%% API.

%% @doc Starts the process that interprets the effects of the stack.
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Joins the overlay through any of these peers. Fails with `{bad_peers, Description}' for
%% anything else.
-spec join([partisan_peer:t()]) -> ok.
join(Peers) ->
    ok = partisan_config:check_peers(Peers),
    gen_server:call(?MODULE, {join, Peers}, infinity).

%% @doc Changes settings at run time ({@link partisan:reconfigure/1}), all or none.
-spec reconfigure(partisan_config:changes()) -> ok | {error, Description :: string()}.
reconfigure(Changes) ->
    gen_server:call(?MODULE, {reconfigure, Changes}, infinity).

%% @doc Leaves the overlay and flushes the queues; nothing can be sent afterwards. Returns when
%% done, or after `leave_timeout'.
-spec leave() -> ok.
leave() ->
    gen_server:call(?MODULE, leave, infinity).

%% @doc Breaks all connections to a neighbour.
-spec disconnect(partisan_peer:name()) -> true.
disconnect(Name) ->
    gen_server:call(?MODULE, {disconnect, Name}, infinity).

%% @doc Switches the injection of faults in all channels.
-spec interpose(boolean()) -> ok.
interpose(Interposed) ->
    gen_server:call(?MODULE, {interpose, Interposed}, infinity).

%% @doc Announces to every node that the cluster is being deleted.
-spec dissolve() -> ok.
dissolve() ->
    gen_server:call(?MODULE, dissolve, infinity).

%% @doc Delivers a message to the process of that name on every node, this one included.
-spec broadcast(Destination :: atom(), Message :: term()) ->
    ok | {error, {too_large, Bytes :: pos_integer()}}.
broadcast(Destination, Message) ->
    Payload = {Destination, Message},
    case carried(partisan_stack:carrier(partisan_config:get(name), Payload)) of
        ok -> gen_server:call(?MODULE, {broadcast, Payload}, infinity);
        {error, _} = Error -> Error
    end.

%% @doc Sends a change of a broadcast handler's data to the handler on every other node.
-spec spread(partisan_plumtree:reference_to(), Data :: term()) ->
    ok | {error, {too_large, Bytes :: pos_integer()}}.
spread(Reference, Data) ->
    case fits(Reference, Data) of
        ok -> gen_server:call(?MODULE, {broadcast, Reference, Data}, infinity);
        {error, _} = Error -> Error
    end.

%% @doc Whether a change of a handler's data may be sent.
-spec fits(partisan_plumtree:reference_to(), Data :: term()) ->
    ok | {error, {too_large, Bytes :: pos_integer()}}.
fits(Reference, Data) ->
    carried(partisan_stack:carrier(partisan_config:get(name), Reference, Data)).

carried(Carrier) ->
    {Bytes, _} = partisan_frame:overlay(Carrier),
    case Bytes > partisan_config:get(message_bytes) of
        true -> {error, {too_large, Bytes}};
        false -> ok
    end.

%% @doc Passes on the answer of a broadcast handler.
-spec handled(partisan_plumtree:answer()) -> ok.
handled(Answer) ->
    gen_server:cast(?MODULE, {handled, Answer}).

%% @doc Notifies a process of neighbours from now on, beginning with the present ones.
-spec subscribe(pid()) -> ok.
subscribe(Pid) when node(Pid) =:= node() ->
    gen_server:call(?MODULE, {subscribe, Pid}, infinity).

%% @doc Opens the lane of that key to a neighbour, for its first message. It may have to wait, in
%% milliseconds, for another lane to end; with `no_wait' the answer is then `busy'.
-spec open_lane(partisan_transport:key(), timeout() | no_wait) ->
    {ok, partisan_lane:t()} | {error, not_connected | moved | busy | timeout}.
open_lane({Node, _, _} = Key, Wait) ->
    % A sender in a loop to an unknown node must not keep the manager busy.
    case {lists:member(Node, partisan_view:neighbours()), Wait} of
        {false, _} -> {error, not_connected};
        {true, no_wait} -> gen_server:call(?MODULE, {open_lane, Key, no_wait}, infinity);
        {true, Timeout} -> open_in_time(Key, Timeout)
    end.

open_in_time(Key, Timeout) ->
    try
        gen_server:call(?MODULE, {open_lane, Key, wait}, Timeout)
    catch
        exit:{timeout, _} -> {error, timeout}
    end.

%% @doc The neighbour that leads to a member, searched for if unknown. That takes a moment, and
%% seconds for a member that does not answer.
-spec route(partisan_peer:name()) -> {ok, Neighbour :: partisan_peer:name()} | {error, no_route}.
route(Name) ->
    case partisan_view:known_route(Name) of
        {ok, Neighbour} -> {ok, Neighbour};
        none -> gen_server:call(?MODULE, {route, Name}, infinity)
    end.

%% @doc Searches for a member without waiting for the answer.
-spec seek(partisan_peer:name()) -> ok.
seek(Name) ->
    gen_server:cast(?MODULE, {seek, Name}).

%% @doc Makes the caller the process that keeps the messages to a member ({@link partisan_parked}).
%% `routed': they need not be kept; `parked': another process does; `left': this node leaves, and
%% searches no more.
-spec park(partisan_peer:name()) -> ok | routed | parked | left.
park(Name) ->
    gen_server:call(?MODULE, {park, Name}, infinity).

%% @doc No more messages to a member are kept.
-spec unparked(partisan_peer:name()) -> ok.
unparked(Name) ->
    gen_server:cast(?MODULE, {unparked, Name}).

%% gen_server.

%% @private
-spec init([]) -> {ok, #state{}}.
init([]) ->
    % Lanes are linked; their exits are events.
    process_flag(trap_exit, true),
    process_flag(message_queue_data, off_heap),
    #{self := Self} = partisan_listener:local(),
    <<A:32, B:32, C:32>> = crypto:strong_rand_bytes(12),
    {Stack, Effects} = partisan_stack:init(#{
        self => Self,
        seed => {A, B, C},
        overlay => partisan_config:get(overlay),
        seeds => partisan_config:get(seeds),
        replicas => partisan_config:get(replicas),
        broadcast => #{exchange_interval => partisan_config:get(broadcast_exchange_interval)},
        beacon_interval => partisan_config:get(heartbeat_interval)
    }),
    State = interpret(Effects, #state{stack = Stack, links = partisan_connections:new()}),
    ok = partisan_listener:accept(),
    {ok, State}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) ->
    {reply, term(), #state{}} | {noreply, #state{}}.
handle_call({open_lane, Key, Wait}, From, #state{links = Links0} = State) ->
    case partisan_connections:open(Key, Wait, From, Links0) of
        {wait, Links} -> {noreply, State#state{links = Links}};
        {Answer, Links} -> {reply, Answer, State#state{links = Links}}
    end;
handle_call({park, _Name}, _From, #state{leaving = Leaving} = State) when Leaving =/= no ->
    {reply, left, State};
handle_call({park, Name}, {Keeper, _}, State) ->
    {reply, parked(Name, Keeper), State};
handle_call({route, _Name}, _From, #state{leaving = Leaving} = State) when Leaving =/= no ->
    {reply, {error, no_route}, State};
handle_call({route, Name}, From, #state{seekers = Seekers} = State) ->
    case partisan_view:known_route(Name) of
        {ok, _} = Known ->
            {reply, Known, State};
        none ->
            Waiting = Seekers#{Name => [From | maps:get(Name, Seekers, [])]},
            {noreply, run([{find_route, Name}], State#state{seekers = Waiting})}
    end;
handle_call({broadcast, Payload}, _From, State) ->
    {reply, ok, run([{broadcast, Payload}], State)};
handle_call({broadcast, Reference, Data}, _From, State) ->
    {reply, ok, run([{broadcast, Reference, Data}], State)};
handle_call({reconfigure, Changes}, _From, State) ->
    case changed(Changes, State) of
        {ok, Changed} -> {reply, ok, Changed};
        {error, _} = Error -> {reply, Error, State}
    end;
handle_call({interpose, Interposed}, _From, State) ->
    {reply, partisan_channel:interpose(Interposed), State};
handle_call({disconnect, Name}, _From, #state{links = Links} = State) ->
    ok = partisan_connections:break(Name, Links),
    {reply, true, State};
handle_call({join, Peers}, _From, State) ->
    {reply, ok, run([{join, Peer} || Peer <- Peers], State)};
handle_call({subscribe, Pid}, _From, #state{subscribers = Subscribers} = State) ->
    _ = [Pid ! {partisan, {neighbour_up, Name}} || Name <- partisan_view:neighbours()],
    case Subscribers of
        #{Pid := _} -> {reply, ok, State};
        #{} -> {reply, ok, State#state{subscribers = Subscribers#{Pid => monitor(process, Pid)}}}
    end;
handle_call(dissolve, _From, State) ->
    {reply, ok, run([{dissolve, erlang:system_time(second)}], State)};
handle_call(leave, From, State) ->
    leave(From, State);
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast({seek, Name}, State) ->
    {noreply, run([{find_route, Name}], State)};
handle_cast({unparked, Name}, State) ->
    ok = partisan_transport:mark_lanes(Name),
    {noreply, State};
handle_cast({handled, Answer}, State) ->
    {noreply, run([{handled, Answer}], State)};
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info({overlay, #{name := _} = Peer, {measure, {Kind, _} = Message}}, State) when
    Kind =:= ping; Kind =:= pong
->
    {noreply, measure(Message, Peer, State)};
handle_info({overlay, #{name := _} = Peer, {dissolve, Since} = Order}, State) ->
    case is_current(Since) of
        true -> {noreply, heard(Order, Peer, State)};
        false -> {noreply, State}
    end;
handle_info({overlay, #{name := _} = Peer, Message}, State) ->
    {noreply, heard(Message, Peer, State)};
handle_info({timeout, Timer, Name}, #state{timers = Timers} = State) ->
    case Timers of
        #{Name := Timer} ->
            {noreply, run([{timer, Name}], State#state{timers = maps:remove(Name, Timers)})};
        #{} ->
            % It was restarted after it had fired.
            {noreply, State}
    end;
handle_info({lane_up, Pid, Peer}, State) ->
    {noreply, with_links(fun(Links) -> partisan_connections:up(Pid, Peer, Links) end, State)};
handle_info({'EXIT', Pid, Reason} = Message, #state{links = Links} = State) ->
    case partisan_connections:is_lane(Pid, Links) of
        true ->
            Exit = fun(L) -> partisan_connections:exited(Pid, Reason, L) end,
            {noreply, left(with_links(Exit, State))};
        false ->
            ok = partisan_stray:message(Message),
            {noreply, State}
    end;
handle_info({link_idle, Name, Pid}, #state{links = Links} = State) ->
    {noreply, State#state{links = partisan_connections:idle(Name, Pid, Links)}};
handle_info({'DOWN', _, process, Pid, _}, #state{subscribers = Subscribers} = State) ->
    {noreply, State#state{subscribers = maps:remove(Pid, Subscribers)}};
handle_info(leave_timeout, #state{leaving = {waiting, Waiting}} = State) ->
    ok = reply(Waiting, ok),
    {noreply, State#state{leaving = left}};
handle_info(leave_timeout, State) ->
    {noreply, State};
handle_info(abandon_links, #state{links = Links} = State) ->
    {noreply, State#state{links = partisan_connections:abandon(Links)}};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% Internals: the stack.

%% An order not carried out by now was a mistake: restarted nodes must not get it again from those
%% that still obey it.
is_current(Since) when is_integer(Since) ->
    abs(erlang:system_time(second) - Since) < ?DISSOLUTION_S;
is_current(_) ->
    false.

%% An invalid message leaves the stack unchanged: it is a value, and a stream damaged on its way
%% must not cost this node its links.
heard(Message, Peer, #state{stack = Stack0} = State) ->
    try partisan_stack:handle({message, Peer, Message}, Stack0) of
        {Stack, Effects} -> interpret(Effects, State#state{stack = Stack})
    catch
        error:Reason:Stacktrace ->
            {ok, Channel} = partisan_channel:find(overlay),
            ok = partisan_channel:dropped(Channel, undecodable),
            ok = partisan_refusals:warn(message, "invalid message from ~ts: ~0tP in ~0tP", [
                maps:get(name, Peer), Reason, 8, hd(Stacktrace), 12
            ]),
            State
    end.

run([], State) ->
    State;
run([Event | Events], #state{stack = Stack0} = State) ->
    {Stack, Effects} = partisan_stack:handle(Event, Stack0),
    run(Events, interpret(Effects, State#state{stack = Stack})).

%% Some effects have immediate answers: those events are handled after the remaining effects.
interpret(Effects, State0) ->
    {Answers, State} = lists:foldl(
        fun(Effect, {Events, S0}) ->
            {New, S} = effect(Effect, S0),
            {Events ++ New, S}
        end,
        {[], State0},
        Effects
    ),
    run(Answers, publish(State)).

effect({connect, Peer}, #state{links = Links0} = S) ->
    {Events, Links} = partisan_connections:connect(Peer, Links0),
    {Events, S#state{links = Links}};
effect({disconnect, Name}, #state{links = Links} = S) ->
    {[], S#state{links = partisan_connections:disconnect(Name, Links)}};
effect({send, Peer, Message}, #state{links = Links0} = S) ->
    {Events, Links} = partisan_connections:send(Peer, Message, Links0),
    {Events, S#state{links = Links}};
effect({measure, #{name := Name} = Peer}, #state{pings = Pings} = S) ->
    Sent = erlang:monotonic_time(microsecond),
    effect({send, Peer, {measure, {ping, Sent}}}, S#state{pings = Pings#{Name => Sent}});
effect({start_timer, Name, Delay}, #state{timers = Timers} = S) ->
    ok = cancel(maps:get(Name, Timers, none)),
    {[], S#state{timers = Timers#{Name => erlang:start_timer(Delay, self(), Name)}}};
effect({neighbour_up, #{name := Name} = Peer}, #state{links = Links} = S0) ->
    S = S0#state{links = partisan_connections:neighbour_up(Peer, Links)},
    % A search for it has no other end if it began before that node was there.
    {[], tell_seekers(Name, {ok, Name}, notify(neighbour_up, Name, S))};
effect({neighbour_down, Name}, #state{links = Links} = S0) ->
    S = S0#state{links = partisan_connections:neighbour_down(Name, Links)},
    {[], notify(neighbour_down, Name, S)};
effect({count, Event}, S) ->
    ok = partisan_view:count(Event),
    {[], S};
effect({route, Name, Neighbour}, S) ->
    ok = partisan_view:add_route(Name, Neighbour),
    {[], tell_seekers(Name, {ok, Neighbour}, S)};
effect({no_route, Name}, S) ->
    ok = partisan_view:remove_route(Name),
    {[], tell_seekers(Name, {error, no_route}, S)};
effect(dissolved, #state{timers = Timers, subscribers = Subscribers} = S) ->
    ok = partisan_view:dissolve(),
    lists:foreach(fun cancel/1, maps:values(Timers)),
    lists:foreach(fun(Pid) -> Pid ! {partisan, dissolved} end, maps:keys(Subscribers)),
    % The queues are flushed first, and the order with them.
    _ = erlang:send_after(?DISSOLVED_MS, self(), abandon_links),
    {[], S#state{timers = #{}, leaving = left}};
effect({deliver, {Destination, Message}}, S) ->
    ok = partisan:deliver(none, Destination, Message, overlay),
    {[], S};
effect({handler, Handler, Request}, S) ->
    {[{handled, Answer} || Answer <- partisan_handlers:request(Handler, Request)], S}.

%% Only the answer to the last ping counts.
measure({ping, Sent}, Peer, State) ->
    interpret([{send, Peer, {measure, {pong, Sent}}}], State);
measure({pong, Sent}, #{name := Name}, #state{pings = Pings0} = State) ->
    case maps:take(Name, Pings0) of
        {Sent, Pings} ->
            Cost = erlang:monotonic_time(microsecond) - Sent,
            run([{cost, Name, Cost}], State#state{pings = Pings});
        _ ->
            State
    end.

tell_seekers(Name, Answer, #state{seekers = Seekers} = State) ->
    case maps:take(Name, Seekers) of
        {Waiting, Others} ->
            ok = reply(Waiting, Answer),
            State#state{seekers = Others};
        error ->
            State
    end.

parked(Name, Keeper) ->
    case partisan_view:known_route(Name) of
        {ok, _} ->
            routed;
        none ->
            case partisan_parked:enter(Name, Keeper) of
                true -> partisan_transport:mark_lanes(Name);
                false -> parked
            end
    end.

cancel(none) ->
    ok;
cancel(Timer) ->
    _ = erlang:cancel_timer(Timer),
    ok.

%% The view is published first, so that a subscriber notified of a neighbour can send to it.
notify(Event, Name, #state{subscribers = Subscribers} = State) ->
    ok = partisan_view:count(Event),
    Published = publish(State),
    lists:foreach(fun(Pid) -> Pid ! {partisan, {Event, Name}} end, maps:keys(Subscribers)),
    Published.

with_links(Change, #state{links = Links0} = State) ->
    {Events, Links} = Change(Links0),
    run(Events, State#state{links = Links}).

%% Most messages belong to other layers and do not change the view. Many others change the state of
%% an overlay but not its members, such as a client's greeting, of which a server gets hundreds per
%% second; the published state is as long as the cluster is large.
publish(#state{stack = Stack, published = Published} = State) ->
    case {partisan_stack:view(Stack), Published} of
        {View, {View, _}} ->
            State;
        {View, _} ->
            Shown = {partisan_stack:info(Stack), partisan_stack:topics(Stack)},
            ok = publish(Shown, Stack, Published),
            State#state{published = {View, Shown}}
    end.

publish(Shown, _Stack, {_, Shown}) -> ok;
publish(Shown, Stack, _) -> partisan_view:publish(partisan_stack:members(Stack), Shown).

%% Internals: other settings.

%% Everything is checked before anything is done. A restarted manager finds it in the configuration.
changed(Changes, #state{stack = Stack} = State) ->
    case partisan_config:changed(Changes) of
        {ok, Config} ->
            case partisan_stack:check(Changes, Stack) of
                ok ->
                    ok = partisan_config:store(Config),
                    {ok, run([{reconfigure, Changes}], renumber(Changes, State))};
                {error, _} = Error ->
                    Error
            end;
        {error, _} = Error ->
            Error
    end.

renumber(Changes, #state{links = Links} = State) ->
    Parallelism = maps:to_list(maps:get(parallelism, Changes, #{})),
    Renumbered = [Channel || {Channel, Lanes} <- Parallelism,
        partisan_channel:set_parallelism(Channel, Lanes)],
    State#state{links = lists:foldl(fun partisan_connections:renumbered/2, Links, Renumbered)}.

%% Internals: leaving.

leave(From, #state{leaving = no} = State0) ->
    #state{links = Links} = State = run([leave], State0),
    _ = erlang:send_after(partisan_config:get(leave_timeout), self(), leave_timeout),
    Closed = partisan_connections:close_all(Links),
    {noreply, left(State#state{links = Closed, leaving = {waiting, [From]}})};
leave(From, #state{leaving = {waiting, Waiting}} = State) ->
    {noreply, State#state{leaving = {waiting, [From | Waiting]}}};
leave(_From, #state{leaving = left} = State) ->
    {reply, ok, State}.

left(#state{leaving = {waiting, Waiting}, links = Links} = State) ->
    case partisan_connections:is_empty(Links) of
        true ->
            ok = reply(Waiting, ok),
            State#state{leaving = left};
        false ->
            State
    end;
left(State) ->
    State.

reply(Waiting, Answer) ->
    lists:foreach(fun(From) -> gen_server:reply(From, Answer) end, Waiting).
