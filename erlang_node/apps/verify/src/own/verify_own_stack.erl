%%% @doc A node's protocol stack on HyParView, as a process: {@link partisan_stack} and {@link
%%% partisan_overlay_hyparview} as they run in pods, over {@link verify_own_link}.
%%%
%%% The process checks after each event that the views are within their bounds and do not contain
%%% the node itself; an execution in which they are not ends with an error of this process.
%%%
%%% == Mutation ==
%%% `no_keep': the protocol of the paper, without `keep'. Views that a lost connection has left
%%% one-sided stay so.
-module(verify_own_stack).
-behaviour(partisan_process).

-export([init/1]).
-export([handle/2]).
-export([views/1]).

-type mutation() :: none | no_keep.
%% `overlay' are parameters of HyParView.
-type options() :: #{
    self := partisan_process:name(),
    members := [partisan_process:name()],
    seed := partisan_process:seed(),
    seeds := [partisan_process:name()],
    overlay := map(),
    incarnation := partisan_peer:incarnation(),
    mutation => mutation(),
    _ => _
}.
-type views() :: #{
    incarnation := partisan_peer:incarnation(),
    active := #{partisan_peer:name() => partisan_peer:incarnation()},
    passive := [partisan_peer:name()]
}.

-record(node, {
    self :: partisan_peer:t(),
    stack :: partisan_stack:t(),
    links :: verify_own_link:t(),
    overlay :: map(),
    mutation :: mutation()
}).

-opaque state() :: #node{}.
-export_type([state/0, options/0, views/0, mutation/0]).

%% @private
-spec init(options()) -> {state(), [partisan_process:effect()]}.
init(#{self := Name, seed := Seed, seeds := Seeds, overlay := Overlay} = Options) ->
    #{incarnation := Incarnation} = Options,
    Self = peer(Name, Incarnation),
    {Stack, Effects} = partisan_stack:init(#{
        self => Self,
        seed => Seed,
        overlay => {hyparview, Overlay},
        seeds => [peer(Contact, 0) || Contact <- Seeds]
    }),
    Node = #node{
        self = Self,
        stack = Stack,
        links = verify_own_link:new(Self),
        overlay = Overlay,
        mutation = maps:get(mutation, Options, none)
    },
    finished(effects(Effects, Node, [])).

%% @private
-spec handle(partisan_process:event(), state()) -> {state(), [partisan_process:effect()]}.
handle({message, From, Frame}, #node{links = Links} = Node) ->
    linked(verify_own_link:message(From, Frame, Links), Node);
handle({timer, {link, Name}}, #node{links = Links} = Node) ->
    linked(verify_own_link:timer(Name, Links), Node);
handle({timer, {stack, Name}}, Node) ->
    finished(step({timer, Name}, Node, []));
handle({call, Ref, leave}, Node) ->
    {Left, Out} = step(leave, Node, []),
    finished({Left, [{reply, Ref, ok} | Out]}).

%% @doc The views of a node.
-spec views(state()) -> views().
views(#node{self = #{incarnation := Incarnation}, stack = Stack}) ->
    #{passive := Passive} = partisan_stack:info(Stack),
    #{
        incarnation => Incarnation,
        active => maps:from_list([
            {Name, Known}
         || #{name := Name, incarnation := Known} <- partisan_stack:neighbours(Stack)
        ]),
        passive => Passive
    }.

%% Internals.

peer(Name, Incarnation) ->
    partisan_peer:new(Name, "localhost", 7946, Incarnation).

%% The events and effects of the connections; later events follow from the effects of earlier ones.
linked(Result, Node) ->
    finished(linked(Result, Node, [])).

linked({Events, Links, Effects}, Node, Out) ->
    lists:foldl(
        fun(Event, {Next, More}) -> step(Event, Next, More) end,
        {Node#node{links = Links}, lists:reverse(Effects, Out)},
        Events
    ).

step(Event, #node{stack = Stack0} = Node, Out) ->
    {Stack, Effects} = partisan_stack:handle(Event, Stack0),
    effects(Effects, Node#node{stack = Stack}, Out).

effects(Effects, Node, Out) ->
    lists:foldl(fun(Effect, {Next, More}) -> effect(Effect, Next, More) end, {Node, Out}, Effects).

effect({send, Peer, Msg}, #node{links = Links, mutation = Mutation} = Node, Out) ->
    case is_silent(Mutation, Msg) of
        true -> {Node, Out};
        false -> linked(verify_own_link:send(Peer, Msg, Links), Node, Out)
    end;
effect({connect, Peer}, #node{links = Links} = Node, Out) ->
    linked(verify_own_link:connect(Peer, Links), Node, Out);
effect({disconnect, Name}, #node{links = Links} = Node, Out) ->
    linked(verify_own_link:disconnect(Name, Links), Node, Out);
effect({start_timer, Name, Delay}, Node, Out) ->
    {Node, [{start_timer, {stack, Name}, Delay} | Out]};
effect({deliver, Payload}, Node, Out) ->
    {Node, [{deliver, Payload} | Out]};
effect({What, _}, Node, Out) when What =:= count; What =:= neighbour_up; What =:= neighbour_down ->
    {Node, Out}.

is_silent(no_keep, {overlay, {_, keep}}) -> true;
is_silent(_Mutation, _Msg) -> false.

finished({Node, Out}) ->
    ok = bounded(Node),
    {Node, lists:reverse(Out)}.

bounded(#node{self = #{name := Self}, stack = Stack, overlay = Overlay}) ->
    #{active_max := ActiveMax, passive_max := PassiveMax} = Overlay,
    #{active := Active, passive := Passive} = partisan_stack:info(Stack),
    length(Active) =< ActiveMax orelse error({active_view_too_large, Active}),
    length(Passive) =< PassiveMax orelse error({passive_view_too_large, Passive}),
    lists:member(Self, Active ++ Passive) andalso error(node_in_its_own_view),
    ok.
