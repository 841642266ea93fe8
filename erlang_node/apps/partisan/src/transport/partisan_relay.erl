%%% @doc Messages to members that are not neighbours: forwarded hop by hop.
%%%
%%% The sender wraps a message with its target and its maximum number of hops. Every node on the way
%%% forwards it to the neighbour of its route ({@link partisan_routes}), on the same channel and the
%%% lane of the same key, without decoding the message itself. Order per sender and key thus holds
%%% while the route does; a change of route may reorder or lose messages in transit, which the
%%% acknowledged and causal layers above repair.
%%%
%%% One slow neighbour must not hold up a forwarding node, and two nodes must not wait for each
%%% other. After a short timeout a node drops what a full lane does not take, and then does not wait
%%% for this neighbour again for ten times as long. Messages behind it are thus delayed by one
%%% timeout, however many there are for a frozen neighbour.
-module(partisan_relay).

-export([send/4]).
-export([park/4]).
-export([new/0]).
-export([arrived/4]).

-define(HOPS, 32).
%% Milliseconds that a forwarded message may wait for room.
-define(ROOM_TIMEOUT, 1000).
%% Milliseconds after that in which no other message waits for room to the same neighbour.
-define(NO_WAIT, 10000).

%% What a hop needs to know. The key is a hash of the partition key. The destination, the name of
%% the process or the contents of its reference, is a binary: only the target needs the atom.
-type header() :: {
    Target :: partisan_peer:name(),
    Source :: partisan_peer:name(),
    HopsLeft :: non_neg_integer(),
    Key :: non_neg_integer(),
    Destination :: binary()
}.
%% The neighbours not waited for, and until when, in milliseconds of monotonic time.
-opaque busy() :: #{partisan_peer:name() => integer()}.
-export_type([header/0, busy/0]).

%% @doc Sends a message towards a member. `ok': it is queued to the first hop, or kept here while a
%% route is searched for ({@link partisan_parked}).
-spec send(partisan_peer:name(), partisan_frame:message(), partisan_channel:t(), map()) ->
    ok | {error, partisan_transport:send_error()}.
send(Target, Message, Channel, Options0) ->
    Options = Options0#{partition_key => partisan_transport:partition_key(Options0)},
    case route(Target, Options) of
        {ok, Neighbour} -> send(Target, Neighbour, Message, Channel, Options);
        park -> park(Target, Message, Channel, Options);
        {error, _} = Error -> Error
    end.

%% @doc Keeps a message behind others to its target, or until there is a route.
-spec park(partisan_peer:name(), partisan_frame:message(), partisan_channel:t(), map()) ->
    ok | {error, partisan_transport:send_error()}.
park(Target, {Destination, Term} = Message, Channel, Options) ->
    Send = fun
        (send) -> parked(Target, Message, Channel, Options#{ahead => true});
        (no_route) -> partisan_channel:dropped(Channel, no_route)
    end,
    case partisan_parked:park(Target, {Send, erlang:external_size(Term)}, Options) of
        ok ->
            ok;
        again ->
            partisan_transport:transmit(Target, Destination, Term, Channel, Options);
        refused ->
            case partisan_manager:route(Target) of
                {ok, Neighbour} -> send(Target, Neighbour, Message, Channel, Options);
                {error, _} = Error -> Error
            end;
        full when map_get(on_busy, Options) =:= drop ->
            partisan_channel:dropped(Channel, busy);
        full ->
            {error, busy};
        timeout ->
            {error, timeout}
    end.

%% @doc The state of a connection that has not waited yet.
-spec new() -> busy().
new() ->
    #{}.

%% @doc Handles a relayed message from the caller's connection: delivers or forwards it.
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

send(Target, Target, {Destination, Term}, Channel, Options) ->
    % It has become a neighbour: on another lane this message might overtake, or be overtaken by,
    % direct messages of its key.
    partisan_transport:transmit(Target, Destination, Term, Channel, Options#{ttl => 0});
send(_Target, _Neighbour, _Message, _Channel, #{ttl := 0}) ->
    {error, not_connected};
send(Target, Neighbour, {Destination, _} = Message, Channel, Options) ->
    Header = {
        Target,
        partisan_config:get(name),
        maps:get(ttl, Options, ?HOPS),
        erlang:phash2(maps:get(partition_key, Options), 1 bsl 32),
        partisan_ref:label(Destination)
    },
    Frame = partisan_frame:relay(Header, partisan_frame:payload(Message)),
    hand_over(Neighbour, Header, Frame, Channel, Options).

%% Its sender does not wait for the outcome any more.
parked(Target, Message, Channel, Options) ->
    Result =
        case partisan_view:known_route(Target) of
            {ok, Neighbour} -> send(Target, Neighbour, Message, Channel, Options);
            none -> {error, no_route}
        end,
    case Result of
        ok -> ok;
        {error, Busy} when Busy =:= busy; Busy =:= timeout ->
            partisan_channel:dropped(Channel, busy);
        {error, _} -> partisan_channel:dropped(Channel, no_route)
    end.

route(Target, Options) ->
    case {partisan_view:known_route(Target), partisan_parked:is_parked(Target)} of
        {{ok, _} = Known, false} ->
            Known;
        {none, _} when map_get(await_route, Options) =:= false ->
            ok = partisan_manager:seek(Target),
            {error, no_route};
        {_, _} ->
            park
    end.

for_us(Source, Payload) ->
    case partisan_frame:message_of(Payload) of
        {ok, Message} -> {deliver, Source, Message};
        error -> {dropped, undecodable}
    end.

pass_on({Target, _, _, _, _} = Header, Payload, AtConnection, Busy) ->
    % The channel may have other lanes than when the connection was made.
    {ok, Channel} = partisan_channel:find(partisan_channel:name(AtConnection)),
    case partisan_view:known_route(Target) of
        {ok, Neighbour} ->
            Frame = partisan_frame:relay(Header, Payload),
            case hand_over(Neighbour, Header, Frame, Channel, on_busy(Neighbour, Busy)) of
                ok -> {passed, Busy};
                {error, timeout} -> {{dropped, busy}, Busy#{Neighbour => now_ms() + ?NO_WAIT}};
                {error, busy} -> {{dropped, busy}, Busy};
                {error, _} -> {{dropped, no_route}, Busy}
            end;
        none ->
            % The next message will find a route.
            ok = partisan_manager:seek(Target),
            {{dropped, no_route}, Busy}
    end.

on_busy(Neighbour, Busy) ->
    case Busy of
        #{Neighbour := Until} ->
            case now_ms() < Until of
                true -> #{on_busy => error};
                false -> #{on_busy => block, timeout => ?ROOM_TIMEOUT}
            end;
        #{} ->
            #{on_busy => block, timeout => ?ROOM_TIMEOUT}
    end.

now_ms() ->
    erlang:monotonic_time(millisecond).

hand_over(Neighbour, {Target, Source, _, Key, Destination}, Frame, Channel, Options) ->
    case partisan_channel:is_interposed(Channel) andalso partisan_injection:is_apart(Neighbour) of
        true ->
            partisan_channel:dropped(Channel, injected);
        false ->
            partisan_transport:send_frame(Neighbour, Frame, Channel, Options#{
                ahead => true,
                partition_key => {Source, Key},
                slot => {relay, Target, Source, Key, Destination}
            })
    end.
