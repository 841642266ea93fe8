%%% @doc Publish-subscribe without a broker: the subscriptions, and the way of a message. {@link
%%% partisan_brokers} is its counterpart for an overlay with brokers.
%%%
%%% == Subscriptions ==
%%% Each node writes one entry, its subscribed topics, with a version number. A new version is
%%% forwarded to all neighbours of the overlay; a new neighbour gets all entries; once per period a
%%% node compares a digest with one neighbour, which repairs losses. So a connected overlay
%%% converges. All entries are sent in several messages if they are many, and each time others come
%%% first, since a lane may have no room for the rest.
%%%
%%% == Messages ==
%%% The publisher cuts the list of the other subscribers into a few parts, and sends each part to
%%% its first node, which delivers the message and does the same with the rest: a tree of
%%% subscribers only, of logarithmic depth, fixed per publisher while the subscriptions stay. Every
%%% step is acknowledged. When a step fails, its sender serves the rest of the part itself and
%%% announces that the failed node has no subscriptions; a live node objects with a later version of
%%% its entry. After a false failure the second copy is dropped. A node that cannot accept one
%%% message has not failed.
%%%
%%% A subscription takes effect when the publisher learns of it.
%%%
%%% Pure: `partisan_pubsub' runs it.
-module(partisan_topics).

-export([new/2]).
-export([subscribe/2]).
-export([unsubscribe/2]).
-export([announce/1]).
-export([identify/1]).
-export([publish/3]).
-export([publish/4]).
-export([neighbour_up/2]).
-export([neighbour_down/2]).
-export([message/3]).
-export([outcome/3]).
-export([node_of/2]).
-export([tick/1]).
-export([subscribers/2]).
%% For partisan_brokers and partisan_pubsub.
-export([add/2]).

-define(FANOUT, 4).
%% Entries without topics, mostly of departed nodes: only the latest are kept.
-define(EMPTY, 1024).
%% By how many messages the first one moves.
-define(TURN, 16).

-type name() :: partisan_peer:name().
-type topic() :: term().
-type version() :: {partisan_peer:incarnation(), non_neg_integer()}.
-type entries() :: #{name() => {version(), [topic()]}}.
%% Unique among all published messages.
-type id() :: {name(), partisan_peer:incarnation(), pos_integer()}.
-type message() ::
    {entries, entries()}
    % The digest of the sender's entries, to be answered if it differs.
    | {compare, Digest :: non_neg_integer()}
    | {publish, id(), topic(), Payload :: term(), Rest :: [name()]}.
-type effect() ::
    {send, name(), message()}
    % With acknowledgement; the outcome comes as `outcome/3'.
    | {send, name(), message(), Tag :: pos_integer()}
    | {deliver, topic(), Payload :: term()}.

-record(topics, {
    self :: name(),
    incarnation :: partisan_peer:incarnation(),
    entries = #{} :: entries(),
    neighbours = [] :: [name()],
    turn = 0 :: non_neg_integer(),
    published = 0 :: non_neg_integer(),
    seen = partisan_received:new() :: partisan_received:t(),
    last_tag = 0 :: non_neg_integer(),
    pending = #{} :: #{Tag :: pos_integer() => {name(), message()}}
}).

-opaque t() :: #topics{}.
-export_type([t/0, topic/0, id/0, message/0, effect/0]).

%% @doc A node that knows of no subscription.
-spec new(name(), partisan_peer:incarnation()) -> t().
new(Self, Incarnation) ->
    #topics{self = Self, incarnation = Incarnation}.

%% @doc Adds a local subscription to a topic.
-spec subscribe(topic(), t()) -> {t(), [effect()]}.
subscribe(Topic, T) ->
    write(add(Topic, own(T)), T).

%% @doc Removes the last local subscription to a topic.
-spec unsubscribe(topic(), t()) -> {t(), [effect()]}.
unsubscribe(Topic, T) ->
    write(lists:delete(Topic, own(T)), T).

%% @doc Sends this node's entry to all neighbours again.
-spec announce(t()) -> {t(), [effect()]}.
announce(#topics{self = Self, entries = Entries, neighbours = Neighbours} = T) ->
    Own = maps:with([Self], Entries),
    {T, [{send, Name, {entries, Own}} || Name <- Neighbours, map_size(Own) > 0]}.

%% @doc The identifier of this node's next message.
-spec identify(t()) -> {id(), t()}.
identify(#topics{self = Self, incarnation = Incarnation, published = Last} = T) ->
    {{Self, Incarnation, Last + 1}, T#topics{published = Last + 1}}.

%% @doc Publishes to all known subscribers, including this node.
-spec publish(topic(), Payload :: term(), t()) -> {t(), [effect()]}.
publish(Topic, Payload, T0) ->
    {Id, T} = identify(T0),
    publish(Id, Topic, Payload, T).

%% @doc Publishes a message with this identifier.
-spec publish(id(), topic(), Payload :: term(), t()) -> {t(), [effect()]}.
publish(Id, Topic, Payload, #topics{self = Self} = T) ->
    All = subscribers(Topic, T),
    Ranked = lists:sort([{erlang:phash2({Topic, Name}), Name} || Name <- All, Name =/= Self]),
    {Here, Deliveries} = message(Self, {publish, Id, Topic, Payload, []}, T),
    {Next, Sends} = spread(Id, Topic, Payload, [Name || {_, Name} <- Ranked], Here),
    {Next, Deliveries ++ Sends}.

%% @doc Adds a neighbour, which gets all entries.
-spec neighbour_up(name(), t()) -> {t(), [effect()]}.
neighbour_up(Name, #topics{neighbours = Neighbours} = T) ->
    send_all(Name, T#topics{neighbours = lists:usort([Name | Neighbours])}).

%% @doc Removes a neighbour.
-spec neighbour_down(name(), t()) -> {t(), [effect()]}.
neighbour_down(Name, #topics{neighbours = Neighbours} = T) ->
    {T#topics{neighbours = lists:delete(Name, Neighbours)}, []}.

%% @doc Handles a message from another node.
-spec message(From :: name(), message(), t()) -> {t(), [effect()]}.
message(From, {entries, Heard}, #topics{entries = Known} = T) ->
    News = maps:filter(
        fun(Name, Entry) -> is_entry(Name, Entry) andalso is_newer(Entry, Name, Known) end, Heard
    ),
    learn(From, News, T);
message(From, {compare, Digest}, T) ->
    case digest(T) of
        Digest -> {T, []};
        % A peer that knows more answers in turn, since that is news, or compares itself.
        _ -> send_all(From, T)
    end;
message(_From, {publish, Id, Topic, Payload, Rest}, T0) ->
    case partisan_received:contains(Id, T0#topics.seen) of
        true ->
            {T0, []};
        false ->
            Seen = partisan_received:add(Id, T0#topics.seen),
            Here = [{deliver, Topic, Payload} || lists:member(Topic, own(T0))],
            {T, Sends} = spread(Id, Topic, Payload, Rest, T0#topics{seen = Seen}),
            {T, Here ++ Sends}
    end;
message(_From, _OfAnotherVersion, T) ->
    {T, []}.

%% @doc Handles the outcome of a step; `refused': the node is alive, and cannot accept this message.
-spec outcome(Tag :: pos_integer(), ok | failed | refused, t()) -> {t(), [effect()]}.
outcome(Tag, Outcome, #topics{pending = Pending} = T0) ->
    case maps:take(Tag, Pending) of
        {_, Others} when Outcome =:= ok ->
            {T0#topics{pending = Others}, []};
        {{Name, {publish, Id, Topic, Payload, Rest}}, Others} ->
            {T1, Sends} = spread(Id, Topic, Payload, Rest, T0#topics{pending = Others}),
            case Outcome of
                failed ->
                    {T, News} = give_up(Name, T1),
                    {T, Sends ++ News};
                refused ->
                    {T1, Sends}
            end;
        error ->
            {T0, []}
    end.

%% @doc The node of a step that has not ended.
-spec node_of(Tag :: pos_integer(), t()) -> {ok, name()} | error.
node_of(Tag, #topics{pending = Pending}) ->
    case Pending of
        #{Tag := {Name, _}} -> {ok, Name};
        #{} -> error
    end.

%% @doc Advances by one period: compares with the next neighbour.
-spec tick(t()) -> {t(), [effect()]}.
tick(#topics{neighbours = []} = T) ->
    {T, []};
tick(#topics{neighbours = [Next | Others]} = T) ->
    {T#topics{neighbours = Others ++ [Next]}, [{send, Next, {compare, digest(T)}}]}.

%% @doc The nodes known to subscribe.
-spec subscribers(topic(), t()) -> [name()].
subscribers(Topic, #topics{entries = Entries}) ->
    [Name || {Name, {_, Topics}} <- maps:to_list(Entries), lists:member(Topic, Topics)].

%% @doc Adds a topic to a sorted list, once. Not `lists:usort/1': 1 and 1.0 are two topics.
-spec add(topic(), [topic()]) -> [topic()].
add(Topic, Topics) ->
    lists:sort([Topic | lists:delete(Topic, Topics)]).

%% Internals: subscriptions.

own(#topics{self = Self, entries = Entries}) ->
    {_, Topics} = maps:get(Self, Entries, {none, []}),
    Topics.

write(Topics, #topics{self = Self, incarnation = Incarnation, entries = Entries} = T) ->
    Number =
        case Entries of
            #{Self := {{Incarnation, Last}, _}} -> Last + 1;
            #{} -> 1
        end,
    learn(Self, #{Self => {{Incarnation, Number}, Topics}}, T).

%% Entries made up by a faulty member must not be forwarded.
is_entry(Name, {{Incarnation, Number}, Topics}) when length(Topics) >= 0 ->
    is_binary(Name) andalso is_integer(Incarnation) andalso is_integer(Number);
is_entry(_Name, _Entry) ->
    false.

is_newer({Version, _}, Name, Known) ->
    case Known of
        #{Name := {Older, _}} -> Version > Older;
        #{} -> true
    end.

send_all(Name, #topics{entries = Entries, turn = Turn} = T) ->
    Parts = partisan_replica:parts(Entries),
    {Later, First} = lists:split(Turn rem max(1, length(Parts)), Parts),
    {T#topics{turn = Turn + ?TURN}, [{send, Name, {entries, Part}} || Part <- First ++ Later]}.

learn(_From, News, T) when map_size(News) =:= 0 ->
    {T, []};
learn(From, News0, #topics{self = Self, incarnation = Incarnation, entries = Known} = T0) ->
    Topics = own(T0),
    Entries = bound(Self, maps:merge(Known, News0)),
    News = maps:with(maps:keys(Entries), News0),
    T1 = T0#topics{entries = Entries},
    Others = [Name || Name <- T0#topics.neighbours, Name =/= From, map_size(News) > 0],
    Forwards = [{send, Name, {entries, News}} || Name <- Others],
    case News of
        #{Self := {{Incarnation, _}, Claimed}} when From =/= Self, Claimed =/= Topics ->
            % Another node treats this one as dead.
            {T, Objection} = write(Topics, T1),
            {T, Forwards ++ Objection};
        #{} ->
            {T1, Forwards}
    end.

%% All nodes keep the same ones; otherwise they would send each other those that they have dropped.
bound(Self, Entries) ->
    Empty = [{Version, Name} || {Name, {Version, []}} <- maps:to_list(Entries), Name =/= Self],
    case length(Empty) - ?EMPTY of
        Excess when Excess > 0 ->
            maps:without([Name || {_, Name} <- lists:sublist(lists:sort(Empty), Excess)], Entries);
        _ ->
            Entries
    end.

%% Assumes that incarnation dead until it objects.
give_up(Name, #topics{self = Self, entries = Entries} = T) ->
    case Entries of
        #{Name := {{Incarnation, Number}, [_ | _]}} ->
            learn(Self, #{Name => {{Incarnation, Number + 1}, []}}, T);
        #{} ->
            {T, []}
    end.

digest(#topics{entries = Entries}) ->
    erlang:phash2(Entries).

%% Internals: the tree.

spread(Id, Topic, Payload, Names, T0) ->
    lists:foldl(
        fun([Name | Rest], {#topics{last_tag = Last, pending = Pending} = T, Sends}) ->
            Tag = Last + 1,
            Message = {publish, Id, Topic, Payload, Rest},
            Next = T#topics{last_tag = Tag, pending = Pending#{Tag => {Name, Message}}},
            {Next, [{send, Name, Message, Tag} | Sends]}
        end,
        {T0, []},
        parts(Names)
    ).

parts([]) ->
    [];
parts(Names) ->
    parts(Names, (length(Names) + ?FANOUT - 1) div ?FANOUT).

parts(Names, Size) when length(Names) =< Size ->
    [Names];
parts(Names, Size) ->
    {Part, Others} = lists:split(Size, Names),
    [Part | parts(Others, Size)].
