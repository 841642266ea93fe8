%%% @doc Publish-subscribe over brokers: where a topic lives, and the way of a message.
%%%
%%% == Subscriptions ==
%%% Every node ranks the brokers for a topic ({@link partisan_rendezvous}). A subscriber registers
%%% with the first `replication' brokers of the topic that it has a link to: when one is lost, the
%%% others know the subscription already, and the subscriber registers with the next. It repeats a
%%% digest of its registrations once per period, which repairs losses.
%%%
%%% == Messages ==
%%% A publisher sends a message to the first broker, which sends a copy to every registered node and
%%% answers once all of them have found room: so a slow subscriber holds its publishers back. If the
%%% broker is lost first, the publisher tries the next; a subscriber drops the second copy.
%%%
%%% == A broker comes up ==
%%% Subscribers register with it at once. Publishers use it two periods later, unless there is no
%%% older one; subscribers keep the registrations that it replaces for four more.
%%%
%%% Pure: `partisan_pubsub' runs it.
-module(partisan_brokers).

-export([new/1]).
-export([configure/2]).
-export([subscribe/2]).
-export([unsubscribe/2]).
-export([publish/4]).
-export([neighbour_up/2]).
-export([neighbour_down/2]).
-export([message/3]).
-export([served/3]).
-export([outcome/3]).
-export([tick/1]).
-export([subscribers/2]).

%% Periods that a link must be up before a broker is used by publishers, and before it replaces
%% another one. The difference exceeds the time in which all nodes connect to a new broker.
-define(SETTLED, 2).
-define(REPLACES, 6).
%% Periods that a publisher waits for any broker.
-define(WAIT, 2).

-type name() :: partisan_peer:name().
-type topic() :: partisan_topics:topic().
-type id() :: partisan_topics:id().
-type message() ::
    % The topics that the sender registers, all of them, or a digest of these.
    {register, [topic()]}
    | {registered, Digest :: non_neg_integer()}
    % The digest was another one.
    | register_again
    | {publish, id(), topic(), Payload :: term()}
    | {accepted, id()}.
-type tag() :: {?MODULE, request | copy | answer, To :: name(), id()}.
-type effect() ::
    {send, name(), message()}
    % With acknowledgement; the outcome comes as `outcome/3'.
    | {send, name(), message(), tag()}
    % Copies to other subscribers, each sent with acknowledgement under its tag. When all have
    % found room, `served/3' is called.
    | {copies, Publisher :: name(), id(), topic(), Payload :: term(), [{name(), tag()}]}
    | {deliver, id(), topic(), Payload :: term()}
    % To the publishing process.
    | {answer, id(), ok | {error, no_broker | undecodable}}.

-record(publication, {
    topic :: topic(),
    payload :: term(),
    at = none :: none | name(),
    tried = [] :: [name()],
    % Periods without any broker.
    waited = 0 :: non_neg_integer()
}).

-record(brokers, {
    self :: name(),
    names = [] :: [name()],
    replication = 1 :: pos_integer(),
    % Periods since the link to a neighbour is up; this node counts as newer than its first ones.
    ages :: #{name() => integer()},
    topics = [] :: [topic()],
    % This node's registrations at brokers.
    registered = #{} :: #{name() => [topic()]},
    % As a broker: the registrations of subscribers, by subscriber and by topic.
    registry = #{} :: #{name() => [topic()]},
    subscribers = #{} :: #{topic() => #{name() => []}},
    publications = #{} :: #{id() => #publication{}}
}).

-opaque t() :: #brokers{}.
-export_type([t/0, message/0, effect/0, tag/0]).

%% @doc A node that knows no broker.
-spec new(name()) -> t().
new(Self) ->
    #brokers{self = Self, ages = #{Self => -1}}.

%% @doc Sets the brokers, and how many of them keep a topic's subscriptions.
-spec configure({[name()], Replication :: pos_integer()}, t()) -> {t(), [effect()]}.
configure({Names, Replication}, B) ->
    register_changes(B#brokers{names = Names, replication = Replication}).

%% @doc Adds a local subscription to a topic.
-spec subscribe(topic(), t()) -> {t(), [effect()]}.
subscribe(Topic, #brokers{topics = Topics} = B) ->
    register_changes(B#brokers{topics = partisan_topics:add(Topic, Topics)}).

%% @doc Removes the last local subscription to a topic.
-spec unsubscribe(topic(), t()) -> {t(), [effect()]}.
unsubscribe(Topic, #brokers{topics = Topics} = B) ->
    register_changes(B#brokers{topics = lists:delete(Topic, Topics)}).

%% @doc Publishes to all subscribers. The publication ends with an `answer'.
-spec publish(id(), topic(), Payload :: term(), t()) -> {t(), [effect()]}.
publish(Id, Topic, Payload, B) ->
    place(Id, #publication{topic = Topic, payload = Payload}, B).

%% @doc Adds a neighbour.
-spec neighbour_up(name(), t()) -> {t(), [effect()]}.
neighbour_up(Name, #brokers{ages = Ages, registered = Registered} = B) ->
    Added = B#brokers{ages = Ages#{Name => 0}, registered = maps:remove(Name, Registered)},
    also(fun register_changes/1, place_at(none, Added)).

%% @doc Removes a neighbour with its subscriptions; its publications go to other brokers.
-spec neighbour_down(name(), t()) -> {t(), [effect()]}.
neighbour_down(Name, #brokers{ages = Ages, registered = Registered} = B) ->
    Removed = B#brokers{
        ages = maps:remove(Name, Ages), registered = maps:remove(Name, Registered)
    },
    also(fun register_changes/1, place_at(Name, enter(Name, [], Removed))).

%% @doc Handles a message from another node.
-spec message(From :: name(), message(), t()) -> {t(), [effect()]}.
message(From, {register, Topics}, B) when is_list(Topics) ->
    {enter(From, Topics, B), []};
message(From, {registered, Digest}, #brokers{registry = Registry} = B) ->
    case erlang:phash2(maps:get(From, Registry, [])) of
        Digest -> {B, []};
        _ -> {B, [{send, From, register_again}]}
    end;
message(From, register_again, #brokers{registered = Registered} = B) ->
    {B, [{send, From, {register, maps:get(From, Registered, [])}}]};
message(From, {publish, {From, I, N} = Id, Topic, Payload}, B) when is_integer(I), is_integer(N) ->
    {B, serve(From, Id, Topic, Payload, B)};
message(From, {accepted, Id}, #brokers{publications = Publications} = B) ->
    case Publications of
        #{Id := #publication{at = From}} -> answer(Id, ok, B);
        #{} -> {B, []}
    end.

%% @doc All copies of a message have found room.
-spec served(Publisher :: name(), id(), t()) -> {t(), [effect()]}.
served(Self, Id, #brokers{self = Self} = B) ->
    answer(Id, ok, B);
served(Publisher, Id, B) ->
    {B, [{send, Publisher, {accepted, Id}, {?MODULE, answer, Publisher, Id}}]}.

%% @doc Handles the outcome of a message that was sent with a tag. `refused': the node is there, but
%% cannot accept this message.
-spec outcome(tag(), ok | failed | refused, t()) -> {t(), [effect()]}.
outcome({?MODULE, request, Name, Id}, Outcome, #brokers{publications = Publications} = B) ->
    case {Outcome, Publications} of
        {failed, #{Id := #publication{at = Name} = P}} -> place_elsewhere(Id, P, B);
        {refused, #{Id := #publication{at = Name}}} -> answer(Id, {error, undecodable}, B);
        _ -> {B, []}
    end;
outcome({?MODULE, copy, Name, _Id}, failed, B) ->
    % A live subscriber registers again.
    {enter(Name, [], B), []};
outcome(_Tag, _Outcome, B) ->
    {B, []}.

%% @doc Advances by one period.
-spec tick(t()) -> {t(), [effect()]}.
tick(#brokers{self = Self, ages = Ages0, registry = Registry} = B0) ->
    Ages = maps:map(fun(_, Age) -> Age + 1 end, Ages0),
    Gone = [Name || Name <- maps:keys(Registry), not is_map_key(Name, Ages)],
    B1 = lists:foldl(fun(Name, B) -> enter(Name, [], B) end, B0#brokers{ages = Ages}, Gone),
    {B2, Effects} = also(fun register_changes/1, wait_for_brokers(B1)),
    Digests = [
        {send, Name, {registered, erlang:phash2(Topics)}}
     || {Name, Topics} <- maps:to_list(B2#brokers.registered), Name =/= Self
    ],
    {B2, Effects ++ Digests}.

%% @doc The subscribed nodes that this node knows: all of them on a topic's brokers.
-spec subscribers(topic(), t()) -> [name()].
subscribers(Topic, #brokers{self = Self, topics = Topics, subscribers = Subscribers}) ->
    Known = maps:keys(maps:get(Topic, Subscribers, #{})),
    lists:usort(Known ++ [Self || lists:member(Topic, Topics)]).

%% Internals: subscriptions.

%% The brokers of a topic that are up, and those that were before the newer ones came: a publisher
%% may still use them.
homes(Topic, #brokers{names = Names, replication = Replication, ages = Ages}) ->
    Up = [
        {Name, min(Age, ?REPLACES)}
     || Name <- partisan_rendezvous:ranked({topic, Topic}, Names),
        {ok, Age} <- [maps:find(Name, Ages)]
    ],
    lists:usort([
        Home
     || Least <- lists:usort([Age || {_, Age} <- Up]),
        Home <- lists:sublist([Name || {Name, Age} <- Up, Age >= Least], Replication)
    ]).

%% Nothing to compare without brokers, however many topics there are.
register_changes(#brokers{names = [], registered = None} = B) when map_size(None) =:= 0 ->
    {B, []};
register_changes(#brokers{self = Self, topics = Topics, registered = Before} = B) ->
    Wanted = lists:foldl(
        fun({Name, Topic}, Lists) -> Lists#{Name => [Topic | maps:get(Name, Lists, [])]} end,
        #{},
        [{Name, Topic} || Topic <- lists:reverse(Topics), Name <- homes(Topic, B)]
    ),
    Changed = [
        {Name, List}
     || Name <- lists:usort(maps:keys(Wanted) ++ maps:keys(Before)),
        List <- [maps:get(Name, Wanted, [])],
        maps:get(Name, Before, []) =/= List
    ],
    Here = enter(Self, maps:get(Self, Wanted, []), B#brokers{registered = Wanted}),
    {Here, [{send, Name, {register, List}} || {Name, List} <- Changed, Name =/= Self]}.

%% Replaces the registrations of a subscriber. A faulty one may repeat a topic.
enter(Name, Topics, #brokers{registry = Registry, subscribers = Subscribers0} = B) ->
    Previous = maps:get(Name, Registry, []),
    Subscribers1 = lists:foldl(fun(T, S) -> remove(Name, T, S) end, Subscribers0, Previous),
    Subscribers2 = lists:foldl(
        fun(T, S) -> S#{T => (maps:get(T, S, #{}))#{Name => []}} end, Subscribers1, Topics
    ),
    Entered =
        case Topics of
            [] -> maps:remove(Name, Registry);
            _ -> Registry#{Name => Topics}
        end,
    B#brokers{registry = Entered, subscribers = Subscribers2}.

remove(Name, Topic, Subscribers) ->
    case maps:remove(Name, maps:get(Topic, Subscribers, #{})) of
        None when map_size(None) =:= 0 -> maps:remove(Topic, Subscribers);
        Others -> Subscribers#{Topic => Others}
    end.

%% Internals: messages.

serve(Publisher, Id, Topic, Payload, #brokers{self = Self, subscribers = Subscribers}) ->
    Names = lists:sort(maps:keys(maps:get(Topic, Subscribers, #{}))),
    Copies = [{Name, {?MODULE, copy, Name, Id}} || Name <- Names, Name =/= Self],
    [{deliver, Id, Topic, Payload} || lists:member(Self, Names)] ++
        [{copies, Publisher, Id, Topic, Payload, Copies}].

%% At the first broker that has been up for long enough, or else for longest.
place(Id, P, #brokers{self = Self, names = Names, ages = Ages} = B) ->
    #publication{topic = Topic, payload = Payload, tried = Tried} = P,
    Ranked = partisan_rendezvous:ranked({topic, Topic}, Names),
    Up = [Name || Name <- Ranked, is_map_key(Name, Ages), not lists:member(Name, Tried)],
    Aged = lists:keysort(1, [{-min(map_get(Name, Ages), ?SETTLED), Name} || Name <- Up]),
    case [Name || {_, Name} <- Aged] of
        [] ->
            {keep(Id, P#publication{at = none, tried = []}, B), []};
        [Self | _] ->
            {keep(Id, P#publication{at = Self}, B), serve(Self, Id, Topic, Payload, B)};
        [First | _] ->
            Request = {publish, Id, Topic, Payload},
            Sent = {send, First, Request, {?MODULE, request, First, Id}},
            {keep(Id, P#publication{at = First, waited = 0}, B), [Sent]}
    end.

place_elsewhere(Id, #publication{at = At, tried = Tried} = P, B) ->
    place(Id, P#publication{tried = [At | Tried]}, B).

%% In the order in which they were published.
place_at(At, #brokers{publications = Publications} = B) ->
    There = [{Id, P} || {Id, #publication{at = A} = P} <- maps:to_list(Publications), A =:= At],
    Place = fun
        ({Id, #publication{at = none} = P}) -> fun(S) -> place(Id, P, S) end;
        ({Id, P}) -> fun(S) -> place_elsewhere(Id, P, S) end
    end,
    lists:foldl(fun also/2, {B, []}, lists:map(Place, lists:sort(There))).

wait_for_brokers(#brokers{publications = Publications} = B) ->
    Waiting = [{Id, P} || {Id, #publication{at = none} = P} <- maps:to_list(Publications)],
    Wait = fun
        ({Id, #publication{waited = W}}) when W >= ?WAIT ->
            fun(S) -> answer(Id, {error, no_broker}, S) end;
        ({Id, #publication{waited = W} = P}) ->
            fun(S) -> place(Id, P#publication{waited = W + 1}, S) end
    end,
    lists:foldl(fun also/2, {B, []}, lists:map(Wait, lists:sort(Waiting))).

keep(Id, P, #brokers{publications = Publications} = B) ->
    B#brokers{publications = Publications#{Id => P}}.

answer(Id, Result, #brokers{publications = Publications} = B) ->
    {B#brokers{publications = maps:remove(Id, Publications)}, [{answer, Id, Result}]}.

also(Change, {B0, Effects}) ->
    {B, More} = Change(B0),
    {B, Effects ++ More}.
