%%% @doc A replica of a counter, as a process: {@link lasp_sync_delta} or {@link lasp_sync_tree} as
%%% they run in pods, on an overlay that does not change but for nodes that are lost and come back.
%%%
%%% The environment reports the neighbours, as an overlay does, with the call `{neighbours, #{Name
%%% => Incarnation}}'. The calls `increment' and `handover' come from the application; they are
%%% answered by `{counted, Actor, Count}' and `{handed_over, Names, Value}'.
%%%
%%% A decision of the explorer is what {@link lasp_sync} permits: `drop' is a message without room
%%% in its lane or on a connection that breaks, `late' lets later messages of other lanes overtake
%%% it, `duplicate' is a repetition by the sender. A node restarts as another incarnation with an
%%% empty replica, which counts as another actor; messages of the previous one are refused once its
%%% successor is known.
%%%
%%% == Mutations ==
%%% <ul>
%%% <li>`no_retransmission': a group of changes is sent once, and quiet replicas are compared but
%%%     not repaired. Either alone is made up for by the other.</li>
%%% <li>`early_handover': a leaving node takes its neighbours to hold what it has just sent.</li>
%%% </ul>
-module(verify_own_replica).
-behaviour(partisan_process).

-export([init/1]).
-export([handle/2]).
-export([load/2]).
-export([value/1]).
-export([links/1]).
-export([agreed/1]).
-export([incarnation/1]).

-type name() :: partisan_process:name().
-type mutation() :: none | no_retransmission | early_handover.
%% `protocol': a module of lasp_sync, or a copy ({@link load/2}).
-type options() :: #{
    self := name(),
    members := [name()],
    seed := partisan_process:seed(),
    protocol := module(),
    interval := pos_integer(),
    incarnation := partisan_peer:incarnation(),
    _ => _
}.
-type neighbours() :: #{name() => partisan_peer:incarnation()}.

-record(replica, {
    name :: name(),
    incarnation :: partisan_peer:incarnation(),
    protocol :: module(),
    sync :: term(),
    count = 0 :: non_neg_integer(),
    neighbours = #{} :: neighbours(),
    % The call that waits for the end of the handover.
    handover = none :: none | {call, Ref :: term()}
}).

-opaque state() :: #replica{}.
-export_type([state/0, options/0, mutation/0]).

-define(SCOPE, <<"run">>).

%% @doc The module of a protocol with a mutation.
-spec load(module(), mutation()) -> module().
load(Protocol, none) ->
    Protocol;
load(Protocol, Mutation) ->
    Copies = verify_own_code:load(#{
        modules => [lasp_sync_delta, lasp_sync_tree, lasp_deltas, lasp_link, lasp_replica],
        prefix => "verify_own@" ++ atom_to_list(Mutation) ++ "@",
        calls => #{},
        replaced => replaced(Mutation)
    }),
    map_get(Protocol, Copies).

%% @private
-spec init(options()) -> {state(), [partisan_process:effect()]}.
init(#{self := Name, protocol := Protocol, interval := Interval} = Options) ->
    #{seed := Seed, incarnation := Incarnation} = Options,
    {Sync, Effects} = Protocol:init(#{
        name => Name,
        % In microseconds, as a node's: the tree numbers its heartbeats from there.
        incarnation => 1000000 * Incarnation,
        type => lasp_gcounter,
        scope => ?SCOPE,
        interval => Interval,
        seed => Seed
    }),
    Empty = #replica{
        name = Name,
        incarnation = Incarnation,
        protocol = Protocol,
        sync = Sync
    },
    finished(effects(Effects, Empty, [])).

%% @private
-spec handle(partisan_process:event(), state()) -> {state(), [partisan_process:effect()]}.
handle({message, From, {_Kind, Incarnation, Message}}, #replica{neighbours = Neighbours} = R) ->
    case Neighbours of
        #{From := Known} when Known > Incarnation -> {R, []};
        #{} -> finished(step({message, From, Message}, R, []))
    end;
handle({timer, Name}, R) ->
    finished(step({timer, Name}, R, []));
handle({call, Ref, increment}, #replica{name = Name, count = Count} = R) ->
    Actor = actor(Name, R#replica.incarnation),
    Delta = lasp_gcounter:entry(Actor, Count + 1),
    Answer = {reply, Ref, {counted, Actor, Count + 1}},
    finished(step({update, Delta}, R#replica{count = Count + 1}, [Answer]));
handle({call, Ref, handover}, R) ->
    finished(step(handover, R#replica{handover = {call, Ref}}, []));
handle({call, Ref, {neighbours, Neighbours}}, R) ->
    finished(neighbours(Neighbours, R, [{reply, Ref, ok}])).

%% @doc The replica.
-spec value(state()) -> lasp_gcounter:t().
value(#replica{protocol = Protocol, sync = Sync}) ->
    Protocol:value(Sync).

%% @doc Whether every neighbour last reported an equal replica.
-spec agreed(state()) -> boolean().
agreed(#replica{protocol = Protocol, sync = Sync}) ->
    Protocol:agreed(Sync).

%% @doc The neighbours to which changes are sent: those in the tree, or all.
-spec links(state()) -> [name()].
links(#replica{protocol = Protocol, sync = Sync, neighbours = Neighbours}) ->
    case erlang:function_exported(Protocol, links, 1) of
        true -> Protocol:links(Sync);
        false -> lists:sort(maps:keys(Neighbours))
    end.

%% @doc The incarnation of the node.
-spec incarnation(state()) -> partisan_peer:incarnation().
incarnation(#replica{incarnation = Incarnation}) ->
    Incarnation.

%% Internals.

%% As which an incarnation of a node counts.
actor(Name, Incarnation) ->
    <<Name/binary, $/, (integer_to_binary(Incarnation))/binary>>.

neighbours(Neighbours, #replica{neighbours = Before} = R, Out) ->
    Lost = [{neighbour_down, Name} || Name <- maps:keys(Before), not is_map_key(Name, Neighbours)],
    New = [
        {neighbour_up, Name}
     || {Name, Incarnation} <- maps:to_list(Neighbours),
        maps:get(Name, Before, 0) < Incarnation
    ],
    lists:foldl(
        fun(Event, {Next, More}) -> step(Event, Next, More) end,
        {R#replica{neighbours = Neighbours}, Out},
        lists:sort(Lost) ++ lists:sort(New)
    ).

step(Event, #replica{protocol = Protocol, sync = Sync} = R, Out) ->
    {Next, Effects} = Protocol:handle(Event, Sync),
    grows(Protocol:value(Sync), Protocol:value(Next)) orelse error({value_shrinks, Event}),
    effects(Effects, R#replica{sync = Next}, Out).

grows(Before, After) ->
    lasp_gcounter:difference(Before, After) =:= lasp_gcounter:new().

effects(Effects, R, Out) ->
    lists:foldl(fun(Effect, {Next, More}) -> effect(Effect, Next, More) end, {R, Out}, Effects).

effect({send, To, _Class, {Kind, _, _} = Message}, #replica{neighbours = Neighbours} = R, Out) ->
    % A message to a node that is not a neighbour now is refused.
    Sent = [{send, To, {Kind, R#replica.incarnation, Message}} || is_map_key(To, Neighbours)],
    {R, Sent ++ Out};
effect({start_timer, _, _} = Effect, R, Out) ->
    {R, [Effect | Out]};
effect({handed_over, Names}, #replica{handover = {call, Ref}} = R, Out) ->
    {R#replica{handover = none}, [{reply, Ref, {handed_over, Names, value(R)}} | Out]};
effect({handed_over, _Names}, R, Out) ->
    {R, Out};
effect({count, malformed, received, _} = Effect, _R, _Out) ->
    error(Effect);
effect({count, _, _, _}, R, Out) ->
    {R, Out};
effect(changed, R, Out) ->
    {R, Out}.

finished({R, Out}) ->
    {R, lists:reverse(Out)}.

%% Internals: mutations.

replaced(no_retransmission) ->
    #{
        lasp_link => #{{age, 1} => "age(Link) -> Link."},
        lasp_deltas => #{{repair, 4} => "repair(_Kind, _From, _Payload, D) -> {D, []}."}
    };
replaced(early_handover) ->
    #{
        lasp_replica => #{
            {handover, 1} =>
                "handover(Replica) ->"
                "    {Pushed, Effects} = push_all(Replica#replica{handover = {waiting, []}}),"
                "    {Pushed#replica{handover = done},"
                "        Effects ++ [{handed_over, neighbours(Replica)}]}."
        }
    }.
