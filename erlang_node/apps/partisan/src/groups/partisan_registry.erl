%%% @doc The registry of {@link partisan_global} as a value: events in, effects out.
%%%
%%% All nodes know all names in the end ({@link partisan_names}). Before a node adds a name, it asks
%%% the name's *home*: the first of the nodes that it knows in the rank of the name ({@link
%%% partisan_rendezvous}). The home grants a name to one process until it has learnt of the
%%% registration. So of several registrations of a name one succeeds while nodes agree on who the
%%% nodes are.
%%%
%%% ```
%%% node                              home                         all
%%%   --1 {ask, Name, Process}-->       no such name, no other grant
%%%   <--2 yes--                        a grant of Name to Process
%%%   --3 {settled, Name, Process, own entries}-->   the grant ends
%%%   --3 {entries, own entries}--------------------------------->
%%% '''
%%%
%%% They do not agree while nodes start, are lost, or are partitioned: then a name may have several
%%% processes. Of their nodes the first by name resolves the conflict, by the method of its own
%%% registration, and publishes the verdict.
%%%
%%% == Lost nodes ==
%%% Nodes with entries are monitored by all nodes, as in {@link partisan_pg}; one without is
%%% monitored by the node before it in the order of names, which broadcasts the loss, as does a node
%%% that has asked a home in vain. A node that hears of its own loss counts a change, which brings
%%% it back.
%%%
%%% Longer than 300 lines: a third are the types of its events and effects, and what they mean.
-module(partisan_registry).

-export([new/3]).
-export([handle/2]).
-export([names/1]).

%% Rounds that a node waits for the names that others know.
-define(WAIT_ROUNDS, 3).

-type node_name() :: partisan_peer:name().
-type name() :: partisan_names:name().
-type holder() :: partisan_names:holder().
%% Chooses between two processes; opaque here.
-type method() :: term().
-type mode() :: partisan_grants:mode().
%% To whom an answer goes.
-type tag() :: term().
-type pair() :: {partisan_names:registration(), partisan_names:registration()}.
-type answer() :: yes | no.

-type event() ::
    {register, tag(), name(), holder(), method(), mode()}
    | {unregister, name()}
    % A process of this node has ended.
    | {ended, holder()}
    % From another node.
    | {ask, tag(), node_name(), name(), holder(), mode()}
    | {answered, tag(), answer() | failed}
    | {message, message()}
    | {resolved, name(), pair(), Winner :: holder() | none}
    | {lost, node_name()}
    % A round of comparisons begins; whether there is no node to compare with.
    | {round, IsAlone :: boolean()}.
-type message() ::
    partisan_replica:message()
    | {settled, name(), holder(), partisan_replica:message()}
    | {suspected, node_name(), partisan_replica:version()}.
-type effect() ::
    {reply, tag(), answer()}
    | {ask, tag(), node_name(), name(), holder(), mode()}
    | {send, node_name(), message()}
    | {broadcast, message()}
    % To be answered by `resolved', once.
    | {resolve, name(), method(), pair()}
    % A process of this node has lost its name.
    | {dropped, name(), holder(), method(), partisan_names:why()}.
-export_type([method/0, mode/0, event/0, effect/0, message/0]).

-record(registry, {
    names :: partisan_names:t(),
    % Of this node's names.
    methods = #{} :: #{name() => method()},
    asking = #{} :: #{tag() => {name(), holder(), method(), mode() | ended, Home :: node_name()}},
    grants = partisan_grants:new() :: partisan_grants:t(),
    resolving = #{} :: #{name() => pair()},
    % Requests wait, the latest first, until this node knows what the others know.
    ready = {?WAIT_ROUNDS, []} :: {Rounds :: pos_integer(), [event()]} | true
}).

-opaque t() :: #registry{}.
-export_type([t/0]).

%% @doc A registry without names; for `Count' see {@link partisan_replica:new/3}.
-spec new(node_name(), partisan_peer:incarnation(), Count :: non_neg_integer()) -> t().
new(Self, Incarnation, Count) ->
    #registry{names = partisan_names:new(Self, Incarnation, Count)}.

%% @doc The names that are known.
-spec names(t()) -> partisan_names:t().
names(#registry{names = Names}) ->
    Names.

%% @doc Handles an event. Fails with any error if it is a malformed message.
-spec handle(event(), t()) -> {[effect()], t()}.
handle(Event, #registry{names = Before} = R0) ->
    case event(Event, R0) of
        {Effects, #registry{names = Before} = R} when element(1, Event) =/= resolved ->
            {Effects, R};
        {Effects, R} ->
            {Settled, #registry{names = After} = R1} = settle(R),
            {Effects ++ Settled ++ announcement(Before, After), R1}
    end.

%% Internals.

event(Event, #registry{ready = {Rounds, Held}} = R) when
    element(1, Event) =:= register; element(1, Event) =:= ask
->
    {[], R#registry{ready = {Rounds, [Event | Held]}}};
event({register, Tag, Name, Holder, Method, Mode}, #registry{names = Names} = R) ->
    % As in `global', a process has one name, unless it takes more by `replace'.
    IsAllowed = Mode =:= replace orelse partisan_names:of_holder(Holder, Names) =:= [],
    case IsAllowed andalso is_open(Name, Mode, R) of
        true -> ask(Tag, {Name, Holder, Method, Mode}, R);
        false -> {[{reply, Tag, no}], R}
    end;
event({unregister, Name}, #registry{names = Names} = R) ->
    {[], drop(partisan_names:registrations(Name, Names), Name, unregistered, R)};
event({ended, Holder}, R0) ->
    {Effects, #registry{asking = Asking0, names = Names} = R} = withdraw(Holder, R0),
    Asking = maps:map(
        fun
            (_, {Name, H, Method, _, Home}) when H =:= Holder -> {Name, H, Method, ended, Home};
            (_, Other) -> Other
        end,
        Asking0
    ),
    Dropped = lists:foldl(
        fun({Name, Registration}, Acc) -> drop([Registration], Name, ended, Acc) end,
        R#registry{asking = Asking},
        partisan_names:of_holder(Holder, Names)
    ),
    {Effects, Dropped};
event({ask, Tag, Node, Name, Holder, Mode}, R) ->
    {Answer, Granted} = grant(Node, Name, Holder, Mode, R),
    {[{reply, Tag, Answer}], Granted};
event({answered, Tag, Answer}, #registry{asking = Asking0} = R) ->
    {{Name, Holder, Method, Mode, Home}, Asking} = maps:take(Tag, Asking0),
    answered(Answer, Tag, {Name, Holder, Method, Mode}, Home, R#registry{asking = Asking});
event({message, Message}, R) ->
    message(Message, R);
event({resolved, Name, Pair, Winner}, #registry{resolving = Resolving} = R) ->
    case Resolving of
        #{Name := Pair} ->
            resolved(Name, Pair, Winner, R#registry{resolving = maps:remove(Name, Resolving)});
        #{} ->
            {[], R}
    end;
event({lost, Node}, #registry{names = Names} = R) ->
    case partisan_names:has_entries(Node, Names) of
        true -> {[], lost(Node, R)};
        false -> suspect(Node, R)
    end;
event({round, IsAlone}, #registry{names = Names, grants = Grants, ready = Ready} = R0) ->
    Replica = partisan_replica:round(replica(R0)),
    R = R0#registry{
        names = partisan_names:merged(Replica, Names), grants = partisan_grants:round(Grants)
    },
    case Ready of
        {Rounds, Held} when not IsAlone, Rounds > 1 ->
            {[], R#registry{ready = {Rounds - 1, Held}}};
        _ ->
            ready(R)
    end.

message({settled, Name, Holder, {entries, _} = Entries}, R) ->
    {Effects, Settled} = message(Entries, R),
    {Effects, end_grant(Name, Holder, Settled)};
message({suspected, Node, Version}, #registry{names = Names} = R) ->
    IsOwn = Node =:= self_name(R),
    case partisan_replica:version(Node, replica(R)) of
        none ->
            {[], R};
        Newer when Newer > Version ->
            {[], R};
        _ when IsOwn ->
            {[], R#registry{names = partisan_names:touch(Names)}};
        _ ->
            % A node with entries is monitored here.
            case partisan_names:has_entries(Node, Names) of
                true -> {[], R};
                false -> {[], lost(Node, R)}
            end
    end;
message(Message, #registry{names = Names} = R0) ->
    {Answers, Replica} = partisan_replica:handle(Message, replica(R0)),
    {Effects, R} = heard(Message, R0#registry{names = partisan_names:merged(Replica, Names)}),
    {[{send, Node, Answer} || {Node, Answer} <- Answers] ++ Effects, R}.

%% Registration.

%% The answer to a question of this node comes after what the node lacks; but that may be lost.
heard({digest, _From, Digest, false}, R) ->
    case partisan_replica:covers(Digest, replica(R)) of
        true -> ready(R);
        false -> {[], R}
    end;
heard(_Message, R) ->
    {[], R}.

ready(#registry{ready = true} = R) ->
    {[], R};
ready(#registry{ready = {_, Held}} = R) ->
    lists:foldr(
        fun(Event, {Effects, Acc0}) ->
            {More, Acc} = event(Event, Acc0),
            {Effects ++ More, Acc}
        end,
        {[], R#registry{ready = true}},
        Held
    ).

%% Ends the requests of a process that wait.
withdraw(Holder, #registry{ready = {Rounds, Held}} = R) ->
    {Own, Others} = lists:partition(
        fun(Event) -> element(1, Event) =:= register andalso element(4, Event) =:= Holder end, Held
    ),
    Effects = [{reply, Tag, no} || {register, Tag, _, _, _, _} <- Own],
    {Effects, R#registry{ready = {Rounds, Others}}};
withdraw(_Holder, R) ->
    {[], R}.

ask(Tag, {Name, Holder, Method, Mode} = Wanted, #registry{asking = Asking} = R) ->
    Self = self_name(R),
    case partisan_rendezvous:ranked(Name, partisan_replica:nodes(replica(R))) of
        [Self | _] ->
            {Answer, Granted} = grant(Self, Name, Holder, Mode, R),
            answered(Answer, Tag, Wanted, Self, Granted);
        [Home | _] ->
            Asked = Asking#{Tag => {Name, Holder, Method, Mode, Home}},
            {[{ask, Tag, Home, Name, Holder, Mode}], R#registry{asking = Asked}}
    end.

grant(Node, Name, Holder, Mode, #registry{grants = Grants} = R) ->
    case is_open(Name, Mode, R) andalso partisan_grants:grant(Node, Name, Holder, Mode, Grants) of
        {ok, Granted} -> {yes, R#registry{grants = Granted}};
        _ -> {no, R}
    end.

end_grant(Name, Holder, #registry{grants = Grants} = R) ->
    R#registry{grants = partisan_grants:settled(Name, Holder, Grants)}.

is_open(Name, Mode, #registry{names = Names}) ->
    Mode =:= replace orelse Mode =:= new andalso partisan_names:registrations(Name, Names) =:= [].

answered(failed, Tag, {_, _, _, Mode} = Wanted, Home, R) ->
    {Effects, Suspected} = suspect(Home, R),
    {More, Asked} =
        case Mode of
            ended -> {[{reply, Tag, no}], Suspected};
            _ -> ask(Tag, Wanted, Suspected)
        end,
    {Effects ++ More, Asked};
answered(no, Tag, _Wanted, _Home, R) ->
    {[{reply, Tag, no}], R};
answered(yes, Tag, {Name, Holder, Method, Mode}, Home, R) ->
    % The name may have become known, or the process ended, meanwhile.
    case is_open(Name, Mode, R) of
        true -> settled(yes, Tag, Name, Holder, Home, add(Name, Holder, Method, R));
        false -> settled(no, Tag, Name, Holder, Home, R)
    end.

settled(Answer, Tag, Name, Holder, Home, R) ->
    case self_name(R) of
        Home ->
            {[{reply, Tag, Answer}], end_grant(Name, Holder, R)};
        _Other ->
            Settled = {settled, Name, Holder, partisan_replica:announcement(replica(R))},
            {[{reply, Tag, Answer}, {send, Home, Settled}], R}
    end.

%% Conflicts.

%% After a change: obeys verdicts, and begins to resolve conflicts.
settle(#registry{names = Names, methods = Methods} = R0) ->
    {Lost, Obeyed} = partisan_names:obey(Names),
    Dropped = [{dropped, Name, H, map_get(Name, Methods), Why} || {Name, H, Why} <- Lost],
    #registry{methods = Left, resolving = Resolving} =
        R = lists:foldl(
            fun({Name, _, _}, Acc) -> forget(Name, Acc) end, R0#registry{names = Obeyed}, Lost
        ),
    Conflicts = [
        {Name, Method, {First, Second}}
     || {Name, Method} <- lists:sort(maps:to_list(Left)),
        not is_map_key(Name, Resolving),
        [{{Node, _}, _} = First, Second | _] <- [partisan_names:registrations(Name, Obeyed)],
        Node =:= self_name(R)
    ],
    New = maps:from_list([{Name, Pair} || {Name, _, Pair} <- Conflicts]),
    Effects = Dropped ++ [{resolve, Name, Method, Pair} || {Name, Method, Pair} <- Conflicts],
    {Effects, R#registry{resolving = maps:merge(Resolving, New)}}.

resolved(Name, {{_, OwnHolder} = Own, {_, OtherHolder} = Other}, Winner, R) ->
    #registry{names = Names, methods = Methods} = R,
    case partisan_names:registrations(Name, Names) of
        [Own | Others] ->
            IsConflict = lists:member(Other, Others),
            OtherLoses = [Other || IsConflict, Winner =/= OtherHolder],
            OwnLoses = [Own || IsConflict, Winner =/= OwnHolder],
            Dropped = drop(OtherLoses, Name, {conflict, OwnHolder}, R),
            Why = {conflict, OtherHolder},
            Effects = [{dropped, Name, OwnHolder, map_get(Name, Methods), Why} || _ <- OwnLoses],
            {Effects, drop(OwnLoses, Name, Why, Dropped)};
        _ ->
            {[], R}
    end.

%% Names of this node.

add(Name, Holder, Method, R0) ->
    #registry{names = Names, methods = Methods} = R = forget(Name, R0),
    R#registry{
        names = partisan_names:add(Name, Holder, Names), methods = Methods#{Name => Method}
    }.

drop(Registrations, Name, Why, #registry{names = Names} = R) ->
    Self = self_name(R),
    Dropped = R#registry{names = partisan_names:drop(Registrations, Name, Why, Names)},
    case [own || {{Node, _}, _} <- Registrations, Node =:= Self] of
        [] -> Dropped;
        [own] -> forget(Name, Dropped)
    end.

forget(Name, #registry{methods = Methods, resolving = Resolving} = R) ->
    R#registry{methods = maps:remove(Name, Methods), resolving = maps:remove(Name, Resolving)}.

%% Nodes.

lost(Node, #registry{names = Names, grants = Grants} = R) ->
    R#registry{
        names = partisan_names:lost(Node, Names), grants = partisan_grants:lost(Node, Grants)
    }.

suspect(Node, R) ->
    case partisan_replica:version(Node, replica(R)) of
        none -> {[], R};
        Version -> {[{broadcast, {suspected, Node, Version}}], lost(Node, R)}
    end.

announcement(Before, After) ->
    Replica = partisan_names:replica(After),
    Self = partisan_replica:self(Replica),
    Old = partisan_replica:version(Self, partisan_names:replica(Before)),
    New = partisan_replica:version(Self, Replica),
    [{broadcast, partisan_replica:announcement(Replica)} || Old =/= New].

replica(#registry{names = Names}) ->
    partisan_names:replica(Names).

self_name(R) ->
    partisan_replica:self(replica(R)).
