%%% @doc One index on one node: serves commands, and moves or rebuilds its data.
%%%
%%% A seat has one incarnation. It is the only voter of its index while it serves; the data are in a
%%% module of behaviour {@link ring_vnode}. Like all protocols here it is a value: an event makes
%%% the next state and effects.
%%%
%%% == How a seat gets its data ==
%%% If no previous holder is known, the siblings are asked for it: a node that has just started
%%% knows little. From the previous holder, by {@link ring_handoff}. If that one is lost, from the
%%% other indexes of each of its partitions, by {@link ring_copies}. Either is safe at any time, so
%%% it does not matter whether the previous holder is lost or only out of reach; if it answers after
%%% all, whichever ends first is used. A partition is served once its data are complete.
%%%
%%% == How a seat ends ==
%%% From the last chunk on it does not serve, and from the seal on never again: it refers requests
%%% to the next holder. It keeps the data until that one serves, or is gone. If the next holder is
%%% lost before the seal, or silent for a while, the seat serves again, and transfers anew.
%%%
%%% A seat is *over* if a later incarnation has begun from copies. It may go on serving; what it
%%% acknowledges then does not count, because the other indexes know of the later one. If a newer
%%% plan gives its node the index, it takes a new incarnation, as if it handed over to itself.
%%%
%%% A seat must not be the source of a third incarnation once the second one may have served,
%%% because it lacks what that one has acknowledged. So before its last chunk, a seat asks the
%%% siblings in each of its partitions for a *grant*: one suffices. The sibling records the next
%%% incarnation, and answers with those that may have served. If there is one, the seat refuses, and
%%% the next one is rebuilt from the siblings. An incarnation serves only after all siblings have
%%% noted it: each of them knows it, or refuses it because of the grant.
%%%
%%% Longer than 300 lines: one state machine, of which a part cannot be understood without the rest;
%%% the transfers and copies themselves are modules.
-module(ring_seat).

-export([new/1]).
-export([handle/3]).
-export([index/1]).
-export([incarnation/1]).
-export([is_serving/1]).
-export([phase/1]).
-export([is_sealed/1]).
-export([duty/1]).
-export([status/1]).
-export([state/1]).
-export([known/1]).

-type index() :: ring_state:index().
-type incarnation() :: ring_state:incarnation().
-type milliseconds() :: integer().

%% `module': of behaviour ring_vnode. `replicated': whether a lost seat is rebuilt from its
%% siblings; otherwise it begins empty. `incarnation': larger than all before of this index.
-type options() :: #{
    index := index(),
    node := ring_state:member(),
    incarnation := incarnation(),
    module := module(),
    replicated := boolean(),
    view := ring_view:t()
}.

%% `lost': the present incarnation of a node is lost. `renew': the next incarnation of a seat that
%% is over, and whose node owns the index, with the nodes that are lost. `request': of a client or
%% coordinator, which gets the answer by its reference.
-type event() ::
    {request, Ref :: term(), ring_view:partition(), Command :: term()}
    | {message, From :: ring_state:member(), message()}
    | {view, ring_view:t()}
    | {lost, ring_state:member()}
    | {renew, incarnation(), Lost :: [ring_state:member()]}
    | tick.

-type message() ::
    {pull, incarnation(), ring_handoff:serial(), ring_known:t()}
    | {chunk, incarnation(), ring_handoff:serial(), ring_handoff:kind(), [ring_handoff:item()],
        ring_known:t()}
    | {refused, incarnation(), moved, ring_state:holder()}
    | {refused, incarnation(), no_data | over | {again, ring_handoff:serial()}}
    | {find, index(), incarnation(), ring_known:t()}
    | {found, index(), incarnation(), ring_state:holder() | none, ring_known:t()}
    | {may_go, incarnation(), For :: incarnation()}
    | {go, incarnation()}
    | {ask_grant, ring_view:partition(), index(), incarnation(), ring_known:t()}
    | {grant, ring_view:partition(), index(), incarnation(), incarnation(), ring_known:t()}
    | ring_copies:message().

-type answer() ::
    {vote, index(), incarnation(), ring_known:t(), Reply :: term()}
    | {moved, index(), ring_state:holder()}
    | {not_serving, index()}.

%% `held': for the ring state. `finished': the next holder has everything; drop the seat.
-type effect() ::
    {answer, Ref :: term(), answer()}
    | {send, ring_state:member(), index(), message()}
    | {held, index(), incarnation(), ring_state:member()}
    | finished.

%% `moving': gets data from the previous holder, and has got some lately. `waiting': neither.
-type phase() :: serving | moving | waiting.
-type status() :: #{
    voting := [ring_view:partition()],
    rebuilding := boolean(),
    sealed := boolean(),
    next := ring_state:member() | none,
    is_free := boolean()
}.

-export_type([options/0, event/0, effect/0, message/0, answer/0, status/0, phase/0]).

%% Ticks without a pull after which a transfer that keeps the seat from serving is given up.
-define(IDLE, 10).
%% Ticks without a chunk after which a transfer counts no more as one that runs.
-define(QUIET, 50).
%% Ticks until a previous holder that was once known is treated as lost.
-define(SPREAD, 20).

-record(seat, {
    index :: index(),
    node :: ring_state:member(),
    incarnation :: incarnation(),
    module :: module(),
    state :: term(),
    replicated :: boolean(),
    view :: ring_view:t(),
    known :: ring_known:t(),
    % Partitions that are served.
    voting = [] :: [ring_view:partition()],
    % Ticks of the search for the previous holder, and the siblings that have not answered.
    finding = none :: none | {non_neg_integer(), [index()]},
    % Where the data come from.
    source = none :: none | {ring_state:member(), ring_handoff:receiver()},
    % Ticks since the last chunk.
    quiet = 0 :: non_neg_integer(),
    copies = none :: none | ring_copies:t(),
    % Where the data go to.
    sender = none :: none | {ring_state:holder(), ring_handoff:sender()},
    % Transfers begun.
    sessions = 0 :: non_neg_integer(),
    % Partitions for which the sender has a grant, and the pull that waits for the others.
    granted = [] :: [ring_view:partition()],
    waiting = none :: none | ring_handoff:serial(),
    % Ticks since the last pull.
    idle = 0 :: non_neg_integer(),
    % Whether the receiver was lost after the seal.
    is_abandoned = false :: boolean(),
    lent = ring_copies:none() :: ring_copies:lent()
}).

-opaque t() :: #seat{}.

-export_type([t/0]).

%% @doc A seat without data, in search of them.
-spec new(options()) -> {t(), [effect()]}.
new(#{index := Index, node := Node, incarnation := Incarnation, view := View} = Options) ->
    #{module := Module, replicated := Replicated} = Options,
    Seat = #seat{
        index = Index,
        node = Node,
        incarnation = Incarnation,
        module = Module,
        state = Module:init(#{
            index => Index, incarnation => Incarnation, partitions => ring_view:groups(Index, View)
        }),
        replicated = Replicated,
        view = View,
        known = ring_known:new()
    },
    case ring_view:holder(Index, View) of
        {ok, {_, Node}} -> lost(true, Seat);
        {ok, {_, Holder}} -> from(Holder, Seat);
        none -> find(Seat#seat{finding = {0, siblings(Seat)}})
    end.

%% @doc Handles an event at a time, in milliseconds of this node's monotonic clock.
-spec handle(event(), Now :: milliseconds(), t()) -> {t(), [effect()]}.
handle({request, Ref, Partition, Command}, Now, Seat) ->
    request(Ref, Partition, Command, Now, Seat);
handle({message, From, Message}, Now, Seat) ->
    message(From, Message, Now, Seat);
handle({view, View}, _Now, Seat) ->
    viewed(Seat#seat{view = View});
handle({lost, Node}, _Now, #seat{source = {Node, _}, copies = none} = Seat) ->
    lost(true, Seat);
handle({lost, Node}, _Now, #seat{sender = {{_, Node}, _}} = Seat) ->
    case is_sealed(Seat) of
        true -> {Seat#seat{is_abandoned = true}, []};
        false -> {without_sender(Seat), []}
    end;
handle({lost, _Node}, _Now, Seat) ->
    {Seat, []};
handle({renew, Incarnation, Lost}, _Now, #seat{sender = none, node = Node} = Seat) ->
    case is_serving(Seat) andalso not is_bypassed(Incarnation, Seat) of
        true ->
            Begun = begin_transfer({Incarnation, Node}, [], Seat),
            Asking = Begun#seat{waiting = ring_handoff:wanted(ring_handoff:receiver())},
            {Asking, ask_grants(Asking)};
        false ->
            regain(Lost, renewed(Incarnation, Seat))
    end;
handle({renew, Incarnation, _Lost}, _Now, #seat{is_abandoned = true} = Seat) ->
    lost(true, renewed(Incarnation, Seat));
handle({renew, _Incarnation, _Lost}, _Now, Seat) ->
    {Seat, []};
handle(tick, _Now, Seat) ->
    tick(Seat).

%% @doc The index.
-spec index(t()) -> index().
index(#seat{index = Index}) ->
    Index.

%% @doc The incarnation.
-spec incarnation(t()) -> incarnation().
incarnation(#seat{incarnation = Incarnation}) ->
    Incarnation.

%% @doc Whether all partitions of the index are served here.
-spec is_serving(t()) -> boolean().
is_serving(#seat{voting = Voting} = Seat) ->
    not is_paused(Seat) andalso length(Voting) =:= length(groups(Seat)).

%% @doc Whether the seat serves or gets data, for the bound on transfers ({@link ring_transfers}).
-spec phase(t()) -> phase().
phase(#seat{source = Source, copies = Copies, quiet = Quiet} = Seat) ->
    case is_serving(Seat) of
        true -> serving;
        false when Source =/= none, Copies =:= none, Quiet < ?QUIET -> moving;
        false -> waiting
    end.

%% @doc Whether the data have been sealed for the next holder.
-spec is_sealed(t()) -> boolean().
is_sealed(#seat{sender = none}) -> false;
is_sealed(#seat{sender = {_, Sender}}) -> ring_handoff:is_sealed(Sender).

%% @doc The consequence of the plan: `drop' a seat that is of no use and whose data are not needed;
%% `renew' one whose node owns the index though another incarnation has taken its place.
-spec duty(t()) -> keep | drop | renew.
duty(#seat{index = Index, node = Node, view = View} = Seat) ->
    #{is_free := IsFree} = status(Seat),
    IsOwner = ring_view:owner(Index, View) =:= Node,
    IsHolder =
        case ring_view:holder(Index, View) of
            {ok, {_, Holder}} -> Holder =:= Node;
            none -> false
        end,
    case {IsOwner, is_over(ring_view:epoch(View), Seat), IsFree} of
        {true, true, true} -> drop;
        {true, true, false} -> renew;
        {false, _, true} when not IsHolder -> drop;
        _ -> keep
    end.

%% @doc The partitions that are served, whether the others are being rebuilt, the next holder once
%% it has been sent everything; and whether the seat can be dropped without loss: it serves nothing
%% and has not reported to the previous holder that it has everything.
-spec status(t()) -> status().
status(#seat{voting = Voting, copies = Copies} = Seat) ->
    Next =
        case is_paused(Seat) of
            true -> element(2, element(1, Seat#seat.sender));
            false -> none
        end,
    #{
        voting => Voting,
        rebuilding => Copies =/= none,
        sealed => is_sealed(Seat),
        next => Next,
        is_free => Voting =:= [] andalso not is_committed(Seat)
    }.

%% @doc The state of the module.
-spec state(t()) -> term().
state(#seat{state = State}) ->
    State.

%% @doc The knowledge about the incarnations of this index and its siblings.
-spec known(t()) -> ring_known:t().
known(#seat{known = Known}) ->
    Known.

%% Internals: what is due.

%% Whether this seat is of no use under a plan of that epoch, by which its node owns the index:
%% a later incarnation has begun, which was of an earlier plan or of a previous start of this node;
%% or the one that this seat was sealed for is lost.
is_over(_Epoch, #seat{is_abandoned = true}) ->
    true;
is_over(Epoch, #seat{index = Index, incarnation = Own, known = Known, voting = Voting}) ->
    Last =
        case Voting of
            % A grant keeps it from beginning too.
            [] -> ring_known:last(Index, Known);
            _ -> ring_known:last_begun(Index, Known)
        end,
    case Last of
        {Later, _} when Last > Own -> Epoch >= Later;
        _ -> false
    end.

%% Internals: requests.

is_committed(#seat{source = {_, Receiver}, copies = none}) -> ring_handoff:is_complete(Receiver);
is_committed(_Seat) -> false.

is_paused(#seat{sender = none}) -> false;
is_paused(#seat{sender = {_, Sender}}) -> ring_handoff:is_paused(Sender).

request(Ref, Partition, Command, Now, #seat{index = Index, voting = Voting} = Seat) ->
    case is_sealed(Seat) of
        true ->
            #seat{sender = {Holder, _}} = Seat,
            {Seat, [{answer, Ref, {moved, Index, Holder}}]};
        false ->
            case lists:member(Partition, Voting) andalso not is_paused(Seat) of
                true -> serve(Ref, Partition, Command, Now, Seat);
                false -> {Seat, [{answer, Ref, {not_serving, Index}}]}
            end
    end.

serve(Ref, Partition, Command, Now, #seat{module = Module, state = State} = Seat) ->
    #seat{index = Index, incarnation = Incarnation, known = Known} = Seat,
    {reply, Reply, Changed, Next} = Module:handle_command(
        Command, #{partition => Partition, now => Now}, State
    ),
    Siblings = ring_view:indexes(Partition, Seat#seat.view),
    Vote = {vote, Index, Incarnation, ring_known:only(Siblings, Known), Reply},
    {changed(Changed, Seat#seat{state = Next}), [{answer, Ref, Vote}]}.

changed(Items, #seat{sender = {Holder, Sender}} = Seat) ->
    Seat#seat{sender = {Holder, ring_handoff:changed(Items, Sender)}};
changed(_Items, #seat{sender = none} = Seat) ->
    Seat.

%% Internals: messages.

message(From, {pull, Incarnation, Serial, Known}, _Now, Seat) ->
    pulled(From, Incarnation, Serial, learn(Known, Seat));
message(_From, {chunk, Incarnation, Serial, Kind, Items, Known}, _Now, Seat) ->
    chunk(Incarnation, Serial, Kind, Items, Known, Seat);
message(_From, {refused, Incarnation, Reason}, _Now, Seat) ->
    refused(Incarnation, Reason, Seat);
message(_From, {refused, Incarnation, moved, Holder}, _Now, Seat) ->
    moved(Incarnation, Holder, Seat);
message(From, {find, Index, Incarnation, Known}, _Now, #seat{index = Self, view = View} = Seat) ->
    Holder =
        case ring_view:holder(Index, View) of
            {ok, Held} -> Held;
            none -> none
        end,
    Learnt = learn(Known, Seat),
    {Learnt, [{send, From, Index, {found, Self, Incarnation, Holder, Learnt#seat.known}}]};
message(_From, {found, Index, Incarnation, Holder, Known}, _Now, Seat) ->
    found(Index, Incarnation, Holder, learn(Known, Seat));
message(From, {may_go, Incarnation, For}, _Now, #seat{index = Index, incarnation = Own} = Seat) ->
    case {For < Own orelse is_serving(Seat), Seat} of
        {true, _} -> {Seat, [{send, From, Index, {go, Incarnation}}]};
        % It still has what this seat is being rebuilt for.
        {false, #seat{copies = Copies, source = none}} when Copies =/= none -> from(From, Seat);
        {false, _} -> {Seat, []}
    end;
message(_From, {go, Incarnation}, _Now, #seat{incarnation = Incarnation} = Seat) ->
    {Seat, [finished]};
message(_From, {go, _}, _Now, Seat) ->
    {Seat, []};
message(From, {ask_grant, P, Index, Next, Known}, _Now, Seat) ->
    grant(From, P, Index, Next, Known, Seat);
message(_From, {grant, P, Index, From, Next, Known}, _Now, Seat) ->
    granted(P, Index, From, Next, learn(Known, Seat));
message(From, Message, _Now, Seat) ->
    copies(From, Message, Seat).

%% Internals: the search for the previous holder.

find(#seat{finding = {_, Left}, index = Index, incarnation = Own, view = View} = Seat) ->
    Find = {find, Index, Own, Seat#seat.known},
    {Seat, [{send, ring_view:address(I, View), I, Find} || I <- Left]};
find(#seat{finding = none} = Seat) ->
    {Seat, []}.

%% The ring state brings back a holder, as an event.
found(_, Own, {_, _} = Holder, #seat{incarnation = Own, finding = {_, _}} = Seat) ->
    {Seat, [holds(Holder, Seat)]};
found(Index, Own, none, #seat{incarnation = Own, finding = {Ticks, Left}} = Seat) ->
    searched(Seat#seat{finding = {Ticks, lists:delete(Index, Left)}});
found(_Index, _Incarnation, _Holder, Seat) ->
    {Seat, []}.

%% If there was one, but its place is unknown, this is given a while to spread. Without siblings it
%% is certain for the first plan alone that there was none.
searched(#seat{finding = {Ticks, []}, index = Index, known = Known, view = View} = Seat) ->
    Born = [P || P <- groups(Seat), ring_known:first(P, Index, Known) =/= none],
    IsFirst = Born =:= [] andalso (siblings(Seat) =/= [] orelse ring_view:epoch(View) =:= 1),
    case IsFirst orelse Ticks >= ?SPREAD of
        true -> lost(false, Seat);
        false -> {Seat, []}
    end;
searched(Seat) ->
    {Seat, []}.

%% Internals: from the previous holder.

from(Holder, Seat) ->
    pull(Seat#seat{finding = none, source = {Holder, ring_handoff:receiver()}, quiet = 0}).

pull(#seat{source = {Node, Receiver}, index = Index, incarnation = Own, known = Known} = Seat) ->
    {Seat, [{send, Node, Index, {pull, Own, ring_handoff:wanted(Receiver), Known}}]};
pull(#seat{source = none} = Seat) ->
    {Seat, []}.

chunk(Own, Serial, Kind, Items, Known, #seat{incarnation = Own, source = {From, R}} = Seat) ->
    case ring_handoff:take(Serial, Kind, R) of
        {ok, Next} ->
            Taken = Seat#seat{source = {From, Next}, quiet = 0},
            Merged = merge(Items, learn(Known, Taken)),
            received(Kind, Merged);
        none ->
            {Seat, []}
    end;
chunk(_Incarnation, _Serial, _Kind, _Items, _Known, Seat) ->
    {Seat, []}.

received(seal, Seat) ->
    vote(groups(Seat), Seat);
received(_MoreOrLast, Seat) ->
    pull(Seat).

refused(Own, {again, Serial}, #seat{incarnation = Own, source = {From, Receiver}} = Seat) ->
    case ring_handoff:wanted(Receiver) of
        Serial -> from(From, Seat);
        _ -> {Seat, []}
    end;
refused(Own, no_data, #seat{incarnation = Own, source = {_, _}, copies = none} = Seat) ->
    lost(true, Seat);
refused(_Incarnation, _Reason, Seat) ->
    {Seat, []}.

moved(Own, {_, Node} = Holder, #seat{incarnation = Own, node = Node} = Seat) ->
    % To an earlier start of this node.
    {Next, Effects} = lost(true, Seat),
    {Next, [holds(Holder, Seat) | Effects]};
moved(Own, {_, Node} = Holder, #seat{incarnation = Own, source = {From, _}} = Seat) when
    Node =/= From
->
    {Next, Effects} = from(Node, Seat),
    {Next, [holds(Holder, Seat) | Effects]};
moved(_Incarnation, _Holder, Seat) ->
    {Seat, []}.

holds({Incarnation, Node}, #seat{index = Index}) ->
    {held, Index, Incarnation, Node}.

%% Internals: to the next holder.

pulled(From, To, _Serial, #seat{index = Index, incarnation = Own} = Seat) when To =< Own ->
    {Seat, [{send, From, Index, {refused, To, over}}]};
%% One that serves nothing has nothing to give: the next one can be rebuilt as well. One that is
%% over may not be rebuilt any more. Otherwise the next one waits, and no data are given up.
pulled(From, To, _Serial, #seat{index = Index, copies = Copies} = Seat) when Copies =/= none ->
    #seat{incarnation = Own, voting = Voting, known = Known} = Seat,
    IsUseless = Voting =:= [] orelse ring_known:is_refused(Index, Own, Known),
    {Seat, [{send, From, Index, {refused, To, no_data}} || IsUseless]};
pulled(From, To, Serial, #seat{sender = {{To, From}, _}} = Seat) ->
    answer_pull(Serial, Seat);
pulled(From, To, Serial, #seat{sender = {{Before, _} = Holder, _}, index = Index} = Seat) ->
    case is_sealed(Seat) of
        true when To > Before -> {Seat, [{send, From, Index, {refused, To, moved, Holder}}]};
        false when To > Before -> pulled(From, To, Serial, without_sender(Seat));
        _ -> {Seat, [{send, From, Index, {refused, To, over}}]}
    end;
pulled(From, To, Serial, #seat{module = Module, state = State, voting = Voting} = Seat) ->
    case {ring_handoff:is_first(Serial), Voting} of
        {true, [_ | _]} ->
            Items = Module:fold(fun(Key, Item, Acc) -> [{Key, Item} | Acc] end, [], State),
            answer_pull(Serial, begin_transfer({To, From}, lists:reverse(Items), Seat));
        {true, []} ->
            {Seat, []};
        {false, _} ->
            {Seat, [refuse_again(From, To, Serial, Seat)]}
    end.

begin_transfer(Holder, Items, #seat{incarnation = Own, sessions = Count} = Seat) ->
    Sender = ring_handoff:sender({Own, Count}, Items),
    Seat#seat{sender = {Holder, Sender}, sessions = Count + 1}.

refuse_again(Node, To, Serial, #seat{index = Index}) ->
    {send, Node, Index, {refused, To, {again, Serial}}}.

answer_pull(Serial, #seat{sender = {{To, Node} = Holder, Sender}, index = Index} = Seat) ->
    MayEnd = is_serving(Seat) andalso is_granted(Seat),
    case is_bypassed(To, Seat) of
        true ->
            {without_sender(Seat), [{send, Node, Index, {refused, To, no_data}}]};
        false ->
            case ring_handoff:pull(Serial, MayEnd, Sender) of
                {{Number, Kind, Items}, Next} ->
                    Chunk = {chunk, To, Number, Kind, Items, Seat#seat.known},
                    {Seat#seat{sender = {Holder, Next}, waiting = none, idle = 0}, [
                        {send, Node, Index, Chunk} | [holds(Holder, Seat) || Kind =:= seal]
                    ]};
                wait ->
                    {Seat#seat{waiting = Serial}, ask_grants(Seat)};
                again ->
                    again(Serial, Seat);
                none ->
                    {Seat, []}
            end
    end.

%% The receiver has begun anew, or is still in a session that this seat has given up.
again(Serial, #seat{sender = {{To, Node}, _}} = Seat) ->
    case ring_handoff:is_first(Serial) of
        true -> pulled(Node, To, Serial, without_sender(Seat));
        false -> {Seat, [refuse_again(Node, To, Serial, Seat)]}
    end.

%% Before it is known to whom, there is nothing to grant.
ask_grants(#seat{sender = {{To, _}, _}, index = Index, view = View} = Seat) ->
    [
        {send, ring_view:address(Sibling, View), Sibling,
            {ask_grant, P, Index, To, Seat#seat.known}}
     || is_serving(Seat),
        {P, Siblings} <- ring_view:siblings(Index, View),
        not lists:member(P, Seat#seat.granted),
        Sibling <- Siblings
    ].

%% Only a sibling that serves the partition knows all that must be known.
grant(From, P, Index, Next, Known, #seat{index = Self, incarnation = Own} = Seat) ->
    Learnt = learn(ring_known:granted(Index, Next, Known), Seat),
    Serves = lists:member(P, Seat#seat.voting) andalso not is_paused(Seat),
    Grant = {grant, P, Self, Own, Next, Learnt#seat.known},
    {Learnt, [{send, From, Index, Grant} || Serves]}.

granted(P, Index, From, Next, #seat{sender = {{Next, _}, _}, known = Known} = Seat) ->
    case ring_known:is_over(Index, From, Known) orelse is_paused(Seat) of
        true ->
            {Seat, []};
        false ->
            Granted = lists:usort([P | Seat#seat.granted]),
            go_on(Seat#seat{granted = Granted})
    end;
granted(_P, _Index, _From, _Next, Seat) ->
    {Seat, []}.

go_on(#seat{sender = {{Next, Node}, _}, node = Node} = Seat) ->
    case {is_bypassed(Next, Seat), is_granted(Seat)} of
        % It is due again.
        {true, _} -> {without_sender(Seat), []};
        {false, true} -> vote(Seat#seat.voting, renewed(Next, Seat));
        {false, false} -> {Seat, []}
    end;
go_on(#seat{waiting = Serial} = Seat) when Serial =/= none ->
    answer_pull(Serial, Seat);
go_on(Seat) ->
    {Seat, []}.

%% Under its next incarnation, with the data that it has, and without a vote.
renewed(Next, #seat{module = Module, state = State, index = Index} = Seat) ->
    Items = Module:fold(fun(Key, Item, Acc) -> [{Key, Item} | Acc] end, [], State),
    Empty = Module:init(#{index => Index, incarnation => Next, partitions => groups(Seat)}),
    (without_sender(Seat))#seat{
        incarnation = Next,
        state = Module:merge(Items, Empty),
        voting = [],
        lent = ring_copies:none(),
        source = none,
        copies = none,
        is_abandoned = false
    }.

%% To begin from copies ends the present incarnation, and is a loss unless that one is lost.
regain(Lost, #seat{index = Index, node = Node, view = View} = Seat) ->
    case ring_view:holder(Index, View) of
        {ok, {_, Holder}} when Holder =/= Node ->
            case lists:member(Holder, Lost) of
                true -> lost(true, Seat);
                false -> from(Holder, Seat)
            end;
        _ ->
            lost(true, Seat)
    end.

%% A partition without other replicas needs no grant.
is_granted(#seat{index = Index, view = View, granted = Granted}) ->
    Shared = [P || {P, [_ | _]} <- ring_view:siblings(Index, View)],
    Shared -- Granted =:= [].

without_sender(Seat) ->
    Seat#seat{sender = none, granted = [], waiting = none, idle = 0}.

is_bypassed(Next, #seat{index = Index, incarnation = Own, known = Known} = Seat) ->
    not is_sealed(Seat) andalso ring_known:is_bypassed(Index, Own, Next, Known).

%% Internals: from the siblings.

lost(_WasHeld, #seat{replicated = false} = Seat) ->
    vote(groups(Seat), Seat#seat{source = none, finding = none});
lost(WasHeld, #seat{index = Index, incarnation = Own, view = View} = Seat) ->
    Copies = ring_copies:new(Index, Own, ring_view:siblings(Index, View), WasHeld),
    copying(Copies, Seat#seat{finding = none}).

copying(Copies, #seat{index = Index, incarnation = Own, known = Known} = Seat) ->
    Began = ring_known:began(Index, Own, Known),
    copied(ring_copies:ask(Began, Copies), Seat#seat{known = Began}).

copies(From, Message, #seat{} = Seat) ->
    case ring_copies:is_question(Message) of
        true -> lend(From, Message, Seat);
        false -> copied_from(Message, Seat)
    end.

copied_from(_Message, #seat{copies = none} = Seat) ->
    {Seat, []};
copied_from(Message, #seat{copies = Copies, known = Known} = Seat) ->
    {Items, Learnt, Result} = ring_copies:take(Message, Known, Copies),
    copied(Result, merge(Items, Seat#seat{known = Learnt})).

copied({Copies, Complete, Questions}, #seat{view = View} = Seat) ->
    {Next, Effects} = vote(Complete, Seat#seat{copies = Copies}),
    Sends = [
        {send, ring_view:address(Index, View), Index, Question}
     || {Index, Question} <- Questions
    ],
    {Next, Sends ++ Effects}.

lend(From, Message, #seat{lent = Lent, index = Index, incarnation = Own} = Seat) ->
    Learnt = learn(ring_copies:knowledge(Message), Seat),
    case is_paused(Seat) of
        true ->
            % Either this seat or the next holder will serve in a moment, and answer.
            {Learnt, []};
        false ->
            #seat{module = Module, state = State, voting = Voting, known = Known} = Learnt,
            Fold = fun(Partition) -> partition_items(Partition, Module, State) end,
            {Answers, Known1, Lent1} =
                ring_copies:lend(Message, {Index, Own}, Voting, Fold, Known, Lent),
            Sends = [{send, From, To, Answer} || {To, Answer} <- Answers],
            {Learnt#seat{lent = Lent1, known = Known1}, Sends}
    end.

partition_items(Partition, Module, State) ->
    lists:reverse(
        Module:fold(
            fun
                ({P, _} = Key, Item, Acc) when P =:= Partition -> [{Key, Item} | Acc];
                (_, _, Acc) -> Acc
            end,
            [],
            State
        )
    ).

%% Internals: the record.

groups(#seat{index = Index, view = View}) ->
    ring_view:groups(Index, View).

siblings(#seat{index = Index, view = View}) ->
    lists:usort(lists:append([Others || {_, Others} <- ring_view:siblings(Index, View)])).

learn(Known, #seat{known = Before} = Seat) ->
    Seat#seat{known = ring_known:merge(Known, Before)}.

merge([], Seat) ->
    Seat;
merge(Items, #seat{module = Module, state = State} = Seat) ->
    changed(Items, Seat#seat{state = Module:merge(Items, State)}).

%% These partitions are complete.
vote(Partitions, #seat{voting = Before, index = Index, incarnation = Own, node = Node} = Seat) ->
    Voting = lists:usort(Partitions ++ Before),
    Known = lists:foldl(
        fun(P, Acc) -> ring_known:born(P, Index, Own, Acc) end, Seat#seat.known, Partitions
    ),
    Next = Seat#seat{voting = Voting, known = Known},
    Complete = is_serving(Next),
    Settled =
        case Complete of
            true -> Next#seat{source = none, copies = none};
            false -> Next
        end,
    {Settled, [{held, Index, Own, Node} || Partitions -- Before =/= []]}.

%% A newer plan gives the index to another node than the receiver.
viewed(#seat{sender = {{{Epoch, _}, Node}, _}, index = Index, view = View} = Seat) ->
    IsCurrent = ring_view:epoch(View) =< Epoch orelse ring_view:owner(Index, View) =:= Node,
    case IsCurrent orelse is_sealed(Seat) of
        true -> {Seat, []};
        false -> {without_sender(Seat), []}
    end;
%% Another node turns out to be the previous holder.
viewed(#seat{voting = [], index = Index, node = Node, incarnation = Own, view = View} = Seat) ->
    case {ring_view:holder(Index, View), Seat#seat.source} of
        {{ok, {_, Holder}}, {Holder, _}} ->
            {Seat, []};
        {{ok, {Incarnation, Holder}}, _} when Holder =/= Node, Incarnation < Own ->
            case is_committed(Seat) of
                true -> {Seat, []};
                false -> from(Holder, Seat)
            end;
        {{ok, {_, Node}}, _} when Seat#seat.finding =/= none ->
            lost(true, Seat);
        _ ->
            {Seat, []}
    end;
viewed(Seat) ->
    {Seat, []}.

tick(#seat{lent = Lent, quiet = Quiet} = Seat) ->
    {Searched, Search} = search(Seat#seat{lent = ring_copies:age(Lent), quiet = Quiet + 1}),
    {Pulled, Pull} = pull(aged(Searched)),
    {Asked, Ask} =
        case Pulled of
            #seat{copies = none} -> {Pulled, []};
            #seat{copies = Copies, known = Known} -> copied(ring_copies:ask(Known, Copies), Pulled)
        end,
    {Asked, Search ++ Pull ++ Ask ++ grants(Asked) ++ may_go(Asked)}.

search(#seat{finding = none} = Seat) ->
    {Seat, []};
search(#seat{finding = {Ticks, Left}} = Seat) ->
    {Next, Effects} = searched(Seat#seat{finding = {Ticks + 1, Left}}),
    {Asked, Find} = find(Next),
    {Asked, Effects ++ Find}.

%% A receiver that is silent must not keep a seat from serving.
aged(#seat{sender = none} = Seat) ->
    Seat;
aged(#seat{idle = Idle} = Seat) ->
    case Idle >= ?IDLE andalso is_paused(Seat) andalso not is_sealed(Seat) of
        true -> without_sender(Seat);
        false -> Seat#seat{idle = Idle + 1}
    end.

grants(#seat{waiting = none}) -> [];
grants(Seat) -> ask_grants(Seat).

%% Of a seat that has been replaced; repeated until it may go.
may_go(#seat{index = Index, node = Node, incarnation = Own, view = View} = Seat) ->
    Newer =
        case {is_sealed(Seat), ring_view:holder(Index, View)} of
            {true, _} -> [element(1, Seat#seat.sender)];
            {false, {ok, {Incarnation, _} = Holder}} when Incarnation > Own -> [Holder];
            {false, _} -> []
        end,
    [
        {send, Holder, Index, {may_go, Own, Incarnation}}
     || {Incarnation, Holder} <- Newer, Holder =/= Node
    ].
