%%% @doc One node of a world ({@link verify_world}): runs the callbacks of its process and turns
%%% their effects into what leaves the node.
%%%
%%% A message to oneself is handled before anything else happens to the node. Messages to others get
%%% their key here, since occurrences count by sender.
-module(verify_node).

-export([new/3]).
-export([start/2]).
-export([handle/3]).
-export([timer/3]).
-export([has_timers/1]).
-export([crash/1]).
-export([forget/1]).
-export([mode/2]).
-export([is_up/1]).
-export([handled/1]).
-export([state/1]).
-export([incarnation/1]).
-export([is_clocked/1]).
-export([delivered/1]).
-export([situation/1]).

-type name() :: partisan_process:name().

%% What leaves a node. The number distinguishes a timer from previous ones of its name.
-type output() ::
    {send, verify_world:key(), Msg :: term()}
    | {timer, Timer :: term(), non_neg_integer(), Milliseconds :: non_neg_integer()}
    | {reply, Ref :: term(), Answer :: term()}
    | {deliver, term()}.

-record(node, {
    name :: name(),
    module :: module(),
    mode :: verify_callback:mode(),
    % Whether the process reads virtual time ({@link verify_host}), and the time of its last event.
    is_clocked :: boolean(),
    now = 0 :: non_neg_integer(),
    state :: term(),
    up = false :: boolean(),
    incarnation = 0 :: non_neg_integer(),
    % Events handled, without messages to itself.
    handled = 0 :: non_neg_integer(),
    % Timers that run.
    timers = #{} :: #{Timer :: term() => non_neg_integer()},
    started = 0 :: non_neg_integer(),
    % Messages sent to other nodes, by type and receiver.
    sent = #{} :: #{{atom(), name()} => pos_integer()},
    persisted = none :: none | {persisted, term()},
    % Newest first.
    delivered = [] :: [term()]
}).

-opaque t() :: #node{}.
-export_type([t/0, output/0]).

%% Messages that a node may send itself for one event.
-define(OWN, 100000).

%% @doc A node that is not running yet.
-spec new(name(), module(), verify_callback:mode()) -> t().
new(Name, Module, Mode) ->
    _ = code:ensure_loaded(Module),
    IsClocked = erlang:function_exported(Module, handle, 3),
    #node{name = Name, module = Module, mode = Mode, is_clocked = IsClocked}.

%% @doc Starts the next incarnation.
-spec start(Options :: map(), t()) -> {ok, [output()], t()} | {failed, verify_world:failure()}.
start(Options0, #node{up = false, module = Module, mode = Mode, persisted = Persisted} = N) ->
    Options =
        case Persisted of
            none -> Options0;
            {persisted, Term} -> Options0#{persisted => Term}
        end,
    Started = N#node{up = true, incarnation = N#node.incarnation + 1},
    case verify_callback:run(Mode, Module, init, [Options]) of
        {ok, State, Effects} -> effects(Effects, [], [], Started#node{state = State}, init, ?OWN);
        Failure -> failed(Failure, init, N)
    end.

%% @doc Handles an event at that time, and the messages to itself that follow from it.
-spec handle(partisan_process:event(), Now :: non_neg_integer(), t()) ->
    {ok, [output()], t()} | {failed, verify_world:failure()}.
handle(Event, Now, #node{handled = Handled} = N) ->
    handle(Event, Now, Handled + 1, [], [], N, ?OWN).

%% @doc Whether this timer still runs; it has fired then.
-spec timer(Timer :: term(), non_neg_integer(), t()) -> {fired, t()} | stopped.
timer(Timer, Number, #node{timers = Timers} = N) ->
    case Timers of
        #{Timer := Number} -> {fired, N#node{timers = maps:remove(Timer, Timers)}};
        #{} -> stopped
    end.

%% @doc Whether a timer runs.
-spec has_timers(t()) -> boolean().
has_timers(#node{timers = Timers}) ->
    map_size(Timers) > 0.

%% @doc The node after a crash: all but what it has persisted is lost.
-spec crash(t()) -> t().
crash(#node{} = N) ->
    N#node{up = false, state = undefined, timers = #{}}.

%% @doc The node without what it has persisted.
-spec forget(t()) -> t().
forget(#node{up = false} = N) ->
    N#node{persisted = none}.

%% @doc Changes how callbacks are called.
-spec mode(verify_callback:mode(), t()) -> t().
mode(Mode, #node{} = N) ->
    N#node{mode = Mode}.

%% @doc Whether the node runs.
-spec is_up(t()) -> boolean().
is_up(#node{up = Up}) ->
    Up.

%% @doc Events handled so far.
-spec handled(t()) -> non_neg_integer().
handled(#node{handled = Handled}) ->
    Handled.

%% @doc The state of the process; `undefined' if the node is down.
-spec state(t()) -> term().
state(#node{state = State}) ->
    State.

%% @doc Starts of the node so far.
-spec incarnation(t()) -> non_neg_integer().
incarnation(#node{incarnation = Incarnation}) ->
    Incarnation.

%% @doc Outputs to the application, in order, of all incarnations.
-spec delivered(t()) -> [term()].
delivered(#node{delivered = Delivered}) ->
    lists:reverse(Delivered).

%% @doc Whether the node's future depends on the time.
-spec is_clocked(t()) -> boolean().
is_clocked(#node{is_clocked = IsClocked}) ->
    IsClocked.

%% @doc All that the node's future and its outputs depend on, except its timers and the time.
-spec situation(t()) -> term().
situation(#node{name = Name, state = State, up = Up, incarnation = Incarnation} = N) ->
    #node{persisted = Persisted, delivered = Delivered} = N,
    {Name, State, Up, Incarnation, Persisted, Delivered}.

%% Internals.

handle(Event, Now, Handled, Own, Outputs, #node{module = Module, mode = Mode} = N, Left) ->
    #node{state = State, is_clocked = IsClocked} = N,
    Result =
        if
            IsClocked -> verify_callback:run(Mode, Module, handle, [Event, Now, State]);
            true -> verify_callback:handle(Mode, Module, Event, State)
        end,
    case Result of
        {ok, Next, Effects} ->
            Handling = N#node{state = Next, now = Now, handled = Handled},
            effects(Effects, Own, Outputs, Handling, Event, Left);
        Failure ->
            failed(Failure, Event, N)
    end.

%% `Own' are the messages to itself, oldest first; `Outputs' newest first.
effects([], [], Outputs, N, _Event, _Left) ->
    {ok, lists:reverse(Outputs), N};
effects([], _Own, _Outputs, N, Event, 0) ->
    failed(looping, Event, N);
effects([], [Msg | Own], Outputs, #node{name = Name, now = Now} = N, _Event, Left) ->
    handle({message, Name, Msg}, Now, N#node.handled, Own, Outputs, N, Left - 1);
effects([{send, To, _} | _] = Effects, Own0, Outputs0, #node{name = Name} = N, Event, Left) when
    is_binary(To)
->
    {Rest, Own, Outputs, Sent} = sends(Effects, Own0, Outputs0, Name, N#node.sent),
    effects(Rest, Own, Outputs, N#node{sent = Sent}, Event, Left);
effects([{start_timer, Timer, Ms} | Rest], Own, Outputs, N, Event, Left) when
    is_integer(Ms), Ms >= 0
->
    #node{timers = Timers, started = Started} = N,
    Running = N#node{timers = Timers#{Timer => Started}, started = Started + 1},
    effects(Rest, Own, [{timer, Timer, Started, Ms} | Outputs], Running, Event, Left);
effects([{cancel_timer, Timer} | Rest], Own, Outputs, #node{timers = Timers} = N, Event, Left) ->
    effects(Rest, Own, Outputs, N#node{timers = maps:remove(Timer, Timers)}, Event, Left);
effects([{reply, Ref, Answer} | Rest], Own, Outputs, N, Event, Left) ->
    effects(Rest, Own, [{reply, Ref, Answer} | Outputs], N, Event, Left);
effects([{deliver, Term} | Rest], Own, Outputs, #node{delivered = Delivered} = N, Event, Left) ->
    Noted = N#node{delivered = [Term | Delivered]},
    effects(Rest, Own, [{deliver, Term} | Outputs], Noted, Event, Left);
effects([{persist, Term} | Rest], Own, Outputs, N, Event, Left) ->
    effects(Rest, Own, Outputs, N#node{persisted = {persisted, Term}}, Event, Left);
effects(Bad, _Own, _Outputs, N, Event, _Left) ->
    failed({crashed, error, {bad_effect, first(Bad)}, []}, Event, N).

sends([{send, Name, Msg} | Rest], Own, Outputs, Name, Sent) ->
    sends(Rest, Own ++ [Msg], Outputs, Name, Sent);
sends([{send, To, Msg} | Rest], Own, Outputs, Name, Sent) when is_binary(To) ->
    Type = partisan_process:type(Msg),
    Slot = {Type, To},
    Occurrence =
        case Sent of
            #{Slot := Before} -> Before + 1;
            #{} -> 1
        end,
    Output = {send, {Name, To, Type, Occurrence}, Msg},
    sends(Rest, Own, [Output | Outputs], Name, Sent#{Slot => Occurrence});
sends(Rest, Own, Outputs, _Name, Sent) ->
    {Rest, Own, Outputs, Sent}.

%% An improper list of effects has no first one.
first([Effect | _]) -> Effect;
first(Other) -> Other.

failed(looping, Event, #node{name = Name}) ->
    {failed, {looping, Name, Event}};
failed({crashed, Class, Reason, Stack}, Event, #node{name = Name}) ->
    {failed, {crashed, Name, Event, Class, Reason, Stack}}.
