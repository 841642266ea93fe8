%%% @doc How a seat ({@link ring_seat}) gives its data away: to the next holder, once the siblings
%%% have granted that, or as copies to siblings that are rebuilt.
-module(ring_seat_sender).

-include("ring_seat_record.hrl").

%% To the next holder.
-export([pulled/4]).
-export([begin_transfer/3]).
-export([renewed/2]).
-export([without_sender/1]).
-export([is_bypassed/2]).
-export([aged/1]).
%% Grants.
-export([ask_grants/1]).
-export([grant/6]).
-export([granted/5]).
-export([grants/1]).
%% To siblings.
-export([lend/3]).

-import(ring_seat_data, [
    groups/1, holds/2, is_paused/1, is_sealed/1, is_serving/1, learn/2, vote/2
]).

%% Ticks without a pull after which a transfer that keeps the seat from serving is given up.
-define(IDLE, 10).

%% @doc A next holder asks for a chunk.
-spec pulled(ring_state:member(), ring_state:incarnation(), ring_handoff:serial(), seat()) ->
    result().
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

%% @doc Begins to send the data to a next holder.
-spec begin_transfer(ring_state:holder(), [ring_handoff:item()], seat()) -> seat().
begin_transfer(Holder, Items, #seat{incarnation = Own, sessions = Count} = Seat) ->
    Sender = ring_handoff:sender({Own, Count}, Items),
    Seat#seat{sender = {Holder, Sender}, sessions = Count + 1}.

%% @doc The seat under its next incarnation, with the data that it has, and without a vote.
-spec renewed(ring_state:incarnation(), seat()) -> seat().
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

%% @doc Gives up a transfer.
-spec without_sender(seat()) -> seat().
without_sender(Seat) ->
    Seat#seat{sender = none, granted = [], waiting = none, idle = 0}.

%% @doc Whether the seat may not be the source of that incarnation.
-spec is_bypassed(Next :: ring_state:incarnation(), seat()) -> boolean().
is_bypassed(Next, #seat{index = Index, incarnation = Own, known = Known} = Seat) ->
    not is_sealed(Seat) andalso ring_known:is_bypassed(Index, Own, Next, Known).

%% @doc Gives up a transfer that keeps the seat from serving, if its receiver is silent.
-spec aged(seat()) -> seat().
aged(#seat{sender = none} = Seat) ->
    Seat;
aged(#seat{idle = Idle} = Seat) ->
    case Idle >= ?IDLE andalso is_paused(Seat) andalso not is_sealed(Seat) of
        true -> without_sender(Seat);
        false -> Seat#seat{idle = Idle + 1}
    end.

%% @doc Asks the siblings for the grants that are missing. Before it is known to whom, there is
%% nothing to grant.
-spec ask_grants(seat()) -> [ring_seat:effect()].
ask_grants(#seat{sender = {{To, _}, _}, index = Index, view = View} = Seat) ->
    [
        {send, ring_view:address(Sibling, View), Sibling,
            {ask_grant, P, Index, To, Seat#seat.known}}
     || is_serving(Seat),
        {P, Siblings} <- ring_view:siblings(Index, View),
        not lists:member(P, Seat#seat.granted),
        Sibling <- Siblings
    ].

%% @doc A sibling asks for a grant. Only a sibling that serves the partition knows all that must be
%% known.
-spec grant(
    ring_state:member(),
    ring_view:partition(),
    ring_state:index(),
    Next :: ring_state:incarnation(),
    ring_known:t(),
    seat()
) -> result().
grant(From, P, Index, Next, Known, #seat{index = Self, incarnation = Own} = Seat) ->
    Learnt = learn(ring_known:granted(Index, Next, Known), Seat),
    Serves = lists:member(P, Seat#seat.voting) andalso not is_paused(Seat),
    Grant = {grant, P, Self, Own, Next, Learnt#seat.known},
    {Learnt, [{send, From, Index, Grant} || Serves]}.

%% @doc A sibling has given a grant.
-spec granted(
    ring_view:partition(),
    ring_state:index(),
    From :: ring_state:incarnation(),
    Next :: ring_state:incarnation(),
    seat()
) -> result().
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

%% @doc Asks for grants again, at a tick.
-spec grants(seat()) -> [ring_seat:effect()].
grants(#seat{waiting = none}) -> [];
grants(Seat) -> ask_grants(Seat).

%% @doc Answers a sibling's question for a copy.
-spec lend(ring_state:member(), ring_copies:message(), seat()) -> result().
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

%% Internals.

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

%% A partition without other replicas needs no grant.
is_granted(#seat{index = Index, view = View, granted = Granted}) ->
    Shared = [P || {P, [_ | _]} <- ring_view:siblings(Index, View)],
    Shared -- Granted =:= [].

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
