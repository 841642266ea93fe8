%%% @doc The process of one seat: interprets {@link ring_seat}, and removes the seat when it is of
%%% no use any more.
%%%
%%% A command with which the service fails is logged (`command_failed') and has no effect and no
%%% answer: the data of the index stay, and for the caller the outcome is unknown.
-module(ring_seat_server).
-behaviour(gen_server).

-include_lib("kernel/include/logger.hrl").

-export([start_link/3]).
-export([state/1]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).
-export([terminate/2]).

-record(server, {
    ring :: ring_table:ring(),
    options :: ring_table:options(),
    view :: ring_view:t(),
    seat :: ring_seat:t(),
    phase :: ring_seat:phase(),
    is_finished = false :: boolean()
}).

%% @doc Starts a seat without data for an index, with the part of the view around it.
-spec start_link(ring_table:ring(), ring_state:index(), ring_view:t()) -> gen_server:start_ret().
start_link(Ring, Index, View) ->
    gen_server:start_link(?MODULE, {Ring, Index, View}, []).

%% @doc The seat.
-spec state(pid()) -> ring_seat:t().
state(Pid) ->
    gen_server:call(Pid, state, infinity).

%% gen_server.

%% @private
-spec init({ring_table:ring(), ring_state:index(), ring_view:t()}) -> {ok, #server{}}.
init({Ring, Index, View}) ->
    process_flag(message_queue_data, off_heap),
    #{service := Service, replicated := Replicated, transport := Transport, tick := Tick} =
        Options = ring_table:options(Ring),
    {Seat, Effects} = ring_seat:new(#{
        index => Index,
        node => Transport:self(),
        incarnation => ring_table:next_incarnation(Ring, ring_view:epoch(View)),
        module => Service,
        replicated => Replicated,
        view => View
    }),
    Phase = ring_seat:phase(Seat),
    ok = ring_table:put_seat(Ring, Index, Phase),
    _ = erlang:send_after(rand:uniform(Tick), self(), tick),
    Server = #server{ring = Ring, options = Options, view = View, seat = Seat, phase = Phase},
    {ok, after_repair(effects(Effects, Server))}.

%% @private
-spec handle_call(term(), gen_server:from(), #server{}) -> {reply, term(), #server{}}.
handle_call(state, _From, #server{seat = Seat} = Server) ->
    {reply, Seat, Server};
handle_call(Unknown, _From, Server) ->
    {reply, partisan_stray:call(Unknown), Server}.

%% @private
-spec handle_cast(term(), #server{}) -> {noreply, #server{}}.
handle_cast(Unknown, Server) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, Server}.

%% @private
-spec handle_info(term(), #server{}) -> {noreply, #server{}} | {stop, normal, #server{}}.
handle_info({request, _Ref, _Partition, _Command} = Request, #server{options = Options} = Server) ->
    #{storage_delay := Delay} = Options,
    _ = Delay > 0 andalso timer:sleep(Delay),
    step(Request, Server);
handle_info({message, _From, _Message} = Message, Server) ->
    step(Message, Server);
handle_info({lost, _Node} = Lost, Server) ->
    step(Lost, Server);
handle_info({view, View}, Server) ->
    due(step({view, View}, Server#server{view = View}));
handle_info(tick, #server{options = #{tick := Tick}} = Server) ->
    _ = erlang:send_after(Tick, self(), tick),
    due(step(tick, Server));
handle_info(repair, #server{} = Server) ->
    ok = repair(Server),
    {noreply, after_repair(Server)};
handle_info(Unknown, Server) ->
    ok = partisan_stray:message(Unknown),
    {noreply, Server}.

%% @private Requests that are still there are answered as by a node without this seat.
-spec terminate(term(), #server{}) -> ok.
terminate(normal, #server{ring = Ring, seat = Seat}) ->
    ok = ring_table:remove_seat(Ring, ring_seat:index(Seat)),
    refer(Ring);
terminate(_Crash, _Server) ->
    ok.

%% Internals.

step(Event, #server{} = Server) ->
    {Next, Effects} = handle(Event, Server),
    case effects(Effects, phase(Server#server{seat = Next})) of
        #server{is_finished = true} = Finished -> {stop, normal, Finished};
        Going -> {noreply, Going}
    end.

handle({request, _, Partition, _} = Request, #server{ring = Ring, seat = Seat}) ->
    try
        ring_seat:handle(Request, now_ms(), Seat)
    catch
        Class:Reason:Stack ->
            ?LOG_ERROR(#{
                event => command_failed,
                ring => Ring,
                partition => Partition,
                class => Class,
                reason => Reason,
                stacktrace => [located(Call) || Call <- Stack]
            }),
            {Seat, []}
    end;
handle(Event, #server{seat = Seat}) ->
    ring_seat:handle(Event, now_ms(), Seat).

%% Without arguments, of which the state of the index is one.
located({Module, Function, Arguments, Place}) when is_list(Arguments) ->
    {Module, Function, length(Arguments), Place};
located(Call) ->
    Call.

now_ms() ->
    erlang:monotonic_time(millisecond).

phase(#server{ring = Ring, seat = Seat, phase = Before} = Server) ->
    case ring_seat:phase(Seat) of
        Before ->
            Server;
        Now ->
            ok = ring_table:put_seat(Ring, ring_seat:index(Seat), Now),
            Server#server{phase = Now}
    end.

effects(Effects, Server) ->
    lists:foldl(fun effect/2, Server, Effects).

effect({answer, {Origin, Number, Tag, Index}, Answer}, #server{ring = Ring} = Server) ->
    ok = ring_wire:answer(Ring, Origin, Number, {answer, Number, Tag, Index, Answer}),
    Server;
effect({send, Node, Index, Message}, #server{ring = Ring} = Server) ->
    % What is lost, or finds no room, is repeated.
    _ = ring_wire:send(Ring, Node, Index, {seat, Index, Message}, error),
    Server;
effect({held, Index, Incarnation, Node}, #server{ring = Ring} = Server) ->
    ok = ring_manager:held(Ring, Index, Incarnation, Node),
    Server;
effect(finished, Server) ->
    Server#server{is_finished = true}.

due({stop, _, _} = Stop) ->
    Stop;
due({noreply, #server{ring = Ring, seat = Seat, view = View} = Server}) ->
    case ring_seat:duty(Seat) of
        keep -> {noreply, Server};
        drop -> {stop, normal, Server};
        renew ->
            Incarnation = ring_table:next_incarnation(Ring, ring_view:epoch(View)),
            step({renew, Incarnation, ring_table:lost(Ring)}, Server)
    end.

refer(Ring) ->
    receive
        {request, {{From, Start}, Number, Tag, Index}, Partition, Command} ->
            Request = {request, Number, Tag, Index, Partition, Command},
            ok = ring_wire:deliver(Ring, From, Start, Request),
            refer(Ring);
        _ ->
            refer(Ring)
    after 0 -> ok
    end.

%% Internals: anti-entropy, by the index that gives its partition the number.

after_repair(#server{options = #{repair := never}} = Server) ->
    Server;
after_repair(#server{options = #{repair := Interval}} = Server) ->
    % At other times for other partitions.
    _ = erlang:send_after(Interval div 2 + rand:uniform(Interval), self(), repair),
    Server.

repair(#server{phase = Phase}) when Phase =/= serving ->
    ok;
repair(#server{ring = Ring, options = Options, seat = Seat, view = View}) ->
    #{grace := Grace, hint_age := Age} = Options,
    Partition = ring_seat:index(Seat),
    ring_coordinator:start(Ring, ring_repair, Partition, [Partition, View, Grace + Age]).
