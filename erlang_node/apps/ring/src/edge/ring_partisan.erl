%%% @doc A ring over the runtime: requests on the channel `vnode', data that move on `handoff', the
%%% ring's state on `default'.
-module(ring_partisan).
-behaviour(ring_transport).

-export([check/0]).
-export([self/0]).
-export([send/6]).
-export([monitor/1]).
-export([channel/1]).

-compile({no_auto_import, [self/0, monitor/1]}).

%% Milliseconds for which a sender waits for room.
-define(TIMEOUT_MS, 10000).

%% @doc Whether the channels are configured.
-spec check() -> ok | {error, Description :: string()}.
check() ->
    Channels = [channel(Lane) || Lane <- [request, handoff, gossip]],
    case [Channel || Channel <- Channels, partisan_channel:find(Channel) =:= error] of
        [] ->
            ok;
        [Missing | _] ->
            Text = io_lib:format(
                "channels: the ring needs the channel ~s; add #{name => ~s}", [Missing, Missing]
            ),
            {error, lists:flatten(Text)}
    end.

%% @private
-spec self() -> ring_state:member().
self() ->
    partisan:node().

%% @private
-spec send(
    ring_state:member(), atom(), ring_transport:lane(), term(), term(), ring_transport:busy()
) -> ok | {error, term()}.
send(Node, Receiver, Lane, Key, Message, Busy) ->
    try
        partisan:forward(Node, Receiver, Message, #{
            channel => channel(Lane),
            partition_key => Key,
            on_busy => Busy,
            timeout => ?TIMEOUT_MS,
            await_route => false,
            ack => false
        })
    catch
        % The runtime is restarting.
        exit:Reason -> {error, Reason}
    end.

%% @private
-spec monitor(ring_state:member()) -> ok.
monitor(Node) ->
    try
        true = partisan:monitor_node(Node),
        ok
    catch
        exit:_ -> ok
    end.

%% @doc The channel of a lane.
-spec channel(ring_transport:lane()) -> atom().
channel(request) -> vnode;
channel(handoff) -> handoff;
channel(gossip) -> default.
