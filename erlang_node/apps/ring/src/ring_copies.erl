%%% @doc How a replica whose holder is lost is rebuilt from the other replicas of its partitions.
%%%
%%% With acknowledgements from W of N replicas, and W at least 2, an acknowledged write is in one of
%%% the others at least, and not in a certain one: so *all* others are copied. A replica asks each
%%% of them for a copy of the partition, in chunks ({@link ring_handoff}), under its new
%%% incarnation.
%%%
%%% == Incarnations ==
%%% Who is asked first records the new incarnation, and says so with every acknowledgement from then
%%% on. So a write is either in the copy, or it reaches this replica's sibling later, and then an
%%% acknowledgement of the previous incarnation, which might be lost with it, no longer counts.
%%%
%%% The copy must not be of an incarnation of the sibling that is over, as far as anyone asked
%%% knows. If two replicas of a partition are rebuilt at once, each asks the third, which informs
%%% the second of the first one: the second waits for the first, and a replica that is only believed
%%% to be lost can still give a copy to the first. If two are really lost, both wait: writes may
%%% have been lost with them, and the partition is unavailable, not silently empty.
%%%
%%% == Serving ==
%%% A replica that has its copies announces to all siblings that it will serve, and does so when all
%%% have noted it. So the answer of any of them names every incarnation that may have served.
%%%
%%% A replica that no sibling knows to have served before is the first incarnation, and has lost
%%% nothing. It takes siblings that do not serve yet for empty.
-module(ring_copies).

-export([new/4]).
-export([ask/2]).
-export([take/3]).
-export([is_question/1]).
-export([knowledge/1]).
-export([none/0]).
-export([lend/6]).
-export([age/1]).

-type index() :: ring_state:index().
-type incarnation() :: ring_state:incarnation().
-type partition() :: ring_view:partition().

%% `copy' and `copied': a chunk. `born' and `noted': the announcement. Answers name the incarnations
%% of both ends; the items are none if the sibling does not serve the partition.
-type message() ::
    {copy, partition(), index(), incarnation(), ring_handoff:serial(), ring_known:t()}
    | {copied, partition(), index(), incarnation(), incarnation(), copied(), ring_known:t()}
    | {born, partition(), index(), incarnation(), ring_known:t()}
    | {noted, partition(), index(), incarnation(), incarnation(), ring_known:t()}.
-type copied() :: ring_handoff:chunk() | again | not_serving.

-record(peer, {
    % That answered last.
    incarnation = none :: none | incarnation(),
    receiver = ring_handoff:receiver() :: ring_handoff:receiver(),
    serves = unknown :: unknown | boolean(),
    noted = false :: boolean()
}).

-record(copies, {
    index :: index(),
    incarnation :: incarnation(),
    % Whether the ring state knows an earlier holder.
    was_held :: boolean(),
    % Of the partitions that are not complete.
    peers :: #{partition() => #{index() => #peer{}}}
}).

-opaque t() :: #copies{}.

-record(lent, {
    % The sessions so far.
    count = 0 :: non_neg_integer(),
    % Copies being given, and the ticks since the last question.
    given = #{} :: #{
        {partition(), index()} => {incarnation(), Idle :: non_neg_integer(), ring_handoff:sender()}
    }
}).

-opaque lent() :: #lent{}.

-type questions() :: [{index(), message()}].
-type result() :: {t(), Complete :: [partition()], questions()}.

-export_type([t/0, lent/0, message/0]).

%% Ticks without a question after which a copy is forgotten.
-define(IDLE, 20).

%% @doc The copies needed by an incarnation of an index.
-spec new(index(), incarnation(), [{partition(), [index()]}], WasHeld :: boolean()) -> t().
new(Index, Incarnation, Siblings, WasHeld) ->
    #copies{
        index = Index,
        incarnation = Incarnation,
        was_held = WasHeld,
        peers = maps:from_list([
            {P, maps:from_list([{I, #peer{}} || I <- Others])}
         || {P, Others} <- Siblings
        ])
    }.

%% @doc Asks everything that has not been answered.
-spec ask(ring_known:t(), t()) -> result().
ask(Known, #copies{peers = Groups} = Copies) ->
    lists:foldl(
        fun(Partition, {Acc, Complete, Questions}) ->
            {Next, Done, More} = evaluate(Partition, all, Known, Acc),
            {Next, Done ++ Complete, More ++ Questions}
        end,
        {Copies, [], []},
        lists:reverse(lists:sort(maps:keys(Groups)))
    ).

%% @doc Takes an answer: the items to merge, what is known now, and what follows.
-spec take(message(), ring_known:t(), t()) -> {[ring_handoff:item()], ring_known:t(), result()}.
take({copied, P, Peer, From, Own, Copied, Known}, Before, #copies{incarnation = Own} = Copies) ->
    taken(P, Peer, From, {copied, Copied}, ring_known:merge(Known, Before), Copies);
take({noted, P, Peer, From, Own, Known}, Before, #copies{incarnation = Own} = Copies) ->
    taken(P, Peer, From, noted, ring_known:merge(Known, Before), Copies);
take(_Other, Known, Copies) ->
    {[], Known, {Copies, [], []}}.

%% @doc Whether a message asks, and is not an answer.
-spec is_question(message()) -> boolean().
is_question(Message) ->
    lists:member(element(1, Message), [copy, born]).

%% @doc The knowledge in a question.
-spec knowledge(message()) -> ring_known:t().
knowledge({copy, _, Index, Incarnation, _, Known}) ->
    ring_known:began(Index, Incarnation, Known);
knowledge({born, _, Index, Incarnation, Known}) ->
    ring_known:began(Index, Incarnation, Known).

%% @doc No copies being given.
-spec none() -> lent().
none() ->
    #lent{}.

%% @doc Answers a question, of which `knowledge/1' has been merged to what is known.
-spec lend(
    message(),
    Self :: {index(), incarnation()},
    Serving :: [partition()],
    fun((partition()) -> [ring_handoff:item()]),
    ring_known:t(),
    lent()
) -> {[{index(), message()}], ring_known:t(), lent()}.
lend({copy, P, Index, Incarnation, Serial, _}, {Self, Own}, Serving, Fold, Known, Lent) ->
    {Copied, Next} =
        case ring_known:is_refused(Index, Incarnation, Known) of
            true -> {not_serving, Lent};
            false ->
                Begin = fun(Session) -> ring_handoff:sender({Own, Session}, Fold(P)) end,
                copy(lists:member(P, Serving), {P, Index}, Incarnation, Serial, Begin, Lent)
        end,
    {[{Index, {copied, P, Self, Own, Incarnation, Copied, Known}}], Known, Next};
lend({born, P, Index, Incarnation, _}, {Self, Own}, _Serving, _Fold, Known, Lent) ->
    case ring_known:is_refused(Index, Incarnation, Known) of
        true ->
            % The knowledge is what matters.
            {[{Index, {copied, P, Self, Own, Incarnation, again, Known}}], Known, Lent};
        false ->
            Born = ring_known:born(P, Index, Incarnation, Known),
            Noted = ring_known:served(Index, Incarnation, Born),
            {[{Index, {noted, P, Self, Own, Incarnation, Noted}}], Noted, Lent}
    end.

%% @doc Ages the copies being given by one tick, and forgets those without questions.
-spec age(lent()) -> lent().
age(#lent{given = Given} = Lent) ->
    Aged = maps:filtermap(
        fun
            (_, {_, Idle, _}) when Idle >= ?IDLE -> false;
            (_, {Incarnation, Idle, Sender}) -> {true, {Incarnation, Idle + 1, Sender}}
        end,
        Given
    ),
    Lent#lent{given = Aged}.

%% Internals: giving a copy.

copy(false, _Key, _Incarnation, _Serial, _Begin, Lent) ->
    {not_serving, Lent};
copy(true, Key, Incarnation, Serial, Begin, #lent{count = Count, given = Given} = Lent) ->
    Pulled =
        case Given of
            #{Key := {Incarnation, _, Sender}} -> ring_handoff:pull(Serial, true, Sender);
            #{} -> again
        end,
    case {Pulled, ring_handoff:is_first(Serial)} of
        {{Chunk, Next}, _} ->
            {Chunk, Lent#lent{given = Given#{Key => {Incarnation, 0, Next}}}};
        {_, true} ->
            {Chunk, Next} = ring_handoff:pull(Serial, true, Begin(Count)),
            {Chunk, #lent{count = Count + 1, given = Given#{Key => {Incarnation, 0, Next}}}};
        {_, false} ->
            {again, Lent}
    end.

%% Internals: taking a copy.

taken(P, Index, From, Answer, Known, #copies{peers = Groups} = Copies) ->
    case Groups of
        #{P := #{Index := Peer} = Group} ->
            {Items, #peer{receiver = Receiver} = Next} = answered(Answer, From, Peer),
            Taken = Copies#copies{peers = Groups#{P := Group#{Index := Next}}},
            % Only a new chunk calls for the next one: anything else is asked again by the timer.
            Whom =
                case Receiver =/= Peer#peer.receiver andalso Next#peer.serves =:= true of
                    true -> Index;
                    false -> none
                end,
            {Items, Known, evaluate(P, Whom, Known, Taken)};
        #{} ->
            {[], Known, {Copies, [], []}}
    end.

answered(noted, _From, Peer) ->
    {[], Peer#peer{noted = true}};
answered({copied, Copied}, From, #peer{incarnation = From} = Peer) ->
    copied(Copied, Peer);
answered({copied, Copied}, From, #peer{noted = Noted}) ->
    copied(Copied, #peer{incarnation = From, noted = Noted}).

copied(not_serving, Peer) ->
    {[], Peer#peer{serves = false}};
copied(again, #peer{receiver = Receiver, serves = true} = Peer) ->
    case ring_handoff:is_complete(Receiver) of
        true -> {[], Peer};
        false -> {[], Peer#peer{receiver = ring_handoff:receiver(), serves = unknown}}
    end;
copied(again, Peer) ->
    {[], Peer};
copied({Serial, Kind, Items}, #peer{receiver = Receiver} = Peer) ->
    case ring_handoff:take(Serial, Kind, Receiver) of
        {ok, Next} -> {Items, Peer#peer{serves = true, receiver = Next}};
        none -> {[], Peer#peer{serves = true}}
    end.

%% What a partition still needs, and the questions: to all siblings, one or none.
evaluate(P, Whom, Known, #copies{index = Index, peers = Groups} = Copies) ->
    #{P := Group} = Groups,
    First = is_first(P, Known, Copies),
    Peers = lists:sort(maps:to_list(Group)),
    Lacking = [I || {I, Peer} <- Peers, not is_copied(I, Peer, First, Known)],
    Unnoted = [I || {I, #peer{noted = false}} <- Peers],
    case {Lacking, Unnoted} of
        {[], []} ->
            {Copies#copies{peers = maps:remove(P, Groups)}, [P], []};
        {[], _} ->
            Born = {born, P, Index, Copies#copies.incarnation, Known},
            {Copies, [], [{I, Born} || Whom =/= none, I <- Unnoted]};
        _ ->
            {Copies, [], [
                {I, question(P, maps:get(I, Group), Known, Copies)}
             || I <- Lacking, Whom =:= all orelse Whom =:= I
            ]}
    end.

question(P, #peer{receiver = Receiver}, Known, #copies{index = Index, incarnation = Own}) ->
    {copy, P, Index, Own, ring_handoff:wanted(Receiver), Known}.

is_first(P, Known, #copies{index = Index, incarnation = Own, was_held = WasHeld}) ->
    case ring_known:first(P, Index, Known) of
        none -> not WasHeld;
        Own -> not WasHeld;
        _Earlier -> false
    end.

is_copied(_Index, #peer{incarnation = none}, _First, _Known) ->
    false;
is_copied(Index, #peer{incarnation = From, receiver = Receiver, serves = Serves}, First, Known) ->
    not ring_known:is_over(Index, From, Known) andalso
        (ring_handoff:is_complete(Receiver) orelse (First andalso Serves =:= false)).
