%%% @doc One request of a client to the key-value store, as its coordinator conducts it.
%%%
%%% A request is a value: it takes answers and timers, and returns commands for indexes. Any node
%%% can coordinate, in the process of its caller.
%%%
%%% == Reads ==
%%% All N indexes of the key are asked, with `digest' all but the first for a hash; R matching votes
%%% are the answer, and those that lack something are repaired. A vote that is behind the context
%%% of the client's session widens the read. `atomic': the answer is written back to W replicas
%%% first, so that no later read is older.
%%%
%%% == Writes ==
%%% One index executes the write: it gives it a dot. Then the result is stored on the others. Only
%%% the first step must not be repeated, and it never is, unless an index has answered that it did
%%% not execute it (it has moved, or does not serve) or the command has not left this node. If there
%%% is no answer, the outcome is unknown.
%%%
%%% `sloppy': if holders cannot be asked, a second attempt goes to stand-ins, which keep the result
%%% as a hint ({@link ring_hints}), and execute the write if no holder does. A write that has its
%%% quorum only with them is `hinted': a quorum read need not cover it before its delivery, which
%%% is the operation `store'.
%%%
%%% == Votes ==
%%% Every vote names the incarnation of its index, and what it knows of the others'. A vote of an
%%% incarnation that any vote knows to be over does not count: what it confirms may be lost. The
%%% index is asked again where it is now.
%%%
%%% Longer than 300 lines: reads and writes share votes, retries and addresses.
-module(ring_request).

-export([new/3]).
-export([handle/2]).

-type index() :: ring_state:index().
-type key() :: ring_replica:key().
-type tag() :: write | store | read | digest | repair.
%% That executes commands: an index, or the hints of a node.
-type place() :: index() | {hints, ring_state:member()}.

%% `timeout': in milliseconds. `retry': between questions to indexes that did not serve. `context':
%% of the session, or for a write of the value that it replaces. `prefer': where to execute a write,
%% if it holds the key.
-type options() :: #{
    read => pos_integer(),
    write => pos_integer(),
    mode => quorum | atomic,
    availability => strict | sloppy,
    reads => full | digest,
    context => ring_dvv:context(),
    prefer => ring_state:member(),
    timeout => pos_integer(),
    retry => pos_integer()
}.

%% `store': of a set, on a quorum.
-type operation() ::
    {get, key()}
    | {put, key(), {value, ring_dvv:value()} | none}
    | {store, key(), ring_dvv:t()}.

%% `unreachable': the command has not left this node, or its node has no such seat. `lost': the
%% node's incarnation, with what it had to answer.
-type event() ::
    {answer, tag(), place(), ring_seat:answer() | ring_hints:answer()}
    | {unreachable, tag(), place()}
    | {lost, ring_state:member()}
    | {retry, ring_view:t()}
    | deadline.

-type result() ::
    {ok, ring_dvv:t(), ring_dvv:context()}
    | {ok | hinted, ring_dvv:dot(), ring_dvv:t(), ring_dvv:context()}
    | {error, unavailable | timeout}.

-type effect() ::
    {command, tag(), place(), ring_state:member(), ring_view:partition(),
        ring_kvs_vnode:command() | ring_hints:command()}
    | {start_timer, retry | deadline, Milliseconds :: pos_integer()}
    | {done, result()}.

-export_type([options/0, operation/0, event/0, effect/0, result/0, tag/0, place/0]).

-record(vote, {
    incarnation :: ring_state:incarnation(),
    % `stored': holds the result, whatever that is.
    holds :: {set, ring_dvv:t()} | {digest, non_neg_integer()} | stored
}).

-record(request, {
    operation :: operation(),
    options :: options(),
    partition :: ring_view:partition(),
    % In order of preference.
    indexes :: [index()],
    addresses :: #{index() => {ring_state:incarnation() | none, ring_state:member()}},
    known = ring_known:new() :: ring_known:t(),
    phase :: reading | writing | storing,
    votes = #{} :: #{index() => #vote{}},
    % What has been asked and not answered.
    pending = #{} :: #{place() => tag()},
    % Of a write: places that are still to be tried, until the next retry.
    untried = [] :: [place()],
    % Of a sloppy write: nodes that may keep it, and that do.
    stand_ins = [] :: [ring_state:member()],
    kept = [] :: [ring_state:member()],
    dot = none :: none | ring_dvv:dot(),
    set = ring_dvv:new() :: ring_dvv:t()
}).

-opaque t() :: #request{}.

-export_type([t/0]).

-define(QUORUM, 2).
-define(TIMEOUT_MS, 10000).
-define(RETRY_MS, 50).

%% @doc Begins a request.
-spec new(operation(), ring_view:t(), options()) -> {t(), [effect()]}.
new(Operation, View, Options) ->
    Partition = ring_view:partition(element(2, Operation), View),
    Indexes = [Index || {Index, _} <- ring_view:preference(Partition, View)],
    Request = #request{
        operation = Operation,
        options = Options,
        partition = Partition,
        indexes = Indexes,
        addresses = maps:from_list([{I, address(I, View)} || I <- Indexes]),
        phase = reading,
        stand_ins = stand_ins(Operation, Partition, View, Options)
    },
    {Begun, Effects} = begin_operation(Operation, Request),
    Timeout = maps:get(timeout, Options, ?TIMEOUT_MS),
    {Begun, [{start_timer, deadline, Timeout}, {start_timer, retry, retry(Begun)} | Effects]}.

%% @doc Handles an event. After the effect `done' there must be no more.
-spec handle(event(), t()) -> {t(), [effect()]}.
handle({answer, repair, _Index, _Answer}, Request) ->
    {Request, []};
handle({answer, Tag, Index, Answer}, #request{pending = Pending} = Request) ->
    case Pending of
        #{Index := Tag} -> answered(Tag, Index, Answer, settle(Index, Request));
        #{} -> {Request, []}
    end;
handle({unreachable, Tag, Index}, #request{pending = Pending} = Request) ->
    case Pending of
        #{Index := Tag} -> failed(Tag, Index, settle(Index, Request));
        #{} -> {Request, []}
    end;
handle({lost, Node}, #request{pending = Pending} = Request) ->
    Lost = [I || {I, _} <- lists:sort(maps:to_list(Pending)), node_of(I, Request) =:= Node],
    case [I || I <- Lost, map_get(I, Pending) =:= write] of
        [_] -> {Request, [{done, {error, timeout}}]};
        [] -> {lists:foldl(fun settle/2, Request, Lost), []}
    end;
handle({retry, View}, #request{indexes = Indexes, addresses = Addresses} = Request) ->
    Newer = maps:from_list([{I, max(address(I, View), map_get(I, Addresses))} || I <- Indexes]),
    {Next, Effects} = ask_again(Request#request{addresses = Newer}),
    {Next, [{start_timer, retry, retry(Request)} | Effects]};
handle(deadline, #request{phase = storing} = Request) ->
    {Request, [{done, {error, failure(Request)}}]};
handle(deadline, #request{pending = Pending} = Request) ->
    Reason =
        case lists:member(write, maps:values(Pending)) of
            true -> timeout;
            false -> unavailable
        end,
    {Request, [{done, {error, Reason}}]}.

%% Internals: questions.

begin_operation({get, Key}, #request{indexes = [First | Others]} = Request) ->
    Tags = [{First, read} | [{I, other_reads(Request)} || I <- Others]],
    ask([{I, Tag, command(Tag, Key)} || {I, Tag} <- Tags], Request);
begin_operation({put, _, _}, #request{indexes = Indexes, options = Options} = Request) ->
    Prefer = maps:get(prefer, Options, none),
    {Here, Elsewhere} = lists:partition(
        fun(I) -> node_of(I, Request) =:= Prefer end, Indexes
    ),
    try_next(Request#request{phase = writing, untried = Here ++ Elsewhere});
begin_operation({store, _, Set}, Request) ->
    ask_stores(Request#request{phase = storing, set = Set}).

other_reads(#request{options = #{reads := digest}}) -> digest;
other_reads(_Request) -> read.

command(read, Key) -> {read, Key};
command(digest, Key) -> {digest, Key}.

%% The next place executes the write; with none left, the retry timer begins again.
try_next(#request{untried = [Place | Others], operation = {put, Key, Value}} = Request) ->
    Command =
        case Place of
            {hints, _} -> {write, Key, Value, session(Request), quorum(write, Request)};
            _ -> {write, Key, Value, session(Request)}
        end,
    ask([{Place, write, Command}], Request#request{untried = Others});
try_next(#request{untried = []} = Request) ->
    {Request, []}.

ask(Questions, #request{partition = P, pending = Pending} = Request) ->
    Asked = maps:from_list([{I, Tag} || {I, Tag, _} <- Questions]),
    Commands = [
        {command, Tag, I, node_of(I, Request), P, Command}
     || {I, Tag, Command} <- Questions
    ],
    {Request#request{pending = maps:merge(Pending, Asked)}, Commands}.

%% Asks those without a valid vote that are not pending.
ask_again(#request{phase = writing, pending = Pending, indexes = Indexes} = Request) ->
    case map_size(Pending) of
        0 -> try_next(Request#request{untried = Indexes ++ free_places(Request)});
        _ -> {Request, []}
    end;
ask_again(#request{phase = reading, operation = {get, Key}} = Request) ->
    ask([{I, read, {read, Key}} || I <- missing(Request)], Request);
ask_again(#request{phase = storing} = Request) ->
    Absent = length(missing(Request)),
    {Asked, Effects} = ask_stores(Request),
    Places = free_places(Asked),
    {Next, More} = ask_stand_ins(min(Absent, lacking(Asked)), Asked#request{untried = Places}),
    {Next, Effects ++ More}.

ask_stores(#request{operation = Operation, set = Set} = Request) ->
    Key = element(2, Operation),
    ask([{I, store, {store, Key, Set}} || I <- missing(Request)], Request).

ask_stand_ins(Count, #request{operation = Operation, set = Set, untried = Untried} = Request) ->
    {Places, Later} = lists:split(max(0, min(Count, length(Untried))), Untried),
    Command = {keep, element(2, Operation), Set, quorum(write, Request)},
    ask([{Place, store, Command} || Place <- Places], Request#request{untried = Later}).

%% Nodes that the quorum lacks, if the stand-ins that have been asked agree.
lacking(#request{pending = Pending} = Request) ->
    Asked = length([asked || {hints, _} <- maps:keys(Pending)]),
    quorum(write, Request) - length(confirmed(Request)) - Asked.

%% The hints of nodes that are not asked for an index.
free_places(#request{stand_ins = StandIns, indexes = Indexes, pending = Pending} = Request) ->
    Used = Request#request.kept ++ [node_of(I, Request) || I <- Indexes ++ maps:keys(Pending)],
    [{hints, Node} || Node <- StandIns, not lists:member(Node, Used)].

missing(#request{indexes = Indexes, pending = Pending, votes = Votes} = Request) ->
    [
        I
     || I <- Indexes,
        not is_map_key(I, Pending),
        not (is_map_key(I, Votes) andalso is_valid(I, Request))
    ].

%% Internals: answers.

answered(Tag, Index, {vote, Index, Incarnation, Known, Reply}, Request) ->
    #request{known = Before, votes = Votes, addresses = Addresses} = Request,
    Vote = #vote{incarnation = Incarnation, holds = holds(Reply)},
    Learnt = Request#request{
        known = ring_known:merge(Known, Before),
        votes = Votes#{Index => Vote},
        addresses = Addresses#{Index := {Incarnation, element(2, map_get(Index, Addresses))}}
    },
    voted(Tag, Reply, Learnt);
answered(Tag, {hints, Node}, {kept, Reply}, #request{kept = Kept} = Request) ->
    voted(Tag, Reply, Request#request{kept = [Node | Kept]});
answered(Tag, Index, {moved, Index, {Incarnation, _} = Holder}, Request) ->
    #request{addresses = #{Index := {Before, _}} = Addresses} = Request,
    case Before =:= none orelse Incarnation > Before of
        true -> repeat(Tag, Index, Request#request{addresses = Addresses#{Index := Holder}});
        false -> failed(Tag, Index, Request)
    end;
answered(Tag, Place, _NotServingOrRefused, Request) ->
    failed(Tag, Place, Request).

holds({found, Set}) -> {set, Set};
holds({digest, Digest}) -> {digest, Digest};
holds({written, _, _}) -> stored;
holds(stored) -> stored.

repeat(write, Index, #request{untried = Untried} = Request) ->
    try_next(Request#request{untried = [Index | Untried]});
repeat(store, Index, #request{operation = Operation, set = Set} = Request) ->
    ask([{Index, store, {store, element(2, Operation), Set}}], Request);
repeat(Tag, Index, #request{operation = {get, Key}} = Request) ->
    ask([{Index, Tag, command(Tag, Key)}], Request).

%% It was not executed.
failed(write, _Place, Request) -> try_next(Request);
failed(store, {hints, _}, Request) -> ask_stand_ins(1, Request);
failed(_Tag, _Place, Request) -> {Request, []}.

voted(write, {written, Dot, Set}, Request) ->
    Storing = Request#request{phase = storing, dot = Dot, set = Set, untried = []},
    {Asked, Effects} = ask_stores(Storing),
    {Next, More} = stored(Asked),
    {Next, Effects ++ More};
voted(store, stored, Request) ->
    stored(Request);
voted(_Tag, _Reply, #request{phase = reading} = Request) ->
    read(Request);
voted(_Tag, _Reply, Request) ->
    {Request, []}.

stored(#request{operation = Operation, set = Set} = Request) ->
    Quorum = quorum(write, Request),
    case {length(valid(Request)) >= Quorum, length(confirmed(Request)) >= Quorum} of
        {true, _} -> done(Operation, Set, Request);
        {false, true} -> hinted(done(Operation, Set, Request));
        {false, false} -> {Request, []}
    end.

%% The nodes that hold the result, for an index or as a hint.
confirmed(#request{kept = Kept} = Request) ->
    lists:usort(Kept ++ [node_of(I, Request) || {I, _} <- valid(Request)]).

hinted({Request, [{done, {ok, Dot, Set, Context}}]}) ->
    {Request, [{done, {hinted, Dot, Set, Context}}]}.

%% Internals: reads.

read(#request{operation = {get, Key}} = Request) ->
    Votes = valid(Request),
    Sets = [{I, Set} || {I, #vote{holds = {set, Set}}} <- Votes],
    Digests = [ring_dvv:digest(Key, Set) || {_, Set} <- Sets],
    {Known, Unknown} = lists:partition(
        fun({_, D}) -> lists:member(D, Digests) end,
        [{I, D} || {I, #vote{holds = {digest, D}}} <- Votes]
    ),
    Matching = length(Sets) + length(Known),
    Merged = lists:foldl(
        fun({_, Set}, Acc) -> ring_dvv:merge(Set, Acc) end, ring_dvv:new(), Sets
    ),
    IsAll = Matching =:= length(Request#request.indexes),
    IsNewEnough = ring_dvv:covers(ring_dvv:context(Merged), session(Request)),
    IsEnough = Sets =/= [] andalso Matching >= quorum(read, Request),
    case IsEnough andalso (IsAll orelse IsNewEnough) of
        true -> enough(Key, Merged, Votes, Request);
        false -> ask_unknown(Key, Unknown, Request)
    end.

enough(Key, Merged, Votes, #request{options = #{mode := atomic}} = Request) ->
    write_back(Key, Merged, Votes, Request);
enough(Key, Merged, Votes, Request) ->
    repair(Key, Merged, Votes, Request).

%% Digests that no set explains: the values are needed.
ask_unknown(Key, Unknown, #request{pending = Pending} = Request) ->
    ask([{I, read, {read, Key}} || {I, _} <- Unknown, not is_map_key(I, Pending)], Request).

repair(Key, Merged, Votes, Request) ->
    {Next, Done} = done({get, Key}, Merged, Request),
    {Next, [command(I, Key, Merged, Request) || I <- lacking(Key, Merged, Votes)] ++ Done}.

command(Index, Key, Set, #request{addresses = Addresses, partition = P}) ->
    {command, repair, Index, element(2, map_get(Index, Addresses)), P, {store, Key, Set}}.

%% Those that hold the answer need not store it.
write_back(Key, Merged, Votes, Request) ->
    Lacking = lacking(Key, Merged, Votes),
    Holding = maps:from_list([
        {I, Vote#vote{holds = stored}} || {I, Vote} <- Votes, not lists:member(I, Lacking)
    ]),
    Storing = Request#request{phase = storing, set = Merged, votes = Holding, pending = #{}},
    case length(valid(Storing)) >= quorum(write, Storing) of
        true ->
            done({get, Key}, Merged, Storing);
        false ->
            ask([{I, store, {store, Key, Merged}} || I <- missing(Storing)], Storing)
    end.

lacking(Key, Merged, Votes) ->
    Digest = ring_dvv:digest(Key, Merged),
    [
        I
     || {I, #vote{holds = Holds}} <- Votes,
        case Holds of
            {set, Set} -> Set =/= Merged;
            {digest, D} -> D =/= Digest
        end
    ].

%% Internals: results.

done({put, _, _}, Set, #request{dot = Dot} = Request) ->
    {Request, [{done, {ok, Dot, Set, written_context(Dot, Set, session(Request))}}]};
done(_GetOrStore, Set, Request) ->
    {Request, [{done, {ok, Set, ring_dvv:join(session(Request), ring_dvv:context(Set))}}]}.

%% Covers the write, unless it would then cover a concurrent value that the client has not seen.
written_context(Dot, Set, Context) ->
    Written = ring_dvv:join([Dot], Context),
    case [D || D <- ring_dvv:dots(Set), D =/= Dot, ring_dvv:is_covered(D, Written)] of
        [] -> Written;
        _ -> Context
    end.

failure(#request{operation = {put, _, _}}) -> timeout;
failure(_GetOrStore) -> unavailable.

%% Internals: the record.

valid(#request{votes = Votes} = Request) ->
    [Vote || {I, _} = Vote <- lists:sort(maps:to_list(Votes)), is_valid(I, Request)].

is_valid(Index, #request{votes = Votes, known = Known}) ->
    #{Index := #vote{incarnation = Incarnation}} = Votes,
    not ring_known:is_over(Index, Incarnation, Known).

settle(Index, #request{pending = Pending} = Request) ->
    Request#request{pending = maps:remove(Index, Pending)}.

address(Index, View) ->
    case ring_view:holder(Index, View) of
        {ok, Holder} -> Holder;
        none -> {none, ring_view:owner(Index, View)}
    end.

node_of({hints, Node}, _Request) -> Node;
node_of(Index, #request{addresses = Addresses}) -> element(2, map_get(Index, Addresses)).

stand_ins({put, _, _}, Partition, View, #{availability := sloppy}) ->
    ring_view:stand_ins(Partition, View);
stand_ins(_Operation, _Partition, _View, _Options) ->
    [].

session(#request{options = Options}) ->
    maps:get(context, Options, []).

quorum(Kind, #request{options = Options}) ->
    maps:get(Kind, Options, ?QUORUM).

retry(#request{options = Options}) ->
    maps:get(retry, Options, ?RETRY_MS).
