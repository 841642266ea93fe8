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
%%% Longer than 300 lines: the events of a seat and all that may follow; what a seat gets and gives
%%% away are modules.
-module(ring_seat).

-include("ring_seat_record.hrl").

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

-import(ring_seat_data, [changed/2, is_committed/1, is_paused/1, learn/2, siblings/1]).
-import(ring_seat_receiver, [
    ask/1, chunk/6, copied_from/2, find/1, found/4, from/2, lost/2, moved/3, pull/1, refused/3,
    search/1
]).
-import(ring_seat_sender, [
    aged/1, ask_grants/1, begin_transfer/3, grant/6, granted/5, grants/1, is_bypassed/2, lend/3,
    pulled/4, renewed/2, without_sender/1
]).

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

-opaque t() :: #seat{}.

-export_type([t/0, options/0, event/0, effect/0, message/0, answer/0, status/0, phase/0]).

%% Ticks without a chunk after which a transfer counts no more as one that runs.
-define(QUIET, 50).

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
is_serving(Seat) ->
    ring_seat_data:is_serving(Seat).

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
is_sealed(Seat) ->
    ring_seat_data:is_sealed(Seat).

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

copies(From, Message, #seat{} = Seat) ->
    case ring_copies:is_question(Message) of
        true -> lend(From, Message, Seat);
        false -> copied_from(Message, Seat)
    end.

%% Internals: views and ticks.

%% The plan gives the index to another node than the receiver, and is no older than the receiver's:
%% two writers may have made two of one epoch.
viewed(#seat{sender = {{{Epoch, _}, Node}, _}, index = Index, view = View} = Seat) ->
    IsCurrent = ring_view:epoch(View) < Epoch orelse ring_view:owner(Index, View) =:= Node,
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
    {Asked, Ask} = ask(Pulled),
    {Asked, Search ++ Pull ++ Ask ++ grants(Asked) ++ may_go(Asked)}.

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
