%%% @doc The sending ends of all acknowledged streams of a node: one {@link partisan_ack_outgoing}
%%% per path. A long idle stream is forgotten, and the next message opens another.
%%%
%%% Part of the process of {@link partisan_acks}.
-module(partisan_ack_sender).

-export([new/1]).
-export([send/4]).
-export([reconnected/4]).
-export([reachable/2]).
-export([opened/4]).
-export([acknowledged/4]).
-export([missing/4]).
-export([refused/5]).
-export([restarted/3]).
-export([end_previous/4]).
-export([leads_to/3]).
-export([tick/2]).
-export([wake_at/1]).

-type path() :: partisan_ack_stream:path().
-type stream() :: partisan_ack_stream:id().
-type request() :: partisan_ack_outgoing:request().

-record(sender, {
    self :: partisan_causal:instance(),
    out = #{} :: #{path() => partisan_ack_outgoing:t()},
    paths = #{} :: #{stream() => path()}
}).

-opaque t() :: #sender{}.
-export_type([t/0, request/0]).

-type result() :: {t(), partisan_labels:t()}.

%% API.

%% @doc A sender without streams.
-spec new(Self :: partisan_causal:instance()) -> t().
new(Self) ->
    #sender{self = Self}.

%% @doc Sends a message on the stream of its path ({@link partisan_ack_outgoing:send/4}).
-spec send(gen_server:from(), request(), partisan_labels:t(), t()) -> result().
send(From, #{path := Path} = Request, Labels, S) ->
    on_path(
        Path,
        fun(Out) -> partisan_ack_outgoing:send(From, Request, Labels, Out) end,
        with_stream(Path, S)
    ).

%% @doc The lanes of this channel to a peer have a new connection.
-spec reconnected(partisan_peer:name(), Channel :: atom(), partisan_labels:t(), t()) -> result().
reconnected(Node, ChannelName, Labels, #sender{out = Outs} = S) ->
    Paths = [Path || {N, C, _} = Path <- maps:keys(Outs), N =:= Node, C =:= ChannelName],
    lists:foldl(
        fun(Path, {S1, L}) ->
            on_path(Path, fun(Out) -> partisan_ack_outgoing:resume(L, Out) end, S1)
        end,
        {S, Labels},
        Paths
    ).

%% @doc This peer is reachable: opens at once the streams with waiting messages.
-spec reachable(partisan_peer:name(), t()) -> t().
reachable(Node, #sender{out = Outs} = S) ->
    S#sender{
        out = maps:map(
            fun
                ({N, _, _}, Out) when N =:= Node -> partisan_ack_outgoing:reachable(Out);
                (_, Out) -> Out
            end,
            Outs
        )
    }.

%% @doc The receiver has opened the stream and named its incarnation.
-spec opened(stream(), partisan_peer:incarnation(), partisan_labels:t(), t()) -> result().
opened(Stream, Incarnation, Labels, S) ->
    Open = fun(Out) -> partisan_ack_outgoing:opened(Incarnation, Labels, Out) end,
    on_stream(Stream, Open, Labels, S).

%% @doc The receiver holds everything up to this number.
-spec acknowledged(stream(), non_neg_integer(), partisan_labels:t(), t()) -> result().
acknowledged(Stream, Holds, Labels, S) ->
    Change = fun(Out) -> partisan_ack_outgoing:acknowledged(Holds, Labels, Out) end,
    on_stream(Stream, Change, Labels, S).

%% @doc As `acknowledged/4'; the messages after it were lost on the way.
-spec missing(stream(), non_neg_integer(), partisan_labels:t(), t()) -> result().
missing(Stream, Holds, Labels, S) ->
    on_stream(Stream, fun(Out) -> partisan_ack_outgoing:missing(Holds, Labels, Out) end, Labels, S).

%% @doc The receiver cannot accept this message: the stream goes on without it.
-spec refused(
    stream(),
    partisan_ack_out:sequence(),
    partisan_ack_out:refusal(),
    partisan_labels:t(),
    t()
) -> result().
refused(Stream, Number, Why, Labels, S) ->
    Change = fun(Out) -> partisan_ack_outgoing:refused(Number, Why, Labels, Out) end,
    on_stream(Stream, Change, Labels, S).

%% @doc The receiver is another incarnation: ends this stream; the next message opens another.
-spec restarted(stream(), partisan_labels:t(), t()) -> result().
restarted(Stream, Labels, #sender{paths = Paths, out = Outs} = S) ->
    case Paths of
        #{Stream := Path} ->
            Waiting = partisan_ack_outgoing:restarted(map_get(Path, Outs)),
            lists:foldl(
                fun({From, Request}, {S1, L}) -> send(From, Request, L, S1) end,
                {without(Path, S), Labels},
                Waiting
            );
        #{} ->
            {S, Labels}
    end.

%% @doc All incarnations of a peer before this one have ended, and the streams to them with them. A
%% message that is sent from now on must not be taken for one that a previous one may have had.
-spec end_previous(partisan_peer:name(), partisan_peer:incarnation(), partisan_labels:t(), t()) ->
    result().
end_previous(Node, Incarnation, Labels0, #sender{out = Outs} = S0) ->
    Ended = [
        partisan_ack_outgoing:id(Out)
     || {{Name, _, _}, Out} <- maps:to_list(Outs),
        Name =:= Node,
        partisan_ack_outgoing:leads_to_previous(Incarnation, Out)
    ],
    lists:foldl(
        fun(Stream, {S, Labels}) -> restarted(Stream, Labels, S) end,
        {S0, Labels0},
        lists:sort(Ended)
    ).

%% @doc Whether this stream leads to that node.
-spec leads_to(stream(), partisan_peer:name(), t()) -> boolean().
leads_to(Stream, Node, #sender{paths = Paths}) ->
    case Paths of
        #{Stream := {Node, _, _}} -> true;
        #{} -> false
    end.

%% @doc Settles messages that timed out, retransmits if due, and forgets finished streams.
-spec tick(partisan_labels:t(), t()) -> result().
tick(Labels, #sender{out = Outs} = S) ->
    lists:foldl(fun tick_path/2, {S, Labels}, maps:keys(Outs)).

%% @doc The time at which `tick/2' is due next.
-spec wake_at(t()) -> integer() | infinity.
wake_at(#sender{out = Outs}) ->
    lists:min([infinity | [partisan_ack_outgoing:wake_at(Out) || Out <- maps:values(Outs)]]).

%% Internals.

tick_path(Path, {S0, Labels0}) ->
    Tick = fun(Out) -> partisan_ack_outgoing:tick(Labels0, Out) end,
    {#sender{out = #{Path := Out}} = S, Labels} = on_path(Path, Tick, S0),
    case partisan_ack_outgoing:is_over(Out) of
        true ->
            ok = partisan_ack_outgoing:close(Out),
            {without(Path, S), Labels};
        false ->
            {S, Labels}
    end.

with_stream(Path, #sender{out = Outs} = S) when is_map_key(Path, Outs) ->
    S;
with_stream({_, ChannelName, Lane} = Path, #sender{self = {Name, Incarnation}} = S) ->
    #sender{out = Outs, paths = Paths} = S,
    Number = erlang:unique_integer([monotonic, positive]),
    Stream = partisan_ack_stream:id(Name, Incarnation, Number),
    Out = partisan_ack_outgoing:open(Path, {Name, ChannelName, Lane}, Stream),
    S#sender{out = Outs#{Path => Out}, paths = Paths#{Stream => Path}}.

without(Path, #sender{out = Outs, paths = Paths} = S) ->
    {Out, Others} = maps:take(Path, Outs),
    S#sender{out = Others, paths = maps:remove(partisan_ack_outgoing:id(Out), Paths)}.

on_stream(Stream, Change, Labels, #sender{paths = Paths} = S) ->
    case Paths of
        #{Stream := Path} -> on_path(Path, Change, S);
        #{} -> {S, Labels}
    end.

on_path(Path, Change, #sender{out = Outs} = S) ->
    {Out, Labels} = Change(map_get(Path, Outs)),
    {S#sender{out = Outs#{Path := Out}}, Labels}.
