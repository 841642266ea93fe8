%%% @doc A key-value store with read and write quorums (Gifford, "Weighted voting for replicated
%%% data", SOSP 1979). Writes take one round, as in Thomas, "A majority consensus approach to
%%% concurrency control for multiple copy databases", ACM TODS 1979; reads write back, as in
%%% Attiya et al., "Sharing memory robustly in message-passing systems", JACM 1995.
%%%
%%% Every member is a replica, and coordinates the requests of its clients. A write proposes a
%%% version later than any that its coordinator knows; a replica with a later one refuses. A read
%%% asks for the newest version of a read quorum; if replies differ it stores that version at a
%%% write quorum (`write_back') before it answers, so that no later read returns an older one.
%%%
%%% == Guarantee ==
%%% With read and write quorums that intersect, write quorums that intersect, and `write_back', each
%%% key is an atomic register as long as replicas keep what they have persisted and do not lie. A
%%% request that does not reach its quorum in time is answered by `{error, timeout}', a write that
%%% too many replicas refuse by `{error, conflict}'. Either way the write may have taken effect, or
%%% may take effect with a later read, or never. Members may join until there are `replicas' of
%%% them: quorums do not depend on who knows of whom. None can be replaced.
%%%
%%% With quorums of 1 a node reads and writes its own copy, and `repair' spreads the versions: the
%%% store is then eventually consistent.
%%%
%%% == Requests ==
%%% `{write, Key, Value}' is answered by `ok'; `{read, Key}' by `{ok, Value}', by `not_found', or by
%%% `{error, {disagree, Values}}' if replicas hold different values in one version.
%%%
%%% == Options ==
%%% <ul>
%%% <li>`replicas': how many there will be; the number of members at the start</li>
%%% <li>`read_quorum', `write_quorum': a number, or `majority' of the replicas; `majority'</li>
%%% <li>`write_back': whether reads are atomic; `true'</li>
%%% <li>`timeout': milliseconds for a request; 1,000</li>
%%% <li>`repair': milliseconds between exchanges of all versions with the next member, 0 for never;
%%%     0</li>
%%% </ul>
-module(quorum_kv).

-behaviour(partisan_process).

-export([init/1]).
-export([handle/2]).
-export([scenario/1]).
-export([verdict/1]).
-export([contents/1]).

-type name() :: partisan_process:name().
-type version() :: {Counter :: integer(), Writer :: name()}.
-type store() :: #{Key :: term() => {version(), Value :: term()}}.
-type quorum() :: pos_integer() | majority.

-record(request, {
    ref :: term(),
    key :: term(),
    % Of a read that asks.
    replies = [] :: [{name(), version(), Value :: term()}],
    % Of a write, or of a read that writes back: not empty then.
    stored = [] :: [name()],
    refused = [] :: [name()],
    answer = ok :: term()
}).

-record(node, {
    self :: name(),
    members :: [name()],
    replicas :: pos_integer(),
    read_quorum :: quorum(),
    write_quorum :: quorum(),
    write_back :: boolean(),
    timeout :: pos_integer(),
    repair :: non_neg_integer(),
    incarnation :: pos_integer(),
    next = 1 :: pos_integer(),
    % No smaller than the counter of any version that refused a proposal.
    clock = 0 :: integer(),
    store :: store(),
    requests = #{} :: #{{Incarnation :: pos_integer(), pos_integer()} => #request{}}
}).

-opaque t() :: #node{}.
-export_type([t/0]).

-define(NONE, {0, <<>>}).

%% @private
-spec init(partisan_process:options()) -> {t(), [partisan_process:effect()]}.
init(#{self := Self, members := Members} = Options) ->
    {Previous, Known, Store} = maps:get(persisted, Options, {0, Members, #{}}),
    Node = #node{
        self = Self,
        members = Known,
        replicas = maps:get(replicas, Options, length(Members)),
        read_quorum = maps:get(read_quorum, Options, majority),
        write_quorum = maps:get(write_quorum, Options, majority),
        write_back = maps:get(write_back, Options, true),
        timeout = maps:get(timeout, Options, 1000),
        repair = maps:get(repair, Options, 0),
        % A late reply to a previous incarnation must not answer a request of this one.
        incarnation = Previous + 1,
        store = Store
    },
    {Node, [persist(Node) | start_repair(Node)]}.

%% @private
-spec handle(partisan_process:event(), t()) -> {t(), [partisan_process:effect()]}.
handle({call, Ref, {write, Key, Value}}, #node{self = Self, clock = Clock} = N) ->
    {{Counter, _}, _} = find(Key, N),
    Version = {max(Clock, Counter) + 1, Self},
    Propose = fun(Id, R, Begun) -> store_at_quorum(propose, Id, R, Version, Value, Begun) end,
    start(Propose, Ref, Key, N);
handle({call, Ref, {read, Key}}, #node{} = N) ->
    start(fun read_at_quorum/3, Ref, Key, N);
handle({message, From, {query, Id, Key}}, #node{store = Store} = N) ->
    Answer =
        case Store of
            #{Key := {Version, Value}} -> {value, Id, Version, Value};
            #{} -> {unknown, Id}
        end,
    {N, [{send, From, Answer}]};
handle({message, From, {value, Id, Version, Value}}, #node{} = N) ->
    replied(From, Id, Version, Value, N);
handle({message, From, {unknown, Id}}, #node{} = N) ->
    replied(From, Id, ?NONE, undefined, N);
handle({message, From, {propose, Id, Key, Version, Value}}, #node{} = N) ->
    case find(Key, N) of
        {Later, _} when Later > Version ->
            {N, [{send, From, {refused, Id, Later}}]};
        _ ->
            {Stored, Effects} = store(Key, Version, Value, N),
            {Stored, Effects ++ [{send, From, {stored, Id}}]}
    end;
handle({message, From, {refused, Id, {Counter, _}}}, #node{requests = Requests} = N0) ->
    N = N0#node{clock = max(N0#node.clock, Counter)},
    case Requests of
        #{Id := #request{refused = Names} = R} ->
            refused(Id, R#request{refused = lists:usort([From | Names])}, N);
        #{} ->
            {N, []}
    end;
handle({message, From, {store, Id, Key, Version, Value}}, #node{} = N) ->
    {Stored, Effects} = store(Key, Version, Value, N),
    {Stored, Effects ++ [{send, From, {stored, Id}}]};
handle({message, From, {stored, Id}}, #node{requests = Requests} = N) ->
    case Requests of
        #{Id := #request{stored = [_ | _] = Names} = R} ->
            stored(Id, R#request{stored = lists:usort([From | Names])}, N);
        #{} ->
            {N, []}
    end;
handle({timer, {timeout, Id}}, #node{requests = Requests} = N) ->
    answer(Id, map_get(Id, Requests), {error, timeout}, N);
handle({timer, repair}, #node{} = N) ->
    Exchange = [{send, Next, {repair, entries(N#node.store)}} || Next <- successor(N)],
    {N, Exchange ++ start_repair(N)};
handle({message, From, {repair, Theirs}}, #node{} = N0) ->
    {N, Effects} = store_all(Theirs, N0),
    Newer = entries(N#node.store) -- Theirs,
    {N, Effects ++ [{send, From, {newer, Newer}} || Newer =/= []]};
handle({message, _From, {newer, Entries}}, #node{} = N) ->
    store_all(Entries, N);
handle({members, Members}, #node{} = N0) ->
    N = N0#node{members = Members},
    {N, [persist(N)]}.

%% @doc The keys and values of this replica, sorted.
-spec contents(t()) -> [{Key :: term(), Value :: term()}].
contents(#node{store = Store}) ->
    [{Key, Value} || {Key, _Version, Value} <- entries(Store)].

%% @doc A write, and when it has its answer a read at another node.
-spec scenario([name()]) -> [{non_neg_integer(), name(), partisan_process:event()}].
scenario(Members) ->
    [
        {0, hd(Members), {call, write, {write, x, 1}}},
        {2000, lists:last(Members), {call, read, {read, x}}}
    ].

%% @doc A read after an acknowledged write has its value, or no answer in time.
-spec verdict(partisan_process:outcome()) -> ok | {violated, iodata()}.
verdict(#{replies := Replies}) ->
    case {lists:keyfind(write, 2, Replies), lists:keyfind(read, 2, Replies)} of
        {{_, write, ok}, {_, read, Answer}} when Answer =/= {ok, 1}, Answer =/= {error, timeout} ->
            {violated, io_lib:format("acknowledged, but the read has ~tp", [Answer])};
        _ ->
            ok
    end.

%% Internals: requests.

start(Begin, Ref, Key, #node{next = Next} = N0) ->
    Id = {N0#node.incarnation, Next},
    {N, Effects} = Begin(Id, #request{ref = Ref, key = Key}, N0#node{next = Next + 1}),
    Timer = [{start_timer, {timeout, Id}, N#node.timeout} || is_map_key(Id, N#node.requests)],
    {N, Effects ++ Timer}.

read_at_quorum(Id, #request{key = Key} = R, #node{self = Self} = N0) ->
    {Version, Value} = find(Key, N0),
    {N, Effects} = queried(Id, R#request{replies = [{Self, Version, Value}]}, N0),
    % A quorum of 1 asks no other replica.
    Asked = [Other || quorum(N#node.read_quorum, N) > 1, Other <- others(N)],
    {N, [{send, Other, {query, Id, Key}} || Other <- Asked] ++ Effects}.

replied(From, Id, Version, Value, #node{requests = Requests} = N) ->
    case Requests of
        % Replies after the quorum's change nothing, nor does one that comes twice.
        #{Id := #request{stored = [], replies = Replies} = R} ->
            Others = lists:keydelete(From, 1, Replies),
            queried(Id, R#request{replies = Others ++ [{From, Version, Value}]}, N);
        #{} ->
            {N, []}
    end.

queried(Id, #request{replies = Replies} = R, #node{} = N) ->
    case length(Replies) >= quorum(N#node.read_quorum, N) of
        true -> decided(Id, R, N);
        false -> {keep(Id, R, N), []}
    end.

decided(Id, #request{replies = Replies} = R, #node{} = N) ->
    Newest = lists:max([Version || {_, Version, _} <- Replies]),
    [Value | Others] = [Value || {_, Version, Value} <- Replies, Version =:= Newest],
    case [Other || Other <- Others, Other =/= Value] of
        [_ | _] ->
            answer(Id, R, {error, {disagree, [Value | Others]}}, N);
        [] when Newest =:= ?NONE ->
            answer(Id, R, not_found, N);
        [] when length(Others) + 1 < length(Replies), N#node.write_back ->
            store_at_quorum(store, Id, R#request{answer = {ok, Value}}, Newest, Value, N);
        [] ->
            answer(Id, R, {ok, Value}, N)
    end.

%% This replica stores first: a coordinator that restarts must not give a version to two values.
store_at_quorum(Store, Id, #request{key = Key} = R, Version, Value, #node{self = Self} = N0) ->
    {N1, Persist} = store(Key, Version, Value, N0),
    {N, Effects} = stored(Id, R#request{stored = [Self]}, N1),
    Stores = [{send, Other, {Store, Id, Key, Version, Value}} || Other <- others(N)],
    {N, Persist ++ Stores ++ Effects}.

stored(Id, #request{stored = Names, answer = Answer} = R, #node{} = N) ->
    case length(Names) >= quorum(N#node.write_quorum, N) of
        true -> answer(Id, R, Answer, N);
        false -> {keep(Id, R, N), []}
    end.

%% Answers when too few replicas are left for a quorum.
refused(Id, #request{refused = Names} = R, #node{replicas = Replicas} = N) ->
    case Replicas - length(Names) < quorum(N#node.write_quorum, N) of
        true -> answer(Id, R, {error, conflict}, N);
        false -> {keep(Id, R, N), []}
    end.

keep(Id, #request{} = R, #node{requests = Requests} = N) ->
    N#node{requests = Requests#{Id => R}}.

answer(Id, #request{ref = Ref}, Answer, #node{requests = Requests} = N) ->
    Timer = [{cancel_timer, {timeout, Id}} || is_map_key(Id, Requests)],
    {N#node{requests = maps:remove(Id, Requests)}, Timer ++ [{reply, Ref, Answer}]}.

quorum(majority, #node{replicas = Replicas}) -> Replicas div 2 + 1;
quorum(Number, #node{}) -> Number.

others(#node{self = Self, members = Members}) ->
    lists:delete(Self, Members).

%% Internals: the replica.

find(Key, #node{store = Store}) ->
    maps:get(Key, Store, {?NONE, undefined}).

store(Key, Version, Value, #node{store = Store} = N) ->
    case find(Key, N) of
        {Own, _} when Own >= Version ->
            {N, []};
        _ ->
            Stored = N#node{store = Store#{Key => {Version, Value}}},
            {Stored, [persist(Stored)]}
    end.

store_all(Entries, #node{} = N0) ->
    lists:foldl(
        fun({Key, Version, Value}, {N, Effects}) ->
            {Stored, Persist} = store(Key, Version, Value, N),
            {Stored, Effects ++ Persist}
        end,
        {N0, []},
        Entries
    ).

persist(#node{incarnation = Incarnation, members = Members, store = Store}) ->
    {persist, {Incarnation, Members, Store}}.

entries(Store) ->
    [{Key, Version, Value} || {Key, {Version, Value}} <- lists:sort(maps:to_list(Store))].

start_repair(#node{repair = 0}) -> [];
start_repair(#node{repair = Interval}) -> [{start_timer, repair, Interval}].

%% The next member, in a ring.
successor(#node{self = Self} = N) ->
    Others = others(N),
    lists:sublist([Name || Name <- Others, Name > Self] ++ Others, 1).
