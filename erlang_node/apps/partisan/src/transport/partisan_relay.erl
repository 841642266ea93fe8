%%% @doc Messages to members that are no neighbours: passed on from hop to hop.
%%%
%%% The sender wraps a message with its target and how many hops it may take. Every node on the way
%%% hands it to the neighbour that its route names ({@link partisan_routes}), on the same channel
%%% and on the lane of the same key, without decoding the message itself. So order per sender and
%%% key holds while the route does; a change of route may reorder or lose what is under way, which
%%% the acknowledged and causal layers above repair.
%%%
%%% A node that passes messages on must not be held up by one slow neighbour, nor may two nodes wait
%%% for each other: after a moment it drops what a full lane does not take, and then does not wait
%%% for this neighbour again for ten times as long. So the messages behind are delayed by a moment,
%%% however many there are to a neighbour that is frozen.
-module(partisan_relay).

-export([send/4]).
-export([new/0]).
-export([arrived/4]).

-define(HOPS, 32).
%% How long a passing message may wait for room, in milliseconds.
-define(PATIENCE, 1000).
%% For how long after that no other one waits for room to the same neighbour.
-define(NO_PATIENCE, 10000).

%% What a hop needs to know. The key is a hash of the partition key; the destination is the name of
%% the process, or what its reference holds, as a binary, since nobody but the target has to have
%% such an atom.
-type header() :: {
    Target :: partisan_peer:name(),
    Source :: partisan_peer:name(),
    HopsLeft :: non_neg_integer(),
    Key :: non_neg_integer(),
    Destination :: binary()
}.
%% The neighbours that are not waited for, and until when, in milliseconds of monotonic time.
-opaque busy() :: #{partisan_peer:name() => integer()}.
-export_type([header/0, busy/0]).

%% @doc Sends a message of this node towards a member. `ok' says that the first hop has it queued.
-spec send(partisan_peer:name(), partisan_frame:message(), partisan_channel:t(), map()) ->
    ok | {error, partisan_transport:send_error()}.
send(Target, {Destination, Term} = Message, Channel, Options) ->
    PartitionKey = partisan_transport:partition_key(Options),
    case route(Target, Options) of
        {ok, Target} ->
            % It has become a neighbour: on another lane this message might overtake, or be
            % overtaken by, those of its key that go there directly.
            partisan_transport:send(Target, Destination, Term, Channel, Options#{ttl => 0});
        {ok, Neighbour} ->
            Header = {
                Target,
                partisan_config:get(name),
                maps:get(ttl, Options, ?HOPS),
                erlang:phash2(PartitionKey, 1 bsl 32),
                partisan_ref:label(Destination)
            },
            Frame = partisan_frame:relay(Header, partisan_frame:payload(Message)),
            hand_over(Neighbour, Header, Frame, Channel, Options);
        {error, _} = Error ->
            Error
    end.

%% @doc A connection that has waited for no neighbour yet.
-spec new() -> busy().
new() ->
    #{}.

%% @doc A relayed message has come in on the caller's connection: for this node, or to be passed on.
-spec arrived(header(), Payload :: binary(), partisan_channel:t(), busy()) ->
    {
        {deliver, Source :: partisan_peer:name(), partisan_frame:message()}
        | passed
        | {dropped, partisan_channel:drop_reason()},
        busy()
    }.
arrived({Target, Source, Hops, Key, Destination}, Payload, Channel, Busy) ->
    case partisan_config:get(name) of
        Target -> {for_us(Source, Payload), Busy};
        _ when Hops =< 0 -> {{dropped, hops_exceeded}, Busy};
        _ -> pass_on({Target, Source, Hops - 1, Key, Destination}, Payload, Channel, Busy)
    end.

%% Internals.

route(Target, #{await_route := false}) ->
    case partisan_view:known_route(Target) of
        {ok, _} = Known ->
            Known;
        none ->
            ok = partisan_manager:seek(Target),
            {error, no_route}
    end;
route(Target, _Options) ->
    partisan_manager:route(Target).

for_us(Source, Payload) ->
    case partisan_frame:message_of(Payload) of
        {ok, Message} -> {deliver, Source, Message};
        error -> {dropped, undecodable}
    end.

pass_on({Target, _, _, _, _} = Header, Payload, AtConnection, Busy) ->
    % It may have other lanes by now than when the message's connection was made.
    {ok, Channel} = partisan_channel:find(partisan_channel:name(AtConnection)),
    case partisan_view:known_route(Target) of
        {ok, Neighbour} ->
            Frame = partisan_frame:relay(Header, Payload),
            case hand_over(Neighbour, Header, Frame, Channel, patience(Neighbour, Busy)) of
                ok -> {passed, Busy};
                {error, timeout} -> {{dropped, busy}, Busy#{Neighbour => now_ms() + ?NO_PATIENCE}};
                {error, busy} -> {{dropped, busy}, Busy};
                {error, _} -> {{dropped, no_route}, Busy}
            end;
        none ->
            % The next one will find a way.
            ok = partisan_manager:seek(Target),
            {{dropped, no_route}, Busy}
    end.

patience(Neighbour, Busy) ->
    case Busy of
        #{Neighbour := Until} ->
            case now_ms() < Until of
                true -> #{on_busy => error};
                false -> #{on_busy => block, timeout => ?PATIENCE}
            end;
        #{} ->
            #{on_busy => block, timeout => ?PATIENCE}
    end.

now_ms() ->
    erlang:monotonic_time(millisecond).

hand_over(Neighbour, {Target, Source, _, Key, Destination}, Frame, Channel, Options) ->
    partisan_transport:send_frame(Neighbour, Frame, Channel, Options#{
        partition_key => {Source, Key},
        slot => {relay, Target, Source, Key, Destination}
    }).
