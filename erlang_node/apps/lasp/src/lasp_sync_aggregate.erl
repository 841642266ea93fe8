%%% @doc Synchronisation of sums only, over a spanning tree of the overlay.
%%%
%%% A node holds its own counts and the totals of all nodes, not the counts of each: it
%%% receives a few bytes, however many nodes there are. The type implements {@link lasp_aggregate}.
%%%
%%% Once per interval the root of the tree asks all nodes ({@link lasp_question}), and the sum goes
%%% down the tree with the next question. The shared part is synchronised as in {@link
%%% lasp_sync_tree}, which also maintains the tree.
%%%
%%% == Guarantees ==
%%% A sum never exceeds what has really been counted: whatever is lost, repeated or late, wherever
%%% the tree breaks, no node is included twice. So no threshold is considered reached before it is.
%%% A sum may be lower while the tree is being repaired or a node restarts, and always lags by one
%%% interval. Once changes stop, all nodes soon hold the exact sum.
%%%
%%% One exception is known: a node that restarts within the time of a question (three intervals at
%%% most), while an earlier one is still on its way to it, may be added twice.
%%%
%%% == A node that dies ==
%%% A node sends its counts to its parent, the root to its children. When the node goes, they share
%%% these counts under the name of its incarnation. They are added to the sums when that incarnation
%%% is known to have ended: the node restarts as another one, or has left. An answer includes only
%%% what was shared when the question was asked: a node that has answered was alive then, so its
%%% incarnation was not known to have ended.
%%%
%%% Since a link may break while both of its ends are alive, each broken link of the tree adds an
%%% entry at every node, and a change of the whole overlay while nodes count adds one for each of
%%% them.
%%%
%%% When a node and its parent lose their state at the same time, all counts of the node are lost;
%%% in the other modes, only those that no neighbour had received. Sums already distributed remain.
-module(lasp_sync_aggregate).
-behaviour(lasp_sync).

-export([init/1]).
-export([handle/2]).
-export([value/1]).
-export([agreed/1]).

-record(sync, {
    type :: lasp_lattice:type(),
    scope :: binary(),
    % The shared part, and the tree.
    shared :: lasp_sync_tree:state(),
    % This node's own writes.
    own :: term(),
    % The sums, as a value.
    sums :: term(),
    questions :: lasp_question:t(),
    % The shared part when this node's own question was asked.
    asked_with :: term(),
    % Kept for neighbours.
    kept = #{} :: #{lasp_sync:name() => term()},
    % The neighbours that last received this node's own value.
    keepers = none :: none | {[lasp_sync:name()], Own :: term()},
    leaving = false :: boolean()
}).

-opaque state() :: #sync{}.

-export_type([state/0]).

-type result() :: {state(), [lasp_sync:effect()]}.

-define(TIMER, propagate).
%% The value kept by neighbours is sent again with every eighth question, in case it was lost.
-define(REPEAT, 8).

%% @doc An empty replica without neighbours.
-spec init(lasp_sync:options()) -> result().
init(Options) ->
    #{name := Name, incarnation := Incarnation, type := Type, scope := Scope} = Options,
    {Shared, Effects} = lasp_sync_tree:init(Options),
    State = #sync{
        type = Type,
        scope = Scope,
        shared = Shared,
        own = Type:new(),
        sums = Type:new(),
        questions = lasp_question:new(Name, Incarnation),
        asked_with = Type:new()
    },
    {State, Effects}.

%% @doc Handles one event.
-spec handle(lasp_sync:event(), state()) -> result().
handle({update, Delta}, #sync{type = Type, own = Own} = State) ->
    {Next, Effects} = share(Type:shared(Delta), State),
    case Type:difference(Delta, Own) =:= Type:new() of
        true -> {Next, Effects};
        false -> {Next#sync{own = Type:merge(Own, Delta)}, [changed | Effects]}
    end;
handle({restore, Value}, State) ->
    share(Value, State);
handle({message, From, {Kind, Scope, Payload}}, #sync{scope = Scope} = State) when
    (Kind =:= question orelse Kind =:= answer), is_binary(Payload)
->
    received(Kind, From, Payload, State);
handle({timer, ?TIMER} = Event, #sync{questions = Questions} = State) ->
    {Ticked, Effects} = tree(Event, State#sync{questions = lasp_question:tick(Questions)}),
    chain(fun ask/1, {Ticked, Effects});
handle({neighbour_up, Name} = Event, State) ->
    % It may be a new incarnation.
    chain(fun(S) -> tree(Event, S) end, bury(Name, State));
handle({neighbour_down, Name} = Event, State) ->
    chain(fun(S) -> bury(Name, S) end, tree(Event, State));
handle(handover, #sync{type = Type, own = Own} = State) ->
    chain(
        fun(S) -> tree(handover, S) end,
        share(Type:departed(Own), State#sync{leaving = true})
    );
handle(Event, State) ->
    tree(Event, State).

%% @doc This node's writes, the shared part, and the sums.
-spec value(state()) -> term().
value(#sync{type = Type, own = Own, sums = Sums} = State) ->
    Type:merge(Type:merge(shared(State), Own), Sums).

%% @doc Whether every neighbour was last heard to hold the same shared part. Sums come from the root
%% and are not compared.
-spec agreed(state()) -> boolean().
agreed(#sync{shared = Shared}) ->
    lasp_sync_tree:agreed(Shared).

%% Internals: what is shared.

shared(#sync{shared = Shared}) ->
    lasp_sync_tree:value(Shared).

share(Delta, #sync{type = Type} = State) ->
    case Type:new() of
        Delta -> {State, []};
        _ -> tree({update, Delta}, State)
    end.

tree(Event, #sync{shared = Shared} = State) ->
    {Next, Effects} = lasp_sync_tree:handle(Event, Shared),
    Stepped = State#sync{shared = Next},
    Succeeded =
        case lists:member(changed, Effects) of
            true -> fun succeed/1;
            false -> fun(S) -> {S, []} end
        end,
    Waiting =
        case lasp_sync_tree:links(Next) =:= lasp_sync_tree:links(Shared) of
            true -> fun(S) -> {S, []} end;
            false -> fun wait_for_links/1
        end,
    chain(Waiting, chain(Succeeded, {Stepped, Effects})).

succeed(#sync{type = Type, own = Own} = State) ->
    share(Type:succeeded(Own, shared(State)), State).

%% A node that has left the tree will not answer.
wait_for_links(#sync{shared = Shared, questions = Questions} = State) ->
    outcome(lasp_question:without(lasp_sync_tree:links(Shared), Questions), State).

bury(Name, #sync{kept = Kept} = State) ->
    case maps:take(Name, Kept) of
        {Value, Others} -> share(Value, State#sync{kept = Others});
        error -> {State, []}
    end.

%% Internals: asking.

ask(#sync{shared = Shared, questions = Questions} = State) ->
    Children = lasp_sync_tree:links(Shared),
    case lasp_sync_tree:parent(Shared) =:= none andalso lasp_question:ask(Children, Questions) of
        {asked, Id, Asked} ->
            {Entrusted, Own} = to_keep(Id, Children, State#sync{
                questions = Asked, asked_with = shared(State)
            }),
            {Next, Effects} = contribute(Entrusted),
            {Next, questions(Id, Children, Own, Next) ++ Effects};
        _ ->
            {State, []}
    end.

questions(Id, Names, Own, #sync{type = Type, sums = Sums} = State) ->
    Payload = lasp_question_message:encode(Id, lasp_lattice:encode(Type, Sums), Own),
    lists:append([send(question, Name, Payload, State) || Name <- Names]).

asked(Id, From, true, #sync{shared = Shared, questions = Questions} = State) ->
    Children = lists:delete(From, lasp_sync_tree:links(Shared)),
    case lasp_question:heard(Id, From, Children, Questions) of
        again ->
            asked(Id, From, false, State);
        {Kind, Heard} ->
            Next = State#sync{questions = Heard},
            Onwards = questions(Id, Children, <<>>, Next),
            {Contributed, Effects} =
                case Kind of
                    next -> contribute(Next);
                    first -> outcome(lasp_question:contribute(#{}, Heard), Next)
                end,
            {Contributed, Onwards ++ Effects}
    end;
asked(Id, From, false, State) ->
    % From a node other than the parent, or repeated.
    {State, reply(Id, From, #{}, <<>>, State)}.

contribute(#sync{leaving = true, questions = Questions} = State) ->
    outcome(lasp_question:contribute(#{}, Questions), State);
contribute(#sync{type = Type, own = Own, questions = Questions} = State) ->
    Sums = Type:contribution(Own, shared(State)),
    outcome(lasp_question:contribute(Sums, Questions), State).

%% Internals: answering.

outcome({pending, Questions}, State) ->
    {State#sync{questions = Questions}, []};
outcome({{complete, _Id, self, Sums}, Questions}, #sync{type = Type, asked_with = With} = State) ->
    learn(Type:total(Sums, With), State#sync{questions = Questions});
outcome({{complete, Id, Parent, Sums}, Questions}, State) ->
    {Entrusted, Own} = to_keep(Id, [Parent], State#sync{questions = Questions}),
    {Entrusted, reply(Id, Parent, Sums, Own, Entrusted)}.

reply(Id, To, Sums, Own, State) ->
    Payload = lasp_question_message:encode(Id, lasp_aggregate:encode(Sums), Own),
    send(answer, To, Payload, State).

learn(Value, #sync{type = Type, sums = Sums} = State) ->
    case Type:merge(Sums, Value) of
        Sums -> {State, []};
        Grown -> {State#sync{sums = Grown}, [changed]}
    end.

%% Internals: values kept by neighbours.

%% The value for these nodes to keep, if they do not have it.
to_keep({_, Number}, Names, #sync{type = Type, own = Own, keepers = Keepers} = State) ->
    Kept = Type:kept(Own),
    case Keepers of
        {Names, Kept} when Number rem ?REPEAT =/= 0 ->
            {State, <<>>};
        _ ->
            {State#sync{keepers = {Names, Kept}}, lasp_lattice:encode(Type, Kept)}
    end.

keep(From, Value, #sync{type = Type, kept = Kept} = State) ->
    case Type:new() of
        Value -> State;
        _ -> State#sync{kept = maps:update_with(From, join(Type, Value), Value, Kept)}
    end.

join(Type, Value) ->
    fun(Before) -> Type:merge(Before, Value) end.

%% Internals: messages.

received(Kind, From, Payload, State) ->
    {Next, Effects} =
        case opened(Kind, Payload, State) of
            {ok, Id, Sums, Kept} -> heard(Kind, Id, From, Sums, keep(From, Kept, State));
            error -> {State, [{count, malformed, received, byte_size(Payload)}]}
        end,
    {Next, [{count, Kind, received, byte_size(Payload)} | Effects]}.

opened(Kind, Payload, #sync{type = Type}) ->
    case lasp_question_message:decode(Payload) of
        {ok, Id, Encoded, Own} ->
            case {sums(Kind, Encoded, Type), lasp_lattice:decode(Type, Own)} of
                {{ok, Sums}, {ok, Kept}} -> {ok, Id, Sums, Kept};
                _ -> error
            end;
        error ->
            error
    end.

%% On the way down they are a value; on the way up, still to be added to.
sums(question, Encoded, Type) -> lasp_lattice:decode(Type, Encoded);
sums(answer, Encoded, _Type) -> lasp_aggregate:decode(Encoded).

heard(question, Id, From, Sums, #sync{shared = Shared} = State) ->
    IsParent = lasp_sync_tree:parent(Shared) =:= From,
    chain(fun(S) -> asked(Id, From, IsParent, S) end, learn(Sums, State));
heard(answer, Id, From, Sums, #sync{questions = Questions} = State) ->
    outcome(lasp_question:answered(Id, From, Sums, Questions), State).

send(Kind, Name, Payload, #sync{scope = Scope}) ->
    [{send, Name, each, {Kind, Scope, Payload}}, {count, Kind, sent, byte_size(Payload)}].

chain(Fun, {State, Effects}) ->
    {Next, More} = Fun(State),
    {Next, Effects ++ More}.
