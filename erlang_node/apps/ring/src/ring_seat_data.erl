%%% @doc Questions about a seat ({@link ring_seat}), and changes of its data, knowledge and vote,
%%% for all modules that it is made of.
-module(ring_seat_data).

-include("ring_seat_record.hrl").

-export([is_serving/1]).
-export([is_paused/1]).
-export([is_sealed/1]).
-export([is_committed/1]).
-export([groups/1]).
-export([siblings/1]).
-export([learn/2]).
-export([merge/2]).
-export([changed/2]).
-export([vote/2]).
-export([holds/2]).

%% @doc Whether all partitions of the index are served here.
-spec is_serving(seat()) -> boolean().
is_serving(#seat{voting = Voting} = Seat) ->
    not is_paused(Seat) andalso length(Voting) =:= length(groups(Seat)).

%% @doc Whether the last chunk for the next holder has been made.
-spec is_paused(seat()) -> boolean().
is_paused(#seat{sender = none}) -> false;
is_paused(#seat{sender = {_, Sender}}) -> ring_handoff:is_paused(Sender).

%% @doc Whether the data have been sealed for the next holder.
-spec is_sealed(seat()) -> boolean().
is_sealed(#seat{sender = none}) -> false;
is_sealed(#seat{sender = {_, Sender}}) -> ring_handoff:is_sealed(Sender).

%% @doc Whether the previous holder has sent everything, which the next pull reports to it.
-spec is_committed(seat()) -> boolean().
is_committed(#seat{source = {_, Receiver}, copies = none}) -> ring_handoff:is_complete(Receiver);
is_committed(_Seat) -> false.

%% @doc The partitions of the index.
-spec groups(seat()) -> [ring_view:partition()].
groups(#seat{index = Index, view = View}) ->
    ring_view:groups(Index, View).

%% @doc The other indexes of these partitions.
-spec siblings(seat()) -> [ring_state:index()].
siblings(#seat{index = Index, view = View}) ->
    lists:usort(lists:append([Others || {_, Others} <- ring_view:siblings(Index, View)])).

%% @doc Learns what another seat knows.
-spec learn(ring_known:t(), seat()) -> seat().
learn(Known, #seat{known = Before} = Seat) ->
    Seat#seat{known = ring_known:merge(Known, Before)}.

%% @doc Merges items that another seat has sent.
-spec merge([ring_handoff:item()], seat()) -> seat().
merge([], Seat) ->
    Seat;
merge(Items, #seat{module = Module, state = State} = Seat) ->
    changed(Items, Seat#seat{state = Module:merge(Items, State)}).

%% @doc Items have changed, which the next holder gets too.
-spec changed([ring_handoff:item()], seat()) -> seat().
changed(Items, #seat{sender = {Holder, Sender}} = Seat) ->
    Seat#seat{sender = {Holder, ring_handoff:changed(Items, Sender)}};
changed(_Items, #seat{sender = none} = Seat) ->
    Seat.

%% @doc These partitions are complete, and served from now on.
-spec vote([ring_view:partition()], seat()) -> result().
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

%% @doc The effect that a holder is known.
-spec holds(ring_state:holder(), seat()) -> ring_seat:effect().
holds({Incarnation, Node}, #seat{index = Index}) ->
    {held, Index, Incarnation, Node}.
