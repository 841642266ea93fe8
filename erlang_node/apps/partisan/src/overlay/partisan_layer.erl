%%% @doc The common part of all pure layers: options, randomness and pending effects.
%%%
%%% Overlays, broadcast protocols and their stack are values that take an event and return their
%%% next state and a list of effects ({@link partisan_overlay}). The state of each is a map of its
%%% own fields, to which this module adds the shared ones:
%%%
%%% <ul>
%%% <li>`self', this node, and `options', the defaults overridden by those given;</li>
%%% <li>`rand', the generator, seeded by the options: the only source of randomness;</li>
%%% <li>`out', the effects so far, latest first;</li>
%%% <li>`leaving': a node that has left ignores all further events.</li>
%%% </ul>
%%%
%%% A layer is a set of functions that take the state last, return it, and call `emit/2' on the way;
%%% `handle/3' runs one of them and returns what it emitted:
%%%
%%% ```
%%% handle(Event, S) -> partisan_layer:handle(fun event/2, Event, S).
%%%
%%% event({join, Contact}, S) -> emit({send, Contact, hello}, S);
%%% ...
%%% '''
-module(partisan_layer).

%% Construction and events.
-export([new/3]).
-export([started/1]).
-export([handle/3]).
%% Effects.
-export([emit/2]).
-export([send_all/3]).
-export([absorb/3]).
%% Neighbours.
-export([neighbour_up/2]).
-export([neighbour_down/3]).
-export([part/3]).
%% Options, randomness and time.
-export([option/2]).
-export([is_self/2]).
-export([pick/2]).
-export([sample/3]).
-export([uniform/2]).
-export([start_timer_within/3]).
-export([backoff/2]).

-type t() :: #{
    self := partisan_peer:t(),
    options := map(),
    rand := rand:state(),
    leaving := boolean(),
    out := [Effect :: term()],
    _ => _
}.

%% Why a peer ceased to be a neighbour: its link broke, it left, or it made room for another.
-type reason() :: neighbour_failed | neighbour_left | neighbour_evicted.

-export_type([t/0, reason/0]).

%% By then a doubling delay has long reached any bound.
-define(DOUBLINGS, 16).

%% Construction and events.

%% @doc A state with these options on top of the defaults, and the layer's own fields. Fails with
%% `{bad_parameter, {Name, Value}}' if a default is an integer and the option is no natural number.
-spec new(Defaults :: map(), Given :: map(), Own :: map()) -> t().
new(Defaults, #{self := Self, seed := Seed} = Given, Own) ->
    ok = maps:foreach(
        fun(Name, Value) ->
            IsNumber = is_integer(maps:get(Name, Defaults, none)),
            IsNumber andalso not (is_integer(Value) andalso Value >= 0) andalso
                error({bad_parameter, {Name, Value}})
        end,
        Given
    ),
    Own#{
        self => Self,
        options => maps:merge(Defaults, Given),
        rand => rand:seed_s(exsss, Seed),
        leaving => false,
        out => []
    }.

%% @doc The state and the effects so far, as `init/1' returns them.
-spec started(State) -> {State, [Effect :: term()]} when State :: t().
started(#{out := Out} = S) ->
    {S#{out := []}, lists:reverse(Out)}.

%% @doc Handles an event. Ignored: events after `leave', and messages from or joins to this node
%% itself.
-spec handle(fun((Event, State) -> State), Event, State) -> {State, [Effect :: term()]} when
    Event :: term(), State :: t().
handle(_Take, _Event, #{leaving := true} = S) ->
    {S, []};
handle(_Take, {join, #{name := Name}}, #{self := #{name := Name}} = S) ->
    {S, []};
handle(_Take, {message, #{name := Name}, _}, #{self := #{name := Name}} = S) ->
    {S, []};
handle(Take, leave, S0) ->
    S1 = Take(leave, S0),
    started(S1#{leaving := true});
handle(Take, Event, S) ->
    started(Take(Event, S)).

%% Effects.

%% @doc Adds an effect.
-spec emit(Effect :: term(), State) -> State when State :: t().
emit(Effect, #{out := Out} = S) ->
    S#{out := [Effect | Out]}.

%% @doc Sends the same message to each of them.
-spec send_all([partisan_peer:t()], Msg :: term(), State) -> State when State :: t().
send_all(Peers, Msg, S0) ->
    lists:foldl(fun(Peer, S) -> emit({send, Peer, Msg}, S) end, S0, Peers).

%% @doc Stores a part's new state and passes its effects on as the layer's own.
-spec absorb(Field :: atom(), {Part :: term(), [Effect :: term()]}, State) -> State when
    State :: t().
absorb(Field, {Part, Effects}, S) ->
    #{Field := _, out := Out} = S,
    S#{Field := Part, out := lists:reverse(Effects, Out)}.

%% Neighbours.

%% @doc Reports and counts a new neighbour.
-spec neighbour_up(partisan_peer:t(), State) -> State when State :: t().
neighbour_up(Peer, S) ->
    emit({count, neighbour_added}, emit({neighbour_up, Peer}, S)).

%% @doc Reports a lost neighbour, and counts the reason.
-spec neighbour_down(partisan_peer:name(), reason(), State) -> State when State :: t().
neighbour_down(Name, Reason, S) ->
    emit({count, Reason}, emit({neighbour_down, Name}, S)).

%% @doc Sends a goodbye to neighbours and unpins their links.
-spec part([partisan_peer:t()], Goodbye :: term(), State) -> State when State :: t().
part(Neighbours, Goodbye, S0) ->
    lists:foldl(
        fun(#{name := Name} = Peer, S) ->
            Sent = emit({send, Peer, Goodbye}, S),
            emit({disconnect, Name}, emit({neighbour_down, Name}, Sent))
        end,
        S0,
        Neighbours
    ).

%% Options, randomness and time.

%% @doc The value of an option. Fails if it has none.
-spec option(atom(), t()) -> term().
option(Name, #{options := Options}) ->
    map_get(Name, Options).

%% @doc Whether a peer is this node.
-spec is_self(partisan_peer:t(), t()) -> boolean().
is_self(#{name := Name}, #{self := #{name := Self}}) ->
    Name =:= Self.

%% @doc A random element of a non-empty list.
-spec pick([Element, ...], State) -> {Element, State} when State :: t().
pick(List, #{rand := Rand0} = S) ->
    {Element, Rand} = partisan_random:pick(List, Rand0),
    {Element, S#{rand := Rand}}.

%% @doc Picks that many elements in random order, or all if there are fewer.
-spec sample(non_neg_integer(), [Element], State) -> {[Element], State} when State :: t().
sample(Size, List, #{rand := Rand0} = S) ->
    {Sample, Rand} = partisan_random:sample(Size, List, Rand0),
    {Sample, S#{rand := Rand}}.

%% @doc A random number between 1 and `N'.
-spec uniform(pos_integer(), State) -> {pos_integer(), State} when State :: t().
uniform(N, #{rand := Rand0} = S) ->
    {Drawn, Rand} = rand:uniform_s(N, Rand0),
    {Drawn, S#{rand := Rand}}.

%% @doc Starts a timer that fires at a random time within the interval. First periods use it so that
%% nodes started together do not stay in step.
-spec start_timer_within(Name :: term(), Milliseconds :: pos_integer(), State) -> State when
    State :: t().
start_timer_within(Name, Interval, S0) ->
    {Delay, S1} = uniform(Interval, S0),
    emit({start_timer, Name, Delay}, S1).

%% @doc Milliseconds to wait after so many consecutive failures: `redial_delay', doubled with each
%% up to `redial_max' (options of the layer).
-spec backoff(Failures :: non_neg_integer(), t()) -> pos_integer().
backoff(Failures, S) ->
    min(option(redial_delay, S) bsl min(Failures, ?DOUBLINGS), option(redial_max, S)).
