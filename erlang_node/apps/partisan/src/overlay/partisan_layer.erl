%%% @doc What all pure layers have in common: options, chance, and the effects they have to tell.
%%%
%%% An overlay, a broadcast protocol and the stack of them are values that take an event and answer
%%% with their next state and a list of effects ({@link partisan_overlay}). The state of each is a
%%% map of its own making, to which this module adds what none of them should have to write again:
%%%
%%% <ul>
%%% <li>`self', this node, and `options', the defaults with what was given on top;</li>
%%% <li>`rand', the generator, seeded by the options: the only source of chance;</li>
%%% <li>`out', the effects so far, the latest first;</li>
%%% <li>`leaving': whoever has left answers nothing any more.</li>
%%% </ul>
%%%
%%% A layer is written as functions that take the state last and return it, and `emit/2' on the
%%% way; `handle/3' runs one of them and returns what it emitted:
%%%
%%% ```
%%% handle(Event, S) -> partisan_layer:handle(fun event/2, Event, S).
%%%
%%% event({join, Contact}, S) -> emit({send, Contact, hello}, S);
%%% ...
%%% '''
-module(partisan_layer).

%% Lives.
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
%% Options, chance and time.
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

%% Why a neighbour is one no longer: the link broke, it said so, or it had to make room.
-type reason() :: neighbour_failed | neighbour_left | neighbour_evicted.

-export_type([t/0, reason/0]).

%% Where delays that double have long reached any bound.
-define(DOUBLINGS, 16).

%% Lives.

%% @doc A state of these options, defaults below, with the layer's own fields.
-spec new(Defaults :: map(), Given :: map(), Own :: map()) -> t().
new(Defaults, #{self := Self, seed := Seed} = Given, Own) ->
    Own#{
        self => Self,
        options => maps:merge(Defaults, Given),
        rand => rand:seed_s(exsss, Seed),
        leaving => false,
        out => []
    }.

%% @doc The state and the effects so far: what `init/1' answers.
-spec started(State) -> {State, [Effect :: term()]} when State :: t().
started(#{out := Out} = S) ->
    {S#{out := []}, lists:reverse(Out)}.

%% @doc Takes an event. Nothing comes of events after `leave', nor of joining or hearing oneself.
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

-spec emit(Effect :: term(), State) -> State when State :: t().
emit(Effect, #{out := Out} = S) ->
    S#{out := [Effect | Out]}.

%% @doc The same message to each of them.
-spec send_all([partisan_peer:t()], Msg :: term(), State) -> State when State :: t().
send_all(Peers, Msg, S0) ->
    lists:foldl(fun(Peer, S) -> emit({send, Peer, Msg}, S) end, S0, Peers).

%% @doc Takes what a part of the state has become, and passes its effects on as the layer's own.
-spec absorb(Field :: atom(), {Part :: term(), [Effect :: term()]}, State) -> State when
    State :: t().
absorb(Field, {Part, Effects}, S) ->
    #{Field := _, out := Out} = S,
    S#{Field := Part, out := lists:reverse(Effects, Out)}.

%% Neighbours.

-spec neighbour_up(partisan_peer:t(), State) -> State when State :: t().
neighbour_up(Peer, S) ->
    emit({count, neighbour_added}, emit({neighbour_up, Peer}, S)).

-spec neighbour_down(partisan_peer:name(), reason(), State) -> State when State :: t().
neighbour_down(Name, Reason, S) ->
    emit({count, Reason}, emit({neighbour_down, Name}, S)).

%% @doc Says goodbye to neighbours and lets their links go.
-spec part([partisan_peer:t()], Goodbye :: term(), State) -> State when State :: t().
part(Neighbours, Goodbye, S0) ->
    lists:foldl(
        fun(#{name := Name} = Peer, S) ->
            Told = emit({send, Peer, Goodbye}, S),
            emit({disconnect, Name}, emit({neighbour_down, Name}, Told))
        end,
        S0,
        Neighbours
    ).

%% Options, chance and time.

-spec option(atom(), t()) -> term().
option(Name, #{options := Options}) ->
    map_get(Name, Options).

-spec is_self(partisan_peer:t(), t()) -> boolean().
is_self(#{name := Name}, #{self := #{name := Self}}) ->
    Name =:= Self.

%% @doc One element of a list that is not empty.
-spec pick([Element, ...], State) -> {Element, State} when State :: t().
pick(List, #{rand := Rand0} = S) ->
    {Element, Rand} = partisan_random:pick(List, Rand0),
    {Element, S#{rand := Rand}}.

%% @doc As many elements, in random order, or all when there are fewer.
-spec sample(non_neg_integer(), [Element], State) -> {[Element], State} when State :: t().
sample(Size, List, #{rand := Rand0} = S) ->
    {Sample, Rand} = partisan_random:sample(Size, List, Rand0),
    {Sample, S#{rand := Rand}}.

%% @doc A number between 1 and `N'.
-spec uniform(pos_integer(), State) -> {pos_integer(), State} when State :: t().
uniform(N, #{rand := Rand0} = S) ->
    {Drawn, Rand} = rand:uniform_s(N, Rand0),
    {Drawn, S#{rand := Rand}}.

%% @doc Starts a timer that fires at some time within the interval. First periods start like this,
%% lest a thousand nodes that were started together act together ever after.
-spec start_timer_within(Name :: term(), Milliseconds :: pos_integer(), State) -> State when
    State :: t().
start_timer_within(Name, Interval, S0) ->
    {Delay, S1} = uniform(Interval, S0),
    emit({start_timer, Name, Delay}, S1).

%% @doc How long to wait after so many failures in a row: `redial_delay', doubled with each up to
%% `redial_max', which are options of the layer; in milliseconds.
-spec backoff(Failures :: non_neg_integer(), t()) -> pos_integer().
backoff(Failures, S) ->
    min(option(redial_delay, S) bsl min(Failures, ?DOUBLINGS), option(redial_max, S)).
