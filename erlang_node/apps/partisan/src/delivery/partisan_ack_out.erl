%%% @doc Acknowledged delivery, sender's half: messages sent and not yet acknowledged.
%%%
%%% One value is one stream: the acknowledged messages from one incarnation of this node to one
%%% incarnation of a peer over one lane, numbered from 1. The receiver ({@link partisan_ack_in})
%%% accepts them in order only and returns the highest number it holds, so an acknowledgement
%%% settles all up to it (go-back-N). Connections keep order and lose messages only by breaking;
%%% then everything outstanding is retransmitted. A timer with exponential back-off, restarted by
%%% any progress, does the same for unnoticed losses, so a slow receiver gets nothing twice.
%%%
%%% A message that times out, or cannot be sent or accepted, is replaced by a `skip' of the same
%%% number (or the result of the option `skip'), since the receiver waits for each number. Memory is
%%% bounded: `add/6' rejects what would exceed the window. Each owner learns the outcome once, by a
%%% `settle' action.
%%%
%%% Pure: time is an argument, in milliseconds of any monotonic clock.
-module(partisan_ack_out).

-export([new/1]).
-export([add/6]).
-export([acknowledged/3]).
-export([reconnected/2]).
-export([tick/2]).
-export([refuse/3]).
-export([abandon/2]).
-export([is_settled/1]).
-export([wake_at/1]).
-export([outstanding/1]).

-type sequence() :: pos_integer().
-type owner() :: term().
-type milliseconds() :: integer().
-type failure() :: timeout | restarted | left | refusal().
%% Why a message can never be accepted: by this node's connections, or by the receiver.
-type refusal() :: {too_large, Bytes :: pos_integer()} | undecodable.
-type outcome() :: ok | {error, failure()}.
-type content() :: {message, term()} | skip.
-type action() ::
    {transmit, [{sequence(), content()}]}
    | {settle, owner(), outcome()}.

-type options() :: #{
    max_bytes => pos_integer(),
    max_messages => pos_integer(),
    retransmit_after => pos_integer(),
    retransmit_max => pos_integer(),
    % What replaces a message that is given up.
    skip => fun((Message :: term()) -> content())
}.

-export_type([sequence/0, owner/0, milliseconds/0, failure/0, refusal/0, outcome/0]).
-export_type([content/0, action/0, options/0]).

-record(entry, {
    number :: sequence(),
    content :: content(),
    bytes :: non_neg_integer(),
    % None once its owner knows the outcome.
    owner :: {owner, owner()} | none,
    deadline :: milliseconds() | infinity
}).

-record(stream, {
    options :: options(),
    next = 1 :: sequence(),
    % Oldest first; the numbers are consecutive and end at `next - 1'.
    entries = queue:new() :: queue:queue(#entry{}),
    messages = 0 :: non_neg_integer(),
    bytes = 0 :: non_neg_integer(),
    interval :: pos_integer(),
    retransmit_at = infinity :: milliseconds() | infinity,
    % No owner times out before this.
    deadline_at = infinity :: milliseconds() | infinity
}).

-opaque t() :: #stream{}.
-export_type([t/0]).

%% @doc An empty stream.
-spec new(options()) -> t().
new(Given) ->
    #{retransmit_after := Interval} = Options = maps:merge(defaults(), Given),
    #stream{options = Options, interval = Interval}.

%% @doc Numbers and transmits a message, or rejects it if the window is full. A message larger than
%% the window is accepted when it is alone.
-spec add(
    Message :: term(), Bytes :: non_neg_integer(), owner(), milliseconds() | infinity, Now, t()
) -> {ok, t(), [action()]} | full when Now :: milliseconds().
add(Message, Bytes, Owner, Deadline, Now, #stream{next = Number} = S0) ->
    case has_room(Bytes, S0) of
        true ->
            Content = {message, Message},
            Entry = #entry{
                number = Number,
                content = Content,
                bytes = Bytes,
                owner = {owner, Owner},
                deadline = Deadline
            },
            S1 = S0#stream{
                next = Number + 1,
                entries = queue:in(Entry, S0#stream.entries),
                messages = S0#stream.messages + 1,
                bytes = S0#stream.bytes + Bytes,
                deadline_at = min(Deadline, S0#stream.deadline_at)
            },
            {ok, arm(Now, S1), [{transmit, [{Number, Content}]}]};
        false ->
            full
    end.

%% @doc The receiver holds everything up to this number. Older and repeated acknowledgements are
%% ignored.
-spec acknowledged(non_neg_integer(), milliseconds(), t()) -> {t(), [action()]}.
acknowledged(Number, Now, #stream{options = Options} = S0) ->
    case settle_to(Number, S0, []) of
        {S0, []} ->
            {S0, []};
        {S1, Actions} ->
            #{retransmit_after := Interval} = Options,
            {arm(Now, S1#stream{interval = Interval, retransmit_at = infinity}), Actions}
    end.

%% @doc The lane below has a new connection: messages on the old one may be lost.
-spec reconnected(milliseconds(), t()) -> {t(), [action()]}.
reconnected(Now, S) ->
    retransmit(Now, S).

%% @doc Settles messages that timed out, and retransmits if due.
-spec tick(milliseconds(), t()) -> {t(), [action()]}.
tick(Now, S0) ->
    {S1, Outcomes} = expire(Now, S0),
    case S1#stream.retransmit_at =< Now of
        true ->
            {S2, Actions} = retransmit(Now, S1),
            {S2, Outcomes ++ Actions};
        false ->
            {S1, Outcomes}
    end.

%% @doc A message can never be accepted: settles it, and the stream goes on without it.
-spec refuse(sequence(), refusal(), t()) -> {t(), [action()]}.
refuse(Number, Why, #stream{entries = Entries0} = S) ->
    {Entries, {Freed, Outcomes}} = lists:mapfoldl(
        fun
            (#entry{number = N, owner = {owner, Owner}} = E, _) when N =:= Number ->
                {skipped(E, S), {E#entry.bytes, [{settle, Owner, {error, Why}}]}};
            (E, Acc) ->
                {E, Acc}
        end,
        {0, []},
        queue:to_list(Entries0)
    ),
    {S#stream{entries = queue:from_list(Entries), bytes = S#stream.bytes - Freed}, Outcomes}.

%% @doc Ends the stream: the peer is another incarnation, or this node leaves.
-spec abandon(restarted | left, t()) -> [action()].
abandon(Why, #stream{entries = Entries}) ->
    [{settle, Owner, {error, Why}} || #entry{owner = {owner, Owner}} <- queue:to_list(Entries)].

%% @doc Whether every owner knows the outcome.
-spec is_settled(t()) -> boolean().
is_settled(#stream{entries = Entries}) ->
    lists:all(fun(#entry{owner = Owner}) -> Owner =:= none end, queue:to_list(Entries)).

%% @doc The time at which `tick/2' is due next.
-spec wake_at(t()) -> milliseconds() | infinity.
wake_at(#stream{deadline_at = Deadline, retransmit_at = Retransmit}) ->
    min(Deadline, Retransmit).

%% @doc Messages sent and not acknowledged, and their bytes.
-spec outstanding(t()) -> #{messages := non_neg_integer(), bytes := non_neg_integer()}.
outstanding(#stream{messages = Messages, bytes = Bytes}) ->
    #{messages => Messages, bytes => Bytes}.

%% Internals.

has_room(Bytes, #stream{options = Options, messages = Messages, bytes = Held}) ->
    #{max_bytes := MaxBytes, max_messages := MaxMessages} = Options,
    Messages < MaxMessages andalso (Held =:= 0 orelse Held + Bytes =< MaxBytes).

settle_to(Number, #stream{entries = Entries0} = S, Actions) ->
    case queue:out(Entries0) of
        {{value, #entry{number = N, bytes = Bytes, owner = Owner}}, Entries} when N =< Number ->
            Outcomes =
                case Owner of
                    {owner, Who} -> [{settle, Who, ok}];
                    none -> []
                end,
            Left = S#stream{
                entries = Entries,
                messages = S#stream.messages - 1,
                bytes = S#stream.bytes - Bytes
            },
            settle_to(Number, Left, Outcomes ++ Actions);
        {_, _} ->
            {S, lists:reverse(Actions)}
    end.

expire(Now, #stream{deadline_at = At} = S) when Now < At ->
    {S, []};
expire(Now, #stream{entries = Entries0} = S) ->
    {Entries, {Freed, Outcomes, Next}} = lists:mapfoldl(
        fun
            (#entry{owner = {owner, Owner}, deadline = At} = E, {B, T, N}) when At =< Now ->
                {skipped(E, S), {B + E#entry.bytes, [{settle, Owner, {error, timeout}} | T], N}};
            (#entry{owner = {owner, _}, deadline = At} = E, {B, T, N}) ->
                {E, {B, T, min(At, N)}};
            (#entry{owner = none} = E, Acc) ->
                {E, Acc}
        end,
        {0, [], infinity},
        queue:to_list(Entries0)
    ),
    Expired = S#stream{
        entries = queue:from_list(Entries), bytes = S#stream.bytes - Freed, deadline_at = Next
    },
    {Expired, lists:reverse(Outcomes)}.

skipped(#entry{content = {message, Message}} = Entry, #stream{options = #{skip := Skip}}) ->
    Entry#entry{content = Skip(Message), bytes = 0, owner = none}.

retransmit(Now, #stream{entries = Entries, options = Options, interval = Interval} = S) ->
    case queue:to_list(Entries) of
        [] ->
            {S#stream{retransmit_at = infinity}, []};
        List ->
            #{retransmit_max := Max} = Options,
            Again = [{Number, Content} || #entry{number = Number, content = Content} <- List],
            S1 = S#stream{interval = min(2 * Interval, Max), retransmit_at = Now + Interval},
            {S1, [{transmit, Again}]}
    end.

arm(Now, #stream{retransmit_at = infinity, entries = Entries, interval = Interval} = S) ->
    case queue:is_empty(Entries) of
        true -> S;
        false -> S#stream{retransmit_at = Now + Interval}
    end;
arm(_Now, S) ->
    S.

defaults() ->
    #{
        max_bytes => 16 bsl 20,
        max_messages => 10000,
        retransmit_after => 2000,
        retransmit_max => 30000,
        skip => fun(_) -> skip end
    }.
