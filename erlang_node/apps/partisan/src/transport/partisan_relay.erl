%%% @doc Messages to members that are no neighbours: passed on from hop to hop.
%%%
%%% The sender wraps a message with its target and how many hops it may take. Every node on the way
%%% hands it to the neighbour that its route names ({@link partisan_routes}), on the same channel
%%% and on the lane of the same key, without decoding the message itself. So order per sender and
%%% key holds while the route does; a change of route may reorder or lose what is under way, which
%%% the acknowledged and causal layers above repair.
%%%
%%% A node that passes a message on must not be held up by one slow neighbour for ever, nor may two
%%% nodes wait for each other: after a moment it drops what a full lane does not take.
-module(partisan_relay).

-export([send/4]).
-export([arrived/3]).

-define(HOPS, 32).
%% How long a passing message may wait for room, in milliseconds.
-define(PATIENCE, 1000).

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
-export_type([header/0]).

%% @doc Sends a message of this node towards a member. `ok' says that the first hop has it queued.
-spec send(partisan_peer:name(), partisan_frame:message(), partisan_channel:t(), map()) ->
    ok | {error, partisan_transport:send_error()}.
send(Target, {Destination, _} = Message, Channel, Options) ->
    PartitionKey = partisan_transport:partition_key(Options),
    case route(Target, Options) of
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

%% @doc A relayed message has come in: for this node, or to be passed on.
-spec arrived(header(), Payload :: binary(), partisan_channel:t()) ->
    {deliver, partisan_frame:message()} | passed | {dropped, partisan_channel:drop_reason()}.
arrived({Target, Source, Hops, Key, Destination}, Payload, Channel) ->
    case partisan_config:get(name) of
        Target -> for_us(Payload);
        _ when Hops =< 0 -> {dropped, hops_exceeded};
        _ -> pass_on({Target, Source, Hops - 1, Key, Destination}, Payload, Channel)
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

for_us(Payload) ->
    case partisan_frame:message_of(Payload) of
        {ok, Message} -> {deliver, Message};
        error -> {dropped, undecodable}
    end.

pass_on({Target, _, _, _, _} = Header, Payload, AtConnection) ->
    % It may have other lanes by now than when the message's connection was made.
    {ok, Channel} = partisan_channel:find(partisan_channel:name(AtConnection)),
    case partisan_view:known_route(Target) of
        {ok, Neighbour} ->
            Options = #{on_busy => block, timeout => ?PATIENCE},
            Frame = partisan_frame:relay(Header, Payload),
            case hand_over(Neighbour, Header, Frame, Channel, Options) of
                ok -> passed;
                {error, timeout} -> {dropped, busy};
                {error, _} -> {dropped, no_route}
            end;
        none ->
            % The next one will find a way.
            ok = partisan_manager:seek(Target),
            {dropped, no_route}
    end.

hand_over(Neighbour, {Target, Source, _, Key, Destination}, Frame, Channel, Options) ->
    partisan_transport:send_frame(Neighbour, Frame, Channel, Options#{
        partition_key => {Source, Key},
        slot => {relay, Target, Source, Key, Destination}
    }).
