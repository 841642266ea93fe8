%%% @doc How a seat ({@link ring_seat}) gets its data: it searches for the previous holder and pulls
%%% from it, or is rebuilt from its siblings ({@link ring_copies}).
-module(ring_seat_receiver).

-include("ring_seat_record.hrl").

%% From the previous holder.
-export([find/1]).
-export([found/4]).
-export([search/1]).
-export([from/2]).
-export([pull/1]).
-export([chunk/6]).
-export([refused/3]).
-export([moved/3]).
%% From the siblings.
-export([lost/2]).
-export([copied_from/2]).
-export([ask/1]).

-import(ring_seat_data, [groups/1, holds/2, learn/2, merge/2, siblings/1, vote/2]).

%% Ticks until a previous holder that was once known is treated as lost.
-define(SPREAD, 20).

%% @doc Asks the siblings for the previous holder.
-spec find(seat()) -> result().
find(#seat{finding = {_, Left}, index = Index, incarnation = Own, view = View} = Seat) ->
    Find = {find, Index, Own, Seat#seat.known},
    {Seat, [{send, ring_view:address(I, View), I, Find} || I <- Left]};
find(#seat{finding = none} = Seat) ->
    {Seat, []}.

%% @doc A sibling has answered. The ring state brings back a holder, as an event.
-spec found(ring_state:index(), ring_state:incarnation(), ring_state:holder() | none, seat()) ->
    result().
found(_, Own, {_, _} = Holder, #seat{incarnation = Own, finding = {_, _}} = Seat) ->
    {Seat, [holds(Holder, Seat)]};
found(Index, Own, none, #seat{incarnation = Own, finding = {Ticks, Left}} = Seat) ->
    searched(Seat#seat{finding = {Ticks, lists:delete(Index, Left)}});
found(_Index, _Incarnation, _Holder, Seat) ->
    {Seat, []}.

%% @doc Continues the search for the previous holder, at a tick.
-spec search(seat()) -> result().
search(#seat{finding = none} = Seat) ->
    {Seat, []};
search(#seat{finding = {Ticks, Left}} = Seat) ->
    {Next, Effects} = searched(Seat#seat{finding = {Ticks + 1, Left}}),
    {Asked, Find} = find(Next),
    {Asked, Effects ++ Find}.

%% @doc Begins to get the data from this node.
-spec from(ring_state:member(), seat()) -> result().
from(Holder, Seat) ->
    pull(Seat#seat{finding = none, source = {Holder, ring_handoff:receiver()}, quiet = 0}).

%% @doc Asks for the next chunk.
-spec pull(seat()) -> result().
pull(#seat{source = {Node, Receiver}, index = Index, incarnation = Own, known = Known} = Seat) ->
    {Seat, [{send, Node, Index, {pull, Own, ring_handoff:wanted(Receiver), Known}}]};
pull(#seat{source = none} = Seat) ->
    {Seat, []}.

%% @doc The previous holder has sent a chunk.
-spec chunk(
    ring_state:incarnation(),
    ring_handoff:serial(),
    ring_handoff:kind(),
    [ring_handoff:item()],
    ring_known:t(),
    seat()
) -> result().
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

%% @doc The previous holder gives no data.
-spec refused(ring_state:incarnation(), Reason :: term(), seat()) -> result().
refused(Own, {again, Serial}, #seat{incarnation = Own, source = {From, Receiver}} = Seat) ->
    case ring_handoff:wanted(Receiver) of
        Serial -> from(From, Seat);
        _ -> {Seat, []}
    end;
refused(Own, no_data, #seat{incarnation = Own, source = {_, _}, copies = none} = Seat) ->
    lost(true, Seat);
refused(_Incarnation, _Reason, Seat) ->
    {Seat, []}.

%% @doc The previous holder has handed over already.
-spec moved(ring_state:incarnation(), ring_state:holder(), seat()) -> result().
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

%% @doc Without the previous holder: begins from copies of the siblings, or empty.
-spec lost(WasHeld :: boolean(), seat()) -> result().
lost(_WasHeld, #seat{replicated = false} = Seat) ->
    vote(groups(Seat), Seat#seat{source = none, finding = none});
lost(WasHeld, #seat{index = Index, incarnation = Own, view = View} = Seat) ->
    Copies = ring_copies:new(Index, Own, ring_view:siblings(Index, View), WasHeld),
    copying(Copies, Seat#seat{finding = none}).

%% @doc A sibling has answered a question for a copy.
-spec copied_from(ring_copies:message(), seat()) -> result().
copied_from(_Message, #seat{copies = none} = Seat) ->
    {Seat, []};
copied_from(Message, #seat{copies = Copies, known = Known} = Seat) ->
    {Items, Learnt, Result} = ring_copies:take(Message, Known, Copies),
    copied(Result, merge(Items, Seat#seat{known = Learnt})).

%% @doc Asks the siblings for what is missing, at a tick.
-spec ask(seat()) -> result().
ask(#seat{copies = none} = Seat) ->
    {Seat, []};
ask(#seat{copies = Copies, known = Known} = Seat) ->
    copied(ring_copies:ask(Known, Copies), Seat).

%% Internals.

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

received(seal, Seat) ->
    vote(groups(Seat), Seat);
received(_MoreOrLast, Seat) ->
    pull(Seat).

copying(Copies, #seat{index = Index, incarnation = Own, known = Known} = Seat) ->
    Began = ring_known:began(Index, Own, Known),
    copied(ring_copies:ask(Began, Copies), Seat#seat{known = Began}).

copied({Copies, Complete, Questions}, #seat{view = View} = Seat) ->
    {Next, Effects} = vote(Complete, Seat#seat{copies = Copies}),
    Sends = [
        {send, ring_view:address(Index, View), Index, Question}
     || {Index, Question} <- Questions
    ],
    {Next, Sends ++ Effects}.
